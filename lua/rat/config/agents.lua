--- Lists the known agents and chooses the one to start. How an agent is started is resolved by the binary, from presets, the
--- settings file and options.
local config = require("rat.config")
local config_keys = require("rat.config.keys")
local closest_name = require("rat.util.closest_name")
local presets = require("rat.config.presets")
local private_file = require("rat.util.private_file")
local project_rules = require("rat.config.project_rules")
local project_settings = require("rat.config.project_settings")
local registry = require("rat.config.registry")
local settings = require("rat.config.settings")
local worktrees = require("rat.config.worktrees")

local M = {}

--- The names of the agents the user configured, in the options or in the settings file.
---@return string[] sorted
function M.configured()
  local names = vim.tbl_keys(vim.tbl_extend("force", settings.agents(), config.get().agents))
  table.sort(names)
  return names
end

--- The agents that `:RatStart` takes because a registry file has them.
---@return string[]
local function registered()
  return vim.tbl_keys((registry.agents()))
end

---@param name string
---@return boolean
local function is_installed(name)
  return vim.fn.executable(presets[name].command) == 1
end

--- The names `:RatStart` takes, those that can start first.
---@return string[]
function M.names()
  local ready = M.configured()
  local rest = {}
  for name in pairs(presets) do
    if not vim.list_contains(ready, name) then
      table.insert(is_installed(name) and ready or rest, name)
    end
  end
  for _, name in ipairs(registered()) do
    if not vim.list_contains(ready, name) and not presets[name] then
      rest[#rest + 1] = name
    end
  end
  table.sort(ready)
  table.sort(rest)
  ready[#ready + 1] = not vim.list_contains(ready, "tour") and "tour" or nil
  return vim.list_extend(ready, rest)
end

--- The presets whose program is on PATH.
---@return string[] names sorted
function M.installed()
  local names = {}
  for name in pairs(presets) do
    if is_installed(name) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- A message for a user without any agent, with why the settings file cannot be read if that may be the reason.
---@return string
function M.how_to_install()
  local _, problem = settings.agents()
  return ("%sNo agent is installed. Try :RatStart tour, or install one: `%s` or `%s`"):format(
    problem and problem .. " " or "",
    presets.claude.install_hint,
    presets.opencode.install_hint
  )
end

--- Where the name of the agent that was started last is kept.
---@return string
local function last_used_file()
  return vim.fs.joinpath(private_file.root(), "last-agent")
end

--- Remembers which agent was started last, for the next choice.
---@param name string
function M.used(name)
  private_file.replace(last_used_file(), name, function() end)
end

--- The agent to start where none is named: the default, the only configured one, the only installed preset. Where it is
--- the user's to choose, those to choose from: the one started last comes first.
---@return string? name
---@return string[] names
function M.to_start()
  local default = project_settings.read(vim.fn.getcwd()).default_agent or config.get().default_agent
  local configured = M.configured()
  local found = M.installed()
  if default then
    return default, {}
  elseif #configured == 1 then
    return configured[1], {}
  elseif #configured == 0 and #found == 1 then
    return found[1], {}
  end
  local names = vim.list_extend(configured, found)
  if #names == 0 then
    return nil, {}
  end
  table.sort(names)
  names = vim.fn.uniq(names) --[[@as string[] ]]
  names[#names + 1] = not vim.list_contains(names, "tour") and "tour" or nil
  local last = private_file.read(last_used_file())
  if last and vim.list_contains(names, last) then
    local others = vim.tbl_filter(function(name)
      return name ~= last
    end, names)
    table.insert(others, 1, last)
    names = others --[[@as string[] ]]
  end
  return nil, names
end

---@param path string
---@return string
local function absolute(path)
  local full = vim.fn.fnamemodify(path, ":p")
  return full:match("^(.+)/$") or full
end

--- A configured path, which may name variables and the home folder.
---@param path string
---@return string absolute
local function expanded(path)
  return absolute(vim.fs.normalize(path))
end

--- The folder that is configured for an agent.
---@param name string
---@return string? absolute
local function configured_cwd(name)
  local own = config.get().agents[name] or {}
  local cwd = own.cwd or (settings.agents()[name] or {}).cwd
  return cwd and expanded(cwd)
end

--- Whether an agent always works in the same folder, whatever the current one is.
---@param name string
---@return boolean
function M.has_own_folder(name)
  return configured_cwd(name) ~= nil
end

---@param name string
---@return boolean
local function is_known(name)
  return presets[name] ~= nil
    or name == "tour"
    or vim.list_contains(M.configured(), name)
    or registry.agents()[name] ~= nil
end

---@param name string
---@return string
local function unknown(name)
  local names = M.names()
  local near = closest_name.find(name, names)
  local _, problem = settings.agents()
  problem = problem or select(2, registry.agents())
  return ('No agent is named "%s"%s.%s Known agents: %s'):format(
    name,
    near and (" (did you mean %s?)"):format(near) or "",
    problem and " " .. problem or "",
    table.concat(names, ", ")
  )
end

--- The options of an agent: those of the registry file, the user's own, and then those of the project.
---@param name string
---@param project rat.ProjectSettings
---@param env table<string, string>
---@return table
local function options_of(name, project, env)
  local preset = not presets[name] and registry.agents()[name] or {}
  local own = vim.tbl_extend("force", preset, config.get().agents[name] or {})
  local here = (project.agents or {})[name] or {}
  local function all(key, ...)
    local merged = vim.tbl_extend("force", own[key] or {}, ...)
    own[key] = next(merged) ~= nil and merged or own[key]
  end
  all("options", project.options or {}, here.options or {})
  all("mcp_servers", here.mcp_servers or {})
  all("env", env)
  own.env_from = nil
  if own.editor_tools == nil and not config.get().editor_tools then
    own.editor_tools = false
  end
  return own
end

--- The commands that print environment variables for an agent, by variable.
---@param name string
---@return table<string, string[]>
function M.env_commands(name)
  return (config.get().agents[name] or {}).env_from or {}
end

--- Returns why no agent can be started as the user wants it. What is wrong inside of the settings file is found by the binary.
---@param name string
---@return string? problem
local function unclear(name)
  local refusal = config.refusal()
  if name == "tour" then
    return nil
  elseif refusal then
    return ("%s was not started, because setup() was refused: %s"):format(name, refusal)
  elseif config.get().settings_file and not vim.uv.fs_stat(settings.path()) then
    local short = vim.fn.fnamemodify(settings.path(), ":~")
    return ("%s was not started: %s (settings_file) does not exist."):format(name, short)
  end
end

--- What the binary needs to start an agent.
---@param name string
---@param cwd? string absolute; else the agent's, else |getcwd()| of the current window
---@param env? table<string, string> what commands have printed for it, see `env_commands`
---@return rat.notify.Start? request
---@return string? problem
function M.request(name, cwd, env)
  if not is_known(name) then
    return nil, unknown(name)
  end
  local problem = unclear(name)
  if problem then
    return nil, problem
  end
  local options = config.get() --[[@as table<string, any>]]
  cwd = cwd and absolute(cwd) or configured_cwd(name) or vim.fn.getcwd()
  local worktree = worktrees.of(cwd)
  local project_folder = worktrees.project(cwd)
  local project, wrong = project_settings.read(project_folder)
  if wrong then
    return nil, wrong
  end
  return {
    agent = name,
    options = options_of(name, project, env or {}),
    mcp_servers = vim.tbl_extend("force", options.mcp_servers, project.mcp_servers or {}),
    project_settings = project_settings.describe(project, name),
    settings_file = settings.path(),
    environment = vim.fn.environ(),
    cwd = cwd,
    directories = vim.tbl_map(expanded, options.directories),
    unsaved = options.unsaved,
    write_dirty = options.write_dirty,
    review = options.review,
    rules = options.permission.rules,
    project_rules = project_rules.lines(project_folder),
    worktree = worktree
      and { top = worktree.top, git_dir = worktree.git_dir, project = worktree.project },
    permission_mode = options.permission.mode,
    permission_default = options.permission.default,
    keys = config_keys.changed(),
    ascii = options.icons == "ascii",
  }
end

return M
