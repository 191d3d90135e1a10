--- Which agents the user's settings file names, for completion and choices. What it sets for them is read and checked by the
--- binary. Only the user's own folder counts: a file of a project must not start programs.
local config = require("rat.config")

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
  local path = M.path()
  local stat, problem, code = vim.uv.fs_stat(path)
  if code == "ENOENT" then
    return nil
  elseif not stat then
    return nil, "cannot be read: " .. problem
  elseif stat.type ~= "file" or stat.size > MAX_BYTES then
    return nil, stat.type ~= "file" and "is not a regular file" or "is too large"
  end
  local file, unreadable = io.open(path, "r")
  if not file then
    return nil, "cannot be read: " .. unreadable
  end
  local text = (file:read("*a") or ""):gsub("^\239\187\191", "")
  file:close()
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not ok then
    return nil, "is not valid JSON"
  end
  return value
end

---@class rat.SettingsAgent
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
