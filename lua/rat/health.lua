--- `:checkhealth rat`: checks Neovim, the binary, the agents, git and the settings file. It repairs nothing.
local agents = require("rat.config.agents")
local config = require("rat.config")
local presets = require("rat.config.presets")
local rpc = require("rat.rpc")
local settings = require("rat.config.settings")
local version = require("rat.version")

local M = {}

local health = vim.health

local function check_neovim()
  health.start("Neovim")
  -- `vim.version` is a callable table.
  ---@diagnostic disable-next-line: call-non-callable
  local running = tostring(vim.version())
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok(running)
  else
    health.error(running .. " is too old", { "Neovim 0.10 or newer is required" })
  end
  if vim.fn.has("win32") == 1 then
    health.error("Windows is not supported", { "Run Neovim and the agents inside WSL" })
  end
end

--- Runs a program and waits up to five seconds for it to exit.
---@param command string[]
---@param input? string written to stdin
---@return string? output first line of stdout
---@return string? problem why it could not be run, or its status and stderr
local function run(command, input)
  local ok, result = pcall(function()
    return vim.system(command, { text = true, timeout = 5000, stdin = input }):wait()
  end)
  if not ok then
    return nil, tostring(result)
  elseif result.code ~= 0 then
    local status = result.code == 124 and "does not answer" or "status " .. result.code
    return nil, vim.trim(status .. " " .. (result.stderr or ""))
  end
  return vim.trim(result.stdout or ""):match("[^\n]*")
end

local function check_binary()
  health.start("rat-nvim")
  local build = ("Run `%s` in %s"):format(rpc.BUILD, rpc.root())
  local obstacle = rpc.problem()
  if obstacle then
    return health.error(obstacle, { build, "Or set `binary`, see :help rat-options" })
  end
  local path = vim.fn.exepath(rpc.binary())
  local output, problem = run({ path, "--version" })
  local found, origin = (output or ""):match("(%d+%.%d+%.%d+%S*) ?(.*)")
  if problem then
    health.error(("%s fails: %s"):format(path, problem), { build })
  elseif found ~= version then
    health.error(
      ("%s is version %s, but the plugin is version %s"):format(path, found or "?", version),
      { build }
    )
  else
    local from = origin ~= "" and " " .. origin or ""
    health.ok(("%s, version %s%s"):format(path, found, from))
  end
  health.info(rpc.running() and "running" or "not running (starts on first use)")
  health.info("log: " .. rpc.log_file())
end

--- Whether the agents the user configured can be started, as the binary sees it.
local function check_configured()
  local configured = { agents = config.get().agents, settings_file = settings.path() }
  local output, problem =
    run({ vim.fn.exepath(rpc.binary()), "check-agents" }, vim.json.encode(configured))
  local ok, lines = pcall(vim.json.decode, output or "", { luanil = { object = true } })
  if not ok then
    local why = problem or "rat-nvim did not answer"
    return health.error("the agents you configured cannot be checked: " .. why)
  end
  ---@cast lines { kind: "ok"|"info"|"error", text: string, hint: string? }[]
  for _, line in ipairs(lines) do
    if line.hint then
      health.error(line.text, { line.hint })
    else
      health[line.kind](line.text)
    end
  end
end

local function check_agents()
  health.start("Agents")
  local own = agents.configured()
  if not rpc.obstacle() then
    check_configured()
  end
  local found = agents.installed()
  for _, name in ipairs(found) do
    if not vim.list_contains(own, name) then
      health.ok(("%s: %s"):format(name, vim.fn.exepath(presets[name].command)))
    end
  end
  if #found == 0 and #own == 0 then
    health.warn(agents.how_to_install())
  end
  local default = config.get().default_agent
  if default and not vim.list_contains(agents.names(), default) then
    health.error(("default_agent: no agent is named %s"):format(default))
  end
end

local function check_files()
  health.start("Files and tools")
  if vim.fn.executable("git") == 1 then
    health.ok((run({ "git", "--version" }) or "git"))
  else
    health.warn("git is not on PATH", {
      "Install git: without it, @diff and worktrees (`:RatWorktree`) do not work",
      "Files for @ in a prompt are found more slowly without it",
    })
  end
  local path = settings.path()
  local there = vim.uv.fs_stat(path) ~= nil
  health.info(("settings file: %s%s"):format(path, there and "" or " (not found, optional)"))
end

--- Tries what an agent starts for the editor's own tools.
local function check_tools()
  health.start("The editor's own tools")
  if not config.get().editor_tools then
    return health.info("switched off (`editor_tools = false`)")
  elseif rpc.obstacle() then
    return health.info("not tried, as the binary is missing")
  end
  local ask = vim.json.encode({ jsonrpc = "2.0", id = 1, method = "tools/list" })
  local output, problem = run({ vim.fn.exepath(rpc.binary()), "mcp" }, ask .. "\n")
  local ok, answer = pcall(vim.json.decode, output or "")
  local tools = ok and type(answer) == "table" and vim.tbl_get(answer, "result", "tools") or nil
  if not tools then
    return health.error("`rat-nvim mcp` does not answer: " .. (problem or output or ""))
  end
  health.ok(("`rat-nvim mcp` answers, and offers %d tools"):format(#tools))
  local clients = vim.tbl_map(function(client)
    return client.name
  end, vim.lsp.get_clients())
  if #clients == 0 then
    health.info("no language server is running, so that agents can only read and edit")
  else
    health.ok("language servers: " .. table.concat(clients, ", "))
  end
end

--- Runs the checks.
function M.check()
  check_neovim()
  check_binary()
  check_agents()
  check_tools()
  check_files()
end

return M
