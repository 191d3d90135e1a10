--- Finds the binary, starts it on first use, and sends it notifications. It never waits for the binary and knows nothing
--- of chats.
local config = require("rat.config")
local notify = require("rat.util.notify")
local private_file = require("rat.util.private_file")
local version = require("rat.version")

local M = {}

---@class rat.Connection
---@field channel integer
---@field ready boolean whether the binary has reported its version
---@field queue table[] notifications to send once it is ready: name and payload
---@field stderr string the last STDERR_BYTES of it
---@field timer uv.uv_timer_t gives up after START_MS

---@type rat.Connection?
local connection

--- How long the binary may take to report its version, in milliseconds.
local START_MS = 10000
local STDERR_BYTES = 4096
--- The command that downloads or builds the binary, for messages.
M.BUILD = "nvim -l build.lua"

--- Returns the plugin's folder.
---@return string
function M.root()
  local this = debug.getinfo(1, "S").source:sub(2)
  return vim.fn.fnamemodify(this, ":p:h:h:h:h")
end

--- Returns the path of the binary: the one the user configured, else the one in the plugin's folder, else the one on PATH.
---@return string
function M.binary()
  local named = vim.g.rat_binary or config.get().binary
  if named then
    return vim.fs.normalize(named)
  end
  for _, folder in ipairs({ "target/release", "bin" }) do
    local path = vim.fs.joinpath(M.root(), folder, "rat-nvim")
    if vim.fn.executable(path) == 1 then
      return path
    end
  end
  return "rat-nvim"
end

--- Returns what prevents the binary from being started, and what to do about it; nil if nothing is known to.
---@return string? problem
---@return string? advice
function M.problem()
  if vim.fn.has("win32") == 1 then
    return "Windows is not supported", "Run Neovim and the agents inside WSL"
  end
  local path = M.binary()
  if vim.fn.executable(path) == 0 then
    local root = vim.fn.fnamemodify(M.root(), ":~")
    return ("The binary %s is missing"):format(path), ("Run `%s` in %s"):format(M.BUILD, root)
  end
end

--- Returns why the binary cannot be started, in a message for the user; nil if nothing is known to prevent it.
---@return string?
function M.obstacle()
  local problem, advice = M.problem()
  return problem and ("%s. %s, see :checkhealth rat."):format(problem, advice)
end

--- Returns the path of the log, which may not exist yet.
---@return string
function M.log_file()
  return vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "rat-nvim.log")
end

--- Returns the folder with a log for each agent, of what it has written to stderr. It may not exist yet.
---@return string
function M.agent_logs()
  return vim.fs.joinpath(vim.fs.dirname(M.log_file()), "rat-nvim-agents")
end

--- Returns the names of the agents that have such a log, sorted.
---@return string[]
function M.logged_agents()
  local names = {}
  for file in vim.fs.dir(M.agent_logs()) do
    table.insert(names, file:match("^(.+)%.log$"))
  end
  table.sort(names)
  return names
end

--- Ends the connection; events of its job are ignored from now on.
---@return rat.Connection?
local function drop()
  local dropped = connection
  connection = nil
  if dropped then
    dropped.timer:stop()
    dropped.timer:close()
    pcall(vim.fn.jobstop, dropped.channel)
  end
  return dropped
end

---@type fun()[]
local connected_listeners = {}

--- Calls a listener whenever a binary is ready, before what was queued for it.
---@param listener fun()
function M.on_connected(listener)
  connected_listeners[#connected_listeners + 1] = listener
end

---@type fun(reason: string)[]
local lost_listeners = {}

--- Calls a listener whenever the binary has exited or was given up.
---@param listener fun(reason: string)
function M.on_lost(listener)
  lost_listeners[#lost_listeners + 1] = listener
end

---@param reason string
local function lost(reason)
  for _, listener in ipairs(lost_listeners) do
    listener(reason)
  end
  notify.error(reason)
end

---@param own rat.Connection
---@param status integer
local function exited(own, status)
  if connection ~= own then
    return
  end
  drop()
  local last = vim.trim(own.stderr):match("[^\n]+$")
  local because = last and (" (%s)"):format(last) or ""
  local text = "rat-nvim exited with status %d%s. Drafts are kept."
    .. " Send a prompt or :RatRestart to restart."
  lost(text:format(status, because))
end

---@return integer channel
---@return rat.Connection own
local function spawn()
  local own = { ready = false, queue = {}, stderr = "", timer = assert(vim.uv.new_timer()) }
  own.channel = vim.fn.jobstart({ M.binary() }, {
    rpc = true,
    env = {
      RAT_LOG_FILE = M.log_file(),
      RAT_LOG_LEVEL = config.get().log_level,
      RAT_STATE_DIR = private_file.root(),
    },
    on_exit = function(_, status)
      exited(own, status)
    end,
    on_stderr = function(_, chunks)
      own.stderr = (own.stderr .. table.concat(chunks, "\n")):sub(-STDERR_BYTES)
    end,
  })
  return own.channel, own
end

local function disconnect_on_exit()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("rat_rpc", {}),
    desc = "End the connection to rat-nvim, which ends its agents",
    callback = function()
      local own = connection
      connection = nil
      if own then
        pcall(vim.fn.chanclose, own.channel)
      end
    end,
  })
end

--- Starts the binary unless it is running.
---@return boolean running or starting; if false, the user was told why
function M.start()
  if connection then
    return true
  end
  local obstacle = M.obstacle()
  if obstacle then
    notify.error(obstacle)
    return false
  end
  local ok, channel, own = pcall(spawn)
  if not ok or channel <= 0 then
    notify.error(("Could not start %s (%s). See :checkhealth rat."):format(M.binary(), channel))
    return false
  end
  connection = own
  disconnect_on_exit()
  own.timer:start(
    START_MS,
    0,
    vim.schedule_wrap(function()
      if connection == own and not own.ready then
        drop()
        lost(("%s does not answer. Is it rat-nvim? See :checkhealth rat."):format(M.binary()))
      end
    end)
  )
  return true
end

---@param name string
---@param payload table
local function send(name, payload)
  -- Neovim encodes an empty Lua table as a list.
  local args = next(payload) == nil and vim.empty_dict() or payload
  -- If the pipe is broken, `on_exit` follows and reports it.
  pcall(vim.rpcnotify, connection.channel, name, args)
end

--- Sends the options that apply to the whole binary; all others travel with the messages they concern.
local function send_options()
  local options = config.get()
  send("configure", {
    log_level = options.log_level,
    keep_sessions = options.keep_sessions,
    reads_files = options.files.read_provider ~= nil,
    writes_files = options.files.write_provider ~= nil,
  })
end

--- Called by the binary once it is connected: checks its version and sends what was queued.
---@param hello {version: string}
function M.connected(hello)
  local own = connection
  if not own then
    return
  end
  local wanted = version
  if hello.version ~= wanted then
    drop()
    local text =
      "rat-nvim is version %s, but the plugin is version %s. Run `%s` in %s, then try again."
    return lost(text:format(hello.version, wanted, M.BUILD, vim.fn.fnamemodify(M.root(), ":~")))
  end
  own.timer:stop()
  own.ready = true
  send_options()
  for _, listener in ipairs(connected_listeners) do
    listener()
  end
  for _, message in ipairs(own.queue) do
    send(message[1], message[2])
  end
  own.queue = {}
end

--- Sends a notification if the binary is running, after those sent before. Never starts it and never waits.
---@generic K: keyof rat.notify.Payloads
---@param name K
---@param payload rat.notify.Payloads[K]
---@return boolean sent or queued until the binary is ready
function M.notify(name, payload)
  if not connection then
    return false
  end
  if connection.ready then
    send(name --[[@as string]], payload --[[@as table]])
  else
    table.insert(connection.queue, { name, payload })
  end
  return true
end

--- Sends a notification, and starts the binary first if it is not running. For what the user asked for.
---@generic K: keyof rat.notify.Payloads
---@param name K
---@param payload rat.notify.Payloads[K]
---@return boolean sent or queued until the binary is ready; if false, the user was told why
function M.request(name, payload)
  local send_or_queue = M.notify --[[@as fun(name: any, payload: any): boolean]]
  return M.start() and send_or_queue(name, payload)
end

--- Whether the binary is running or starting.
---@return boolean
function M.running()
  return connection ~= nil
end

--- Sends the options to a running binary after they have changed.
function M.configure()
  if connection and connection.ready then
    send_options()
  end
end

notify.report_to(function(text)
  M.notify("problem", { text = text })
end)

return M
