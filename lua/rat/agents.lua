--- Which agents there are and how one is started: options over the settings file over presets. Starts nothing itself.
local config = require("rat.config")
local presets = require("rat.presets")
local say = require("rat.say")
local schema = require("rat.schema")
local settings = require("rat.settings")

local M = {}

--- Variables of this Neovim that would make a program below it talk to it or read its files.
local own_variables = { "NVIM", "VIM", "VIMRUNTIME", "MYVIMRC", "NVIM_LISTEN_ADDRESS" }

---@param map table<string, string>?
---@return string[][] pairs sorted by key
local function sorted_pairs(map)
  local list = {}
  for key, value in pairs(map or {}) do
    list[#list + 1] = { key, tostring(value) }
  end
  table.sort(list, function(a, b)
    return a[1] < b[1]
  end)
  return list
end

--- The agents the user configured, in the options or in the settings file.
---@return table<string, table>
function M.configured()
  return vim.tbl_deep_extend("force", settings.get().agents, config.get().agents)
end

---@param name string
---@param configured? table<string, table>
---@return table? agent in the shape of the option
local function find(name, configured)
  configured = configured or M.configured()
  local preset = presets[name]
  if name == "tour" and not configured.tour then
    preset = { title = "the tour", command = require("rat.rpc").binary(), args = { "tour" } }
  end
  if not (preset or configured[name]) then
    return nil
  end
  return vim.tbl_deep_extend("force", preset or {}, configured[name] or {})
end

---@param agent table?
---@return boolean
local function installed(agent)
  return agent ~= nil and agent.command ~= nil and vim.fn.executable(agent.command) == 1
end

--- The names `:RatStart` takes, those that can start first.
---@return string[]
function M.names()
  local configured = M.configured()
  local ready, rest = {}, {}
  for name in pairs(vim.tbl_extend("force", presets, configured)) do
    local list = (configured[name] or installed(find(name, configured))) and ready or rest
    list[#list + 1] = name
  end
  table.sort(ready)
  table.sort(rest)
  ready[#ready + 1] = not configured.tour and "tour" or nil
  return vim.list_extend(ready, rest)
end

--- The presets whose program is on PATH.
---@return string[] names sorted
function M.installed()
  local names = {}
  for name in pairs(presets) do
    if installed(find(name, {})) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- How to get from no agent to a first one.
---@return string
function M.how_to_install()
  return ("no agent is installed. Try `:RatStart tour`, or install one: `%s` or `%s`"):format(
    presets.claude.install_hint,
    presets.opencode.install_hint
  )
end

--- The agent to start where none is named: the default, the only configured one, the only
--- installed preset, else the user chooses.
---@param callback fun(name: string)
function M.choose(callback)
  local default = config.get().default_agent
  local configured = vim.tbl_keys(M.configured())
  local found = M.installed()
  if default then
    return callback(default)
  elseif #configured == 1 then
    return callback(configured[1])
  elseif #configured == 0 and #found == 1 then
    return callback(found[1])
  end
  local names = vim.list_extend(configured, found)
  if #names == 0 then
    return say.warn(M.how_to_install())
  end
  table.sort(names)
  names = vim.fn.uniq(names)
  names[#names + 1] = not vim.list_contains(names, "tour") and "tour" or nil
  require("rat.select").open(names, { prompt = "Start which agent?" }, function(name)
    if name then
      callback(name)
    end
  end)
end

---@param servers table<string, table>
---@return table[]
local function wire_servers(servers)
  local list = {}
  for name, server in pairs(servers) do
    if server.url then
      local kind = server.type == "sse" and "sse" or "http"
      local headers = sorted_pairs(server.headers)
      list[#list + 1] = { kind = kind, name = name, url = server.url, headers = headers }
    elseif server.command then
      -- The protocol wants an absolute path; an unknown program is the agent's to report.
      local command = vim.fn.exepath(server.command)
      list[#list + 1] = {
        kind = "stdio",
        name = name,
        command = command ~= "" and command or server.command,
        args = server.args or {},
        env = sorted_pairs(server.env),
      }
    end
  end
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  return list
end

---@return string[][]
local function base_env()
  local env = vim.fn.environ()
  for _, name in ipairs(own_variables) do
    env[name] = nil
  end
  return sorted_pairs(env)
end

---@return string[] absolute
local function directories()
  local list = {}
  for _, path in ipairs(config.get().directories) do
    local absolute = vim.fn.fnamemodify(vim.fs.normalize(path), ":p")
    list[#list + 1] = absolute:match("^(.+)/$") or absolute
  end
  return list
end

---@param name string
---@param agent table
---@return table
local function wire(name, agent)
  local shape = config.field(config.field(schema, "agents").items, "timeouts")
  local servers = vim.tbl_extend(
    "force",
    settings.get().mcp_servers,
    config.get().mcp_servers,
    agent.mcp_servers or {}
  )
  return {
    name = name,
    command = agent.command:match("^~/") and vim.fs.normalize(agent.command) or agent.command,
    args = agent.args or {},
    env = sorted_pairs(agent.env),
    base_env = base_env(),
    mcp_servers = wire_servers(servers),
    options = sorted_pairs(agent.options),
    auth_method = agent.auth_method,
    timeouts = vim.tbl_extend("force", config.default(shape), agent.timeouts or {}),
    install_hint = agent.install_hint,
  }
end

--- What the binary needs to start an agent.
---@param name string
---@param cwd? string absolute; else the agent's, else |getcwd()| of the current window
---@return table? request
---@return string? problem
function M.request(name, cwd)
  local agent = find(name)
  if not agent then
    local near = say.closest(name, M.names())
    return nil,
      ('there is no agent "%s"%s; known are %s'):format(
        name,
        near and (", did you mean %s?"):format(near) or "",
        table.concat(M.names(), ", ")
      )
  elseif not agent.command then
    return nil, ("agents.%s.command: missing, the program to start"):format(name)
  end
  return {
    agent = wire(name, agent),
    cwd = cwd or agent.cwd and vim.fs.normalize(agent.cwd) or vim.fn.getcwd(),
    directories = directories(),
    unsaved = config.get().unsaved,
    write_dirty = config.get().write_dirty,
  }
end

return M
