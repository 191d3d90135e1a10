--- Agents from a registry file on disk (the format of the ACP agent registry). It reads no network and installs nothing: agents
--- of npm and PyPI are run by `npx` and `uvx`, others if their program is on PATH.
local config = require("rat.config")
local text_file = require("rat.util.text_file")

local M = {}

--- Larger files are not read.
local MAX_BYTES = 8 * 1024 * 1024

---@param value any
---@return string[]
local function texts(value)
  return vim
    .iter(type(value) == "table" and value or {})
    :filter(function(item)
      return type(item) == "string"
    end)
    :totable()
end

---@param value any
---@return table<string, string>
local function variables(value)
  local found = {}
  for name, text in pairs(type(value) == "table" and value or {}) do
    if type(name) == "string" and type(text) == "string" then
      found[name] = text
    end
  end
  return found
end

---@param runner string
---@param way any a distribution by a package
---@return table? agent as in the option `agents`
local function by_package(runner, way)
  if type(way) ~= "table" or type(way.package) ~= "string" then
    return nil
  end
  local args = runner == "npx" and { "-y", way.package } or { way.package }
  return {
    command = runner,
    args = vim.list_extend(args, texts(way.args)),
    env = variables(way.env),
  }
end

--- Returns the key of this machine in a distribution by archives.
---@return string
local function platform()
  local system = vim.uv.os_uname() ---@diagnostic disable-line: undefined-field
  local machine = system.machine == "arm64" and "aarch64" or system.machine
  return system.sysname:lower() .. "-" .. machine
end

---@param way any a distribution by archives
---@return table? agent
local function by_program(way)
  local own = type(way) == "table" and way[platform()]
  if type(own) ~= "table" or type(own.cmd) ~= "string" then
    return nil
  end
  local command = vim.fs.basename(own.cmd)
  return {
    command = command,
    args = texts(own.args),
    env = variables(own.env),
    install_hint = type(own.archive) == "string" and "download " .. own.archive or nil,
  }
end

--- The agents of the file as it was last read.
---@type {path: string, mtime: integer, agents: table<string, table>}?
local read

--- Returns the agents of the registry file, by their ids, as the option `agents` has them.
---@return table<string, table> agents empty if there is no file
---@return string? problem a sentence that says why the file cannot be used
function M.agents()
  local path = config.get().registry_file
  path = path and vim.fn.fnamemodify(vim.fs.normalize(path), ":p")
  if not path then
    return {}
  end
  local stat = vim.uv.fs_stat(path)
  if read and stat and read.path == path and read.mtime == stat.mtime.sec then
    return read.agents
  end
  local text, problem = text_file.read(path, MAX_BYTES)
  if not text then
    return {}, ("%s %s."):format(vim.fn.fnamemodify(path, ":~"), problem or "does not exist")
  end
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not ok or type(value) ~= "table" or type(value.agents) ~= "table" then
    return {}, ("%s is not a registry of agents."):format(vim.fn.fnamemodify(path, ":~"))
  end
  local agents = {}
  for _, entry in ipairs(value.agents) do
    local id = type(entry) == "table" and entry.id
    local way = type(entry) == "table" and entry.distribution
    if type(id) == "string" and id:match("^[a-z][a-z0-9-]*$") and type(way) == "table" then
      agents[id] = by_package("npx", way.npx)
        or by_package("uvx", way.uvx)
        or by_program(way.binary)
    end
  end
  read = { path = path, mtime = stat and stat.mtime.sec or 0, agents = agents }
  return agents
end

return M
