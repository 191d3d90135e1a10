--- Which agents the user's settings file names, for completion and choices. What it sets for them is read and checked by the
--- binary. Only the user's own folder counts: a file of a project must not start programs.
local config = require("rat.config")
local text_file = require("rat.util.text_file")

local M = {}

--- Larger files are not read, as in the binary.
local MAX_BYTES = 1024 * 1024

--- The path of the file.
---@return string path absolute
function M.path()
  local path = config.get().settings_file
  return path and vim.fn.fnamemodify(vim.fs.normalize(path), ":p")
    or vim.fs.joinpath(vim.fn.stdpath("config") --[[@as string]], "rat.json")
end

---@return any value nil if there is no file
---@return string? problem
local function read()
  local text, problem = text_file.read(M.path(), MAX_BYTES)
  if not text then
    return nil, problem or config.get().settings_file and "does not exist" or nil
  end
  text = text:gsub("^\239\187\191", "")
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not ok then
    return nil, "is not valid JSON"
  end
  return value
end

---@class rat.SettingsAgent
---@field paths? table<string, string>
---@field cwd? string

--- The agents in the file, by name.
---@return table<string, rat.SettingsAgent> agents empty if there is no file
---@return string? problem a sentence that says why the file cannot be read
function M.agents()
  local value, problem = read()
  local agents = type(value) == "table" and value.agent_servers
  local found = {}
  for name, agent in pairs(type(agents) == "table" and agents or {}) do
    if type(name) == "string" then
      local cwd = type(agent) == "table" and agent.cwd
      found[name] = { cwd = type(cwd) == "string" and cwd or nil }
    end
  end
  local short = vim.fn.fnamemodify(M.path(), ":~")
  return found, problem and ("%s %s."):format(short, problem)
end

return M
