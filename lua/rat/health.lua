--- `:checkhealth rat`: Neovim, the binary, agents, git, files. Looks only, repairs nothing.
local M = {}

local health = vim.health

local function neovim()
  health.start("Neovim")
  local version = tostring(vim.version())
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok(version)
  else
    health.error(version .. " is too old", { "Neovim 0.10 or newer is needed" })
  end
  if vim.fn.has("win32") == 1 then
    health.error("Windows is not supported", { "Run Neovim and the agents inside WSL" })
  end
end

--- Runs a program that should answer at once.
---@param command string[]
---@return string? output its first line
---@return string? problem
local function run(command)
  local ok, result = pcall(function()
    return vim.system(command, { text = true, timeout = 5000 }):wait()
  end)
  if not ok then
    return nil, tostring(result)
  elseif result.code ~= 0 then
    local status = result.code == 124 and "does not answer" or "status " .. result.code
    return nil, vim.trim(status .. " " .. (result.stderr or ""))
  end
  return vim.trim(result.stdout or ""):match("[^\n]*")
end

local function binary()
  health.start("rat-nvim")
  local rpc = require("rat.rpc")
  local build = "Run `cargo build --release` in " .. rpc.root()
  local obstacle = rpc.obstacle()
  if obstacle then
    return health.error(obstacle, { build, "or set `binary`, :help rat-options" })
  end
  local path = vim.fn.exepath(rpc.binary())
  local output, problem = run({ path, "--version" })
  local version = (output or ""):match("(%d+%.%d+%.%d+%S*)")
  local wanted = require("rat.version")
  if problem then
    health.error(("%s fails: %s"):format(path, problem), { build })
  elseif version ~= wanted then
    health.error(
      ("%s is version %s, the plugin %s"):format(path, version or "?", wanted),
      { build }
    )
  else
    health.ok(("%s, version %s"):format(path, version))
  end
  health.info(rpc.running() and "running" or "not running: starts on first use")
  health.info("log: " .. rpc.log_file())
end

---@param name string
---@param agent table
local function configured(name, agent)
  local command = agent.command
  local path = command and vim.fn.exepath(command) or ""
  if path ~= "" then
    health.ok(("%s: %s"):format(name, path))
  elseif not command and not require("rat.presets")[name] then
    health.error(("%s: agents.%s.command is missing"):format(name, name))
  else
    local preset = require("rat.presets")[name] or {}
    local hint = agent.install_hint or preset.install_hint
    local text = ("%s: %s is not on PATH"):format(name, command or preset.command)
    health.error(text, hint and { hint } or nil)
  end
end

local function agents()
  health.start("Agents")
  local module = require("rat.agents")
  local own = module.configured()
  for _, name in ipairs(vim.fn.sort(vim.tbl_keys(own))) do
    local agent = vim.tbl_extend("keep", own[name], require("rat.presets")[name] or {})
    configured(name, agent)
  end
  local found = module.installed()
  for _, name in ipairs(found) do
    if not own[name] then
      local preset = require("rat.presets")[name]
      health.ok(("%s: %s"):format(name, vim.fn.exepath(preset.command)))
    end
  end
  if #found == 0 and next(own) == nil then
    health.warn(module.how_to_install())
  end
  local default = require("rat.config").get().default_agent
  if default and not vim.list_contains(module.names(), default) then
    health.error(("default_agent: there is no agent %s"):format(default))
  end
end

local function files()
  health.start("Files and tools")
  if vim.fn.executable("git") == 1 then
    health.ok((run({ "git", "--version" }) or "git"))
  else
    health.warn("git is not on PATH", { "@file completion lists folders itself, more slowly" })
  end
  local settings = require("rat.settings")
  local path = settings.path()
  local _, problems = settings.load()
  for _, problem in ipairs(problems) do
    health.error(problem)
  end
  if #problems == 0 then
    local there = vim.uv.fs_stat(path) ~= nil
    health.info(("settings file: %s%s"):format(path, there and "" or " (none, none is needed)"))
  end
end

--- Runs the checks.
function M.check()
  neovim()
  binary()
  agents()
  files()
end

return M
