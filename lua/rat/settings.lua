--- Reads the JSON file with `agent_servers` and `mcp_servers` that other clients use. Only the user's own folder:
--- a file of a project must not start programs.
local config = require("rat.config")
local say = require("rat.say")
local schema = require("rat.schema")

local M = {}

---@class rat.Settings
---@field agents table<string, table> by name, in the shape of the option `agents`
---@field mcp_servers table<string, table> by name, in the shape of the option `mcp_servers`

--- The file that is read.
---@return string path
function M.path()
  local path = config.get().settings_file
  return path and vim.fs.normalize(path) or vim.fs.joinpath(vim.fn.stdpath("config"), "rat.json")
end

--- The line and column of a byte.
---@param text string
---@param at integer from 1
---@return integer line
---@return integer column in bytes
local function position(text, at)
  local before = text:sub(1, math.max(at - 1, 0))
  local _, newlines = before:gsub("\n", "")
  return newlines + 1, #before - #(before:match(".*\n") or "") + 1
end

---@param text string
---@return any value
---@return string? problem with line and column
local function decode(text)
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if ok then
    return value
  end
  local reason = tostring(value):gsub("^.-: ", "", 1)
  local at = tonumber(reason:match(" at character (%d+)"))
  if not at then
    return nil, reason
  end
  local line, column = position(text, at)
  reason = reason:gsub(" at character %d+", "")
  return nil, ("line %d, column %d: %s"):format(line, column, reason)
end

---@param value table
---@param key string of the JSON file
---@param option string of ours
---@param problems string[]
---@return table
local function section(value, key, option, problems)
  local found = value[key]
  if found == nil then
    return {}
  end
  local kept = {}
  local shape = config.field(schema, option)
  if type(found) ~= "table" then
    problems[#problems + 1] = ("%s: expected map, got %s"):format(key, type(found))
    return kept
  end
  for name, entry in pairs(found) do
    local wrong = config.problems(shape.items, entry, key .. "." .. name, true)
    vim.list_extend(problems, wrong)
    if #wrong == 0 then
      kept[name] = entry
    end
  end
  return kept
end

--- What a settings file says. Keys we do not know are left alone, they belong to other clients.
---@param text string
---@return rat.Settings settings what is well-formed
---@return string[] problems
function M.parse(text)
  local value, problem = decode(text)
  if not problem and type(value) ~= "table" then
    problem = "line 1, column 1: expected an object"
  end
  if problem then
    return { agents = {}, mcp_servers = {} }, { problem }
  end
  local problems = {}
  return {
    agents = section(value, "agent_servers", "agents", problems),
    mcp_servers = section(value, "mcp_servers", "mcp_servers", problems),
  },
    problems
end

--- Reads the file.
---@return rat.Settings settings empty where there is no file
---@return string[] problems with the file's path
function M.load()
  local path = M.path()
  local file = io.open(path, "r")
  if not file then
    return { agents = {}, mcp_servers = {} }, {}
  end
  local text = file:read("*a") or ""
  file:close()
  local settings, problems = M.parse(text)
  for i, problem in ipairs(problems) do
    problems[i] = ("%s: %s"):format(vim.fn.fnamemodify(path, ":~"), problem)
  end
  return settings, problems
end

--- Reads the file and says what is wrong with it, once for each state of the file.
---@return rat.Settings
function M.get()
  local settings, problems = M.load()
  local text = table.concat(problems, "\n")
  if text ~= "" and text ~= M.said then
    say.error(text)
  end
  M.said = text
  return settings
end

return M
