--- The binary: finds it, starts it on first use, carries messages to it. Never waits for it and knows nothing of chats.
local config = require("rat.config")
local say = require("rat.say")

local M = {}

---@class rat.Connection
---@field channel integer
---@field ready boolean the binary has said its version
---@field queue table[] what waits for that: name and payload
---@field stderr string the end of it
---@field timer uv.uv_timer_t

---@type rat.Connection?
local connection

--- How long the binary may take to say its version.
local START_MS = 10000
local STDERR_BYTES = 4096
local BUILD = "cargo build --release"

--- The folder the plugin is in.
---@return string
function M.root()
  local this = debug.getinfo(1, "S").source:sub(2)
  return vim.fn.fnamemodify(this, ":p:h:h:h")
end

--- The path of the binary: what the user named, what the build made, else the one on PATH.
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

--- Why the binary cannot be started, if so.
---@return string?
function M.obstacle()
  if vim.fn.has("win32") == 1 then
    return "Windows is not supported: run Neovim and the agents inside WSL"
  end
  local path = M.binary()
  if vim.fn.executable(path) == 0 then
    return ("the binary %s is missing: run `%s` in %s, see `:checkhealth rat`"):format(
      path,
      BUILD,
      vim.fn.fnamemodify(M.root(), ":~")
    )
  end
end

--- Where the log is.
---@return string
function M.log_file()
  return vim.fs.joinpath(vim.fn.stdpath("log"), "rat-nvim.log")
end

--- Where the binary keeps what outlives Neovim.
---@return string
function M.state_folder()
  return vim.fs.joinpath(vim.fn.stdpath("state"), "rat")
end

--- Ends the connection; what comes from it later is not for us.
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

---@param reason string
local function lost(reason)
  require("rat.chat").lost(reason)
  say.error(reason)
end

---@param mine rat.Connection
---@param status integer
local function exited(mine, status)
  if connection ~= mine then
    return
  end
  drop()
  local last = vim.trim(mine.stderr):match("[^\n]+$")
  local because = last and (" (%s)"):format(last) or ""
  local text = "rat-nvim ended with status %d%s. Drafts are kept;"
    .. " the next prompt or :RatRestart starts it again"
  lost(text:format(status, because))
end

---@return integer channel
---@return rat.Connection mine
local function spawn()
  local mine = { ready = false, queue = {}, stderr = "", timer = assert(vim.uv.new_timer()) }
  mine.channel = vim.fn.jobstart({ M.binary() }, {
    rpc = true,
    env = {
      RAT_LOG_FILE = M.log_file(),
      RAT_LOG_LEVEL = config.get().log_level,
      RAT_STATE_DIR = M.state_folder(),
    },
    on_exit = function(_, status)
      exited(mine, status)
    end,
    on_stderr = function(_, chunks)
      mine.stderr = (mine.stderr .. table.concat(chunks, "\n")):sub(-STDERR_BYTES)
    end,
  })
  return mine.channel, mine
end

local function leave_with_neovim()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("rat_rpc", {}),
    desc = "End the connection to rat-nvim, which ends its agents",
    callback = function()
      local mine = connection
      connection = nil
      if mine then
        pcall(vim.fn.chanclose, mine.channel)
      end
    end,
  })
end

--- Starts the binary unless it runs.
---@return boolean running or about to; if not, the user was told why
function M.start()
  if connection then
    return true
  end
  local obstacle = M.obstacle()
  if obstacle then
    say.error(obstacle)
    return false
  end
  local ok, channel, mine = pcall(spawn)
  if not ok or channel <= 0 then
    say.error(("%s cannot be started (%s), see `:checkhealth rat`"):format(M.binary(), channel))
    return false
  end
  connection = mine
  leave_with_neovim()
  mine.timer:start(
    START_MS,
    0,
    vim.schedule_wrap(function()
      if connection == mine and not mine.ready then
        drop()
        lost(("%s does not answer: is it rat-nvim? See `:checkhealth rat`"):format(M.binary()))
      end
    end)
  )
  return true
end

---@param name string
---@param payload table
local function send(name, payload)
  -- An empty table would arrive as a list.
  local args = next(payload) == nil and vim.empty_dict() or payload
  -- Where the pipe is broken, `on_exit` follows and says so.
  pcall(vim.rpcnotify, connection.channel, name, args)
end

--- The options the binary knows: everything that is no table.
---@return table
local function scalars()
  local found = {}
  for name, value in pairs(config.get()) do
    if type(value) ~= "table" then
      found[name] = value
    end
  end
  return found
end

--- Called by the binary once it is connected.
---@param hello {version: string}
function M.connected(hello)
  local mine = connection
  if not mine then
    return
  end
  local wanted = require("rat.version")
  if hello.version ~= wanted then
    drop()
    local text = "rat-nvim is version %s, the plugin %s: run `%s` in %s, then try again"
    return lost(text:format(hello.version, wanted, BUILD, vim.fn.fnamemodify(M.root(), ":~")))
  end
  mine.timer:stop()
  mine.ready = true
  send("configure", scalars())
  for _, message in ipairs(mine.queue) do
    send(message[1], message[2])
  end
  mine.queue = {}
end

--- Tells the binary something, in order, if it runs; never starts it and never waits.
---@param name string
---@param payload table
---@return boolean sent or about to be
function M.notify(name, payload)
  if not connection then
    return false
  end
  if connection.ready then
    send(name, payload)
  else
    table.insert(connection.queue, { name, payload })
  end
  return true
end

--- Asks the binary for something the user wants: starts it first where it does not run.
---@param name string
---@param payload table
---@return boolean sent or about to be; if not, the user was told why
function M.request(name, payload)
  return M.start() and M.notify(name, payload)
end

--- Whether the binary runs or is about to.
---@return boolean
function M.running()
  return connection ~= nil
end

--- Tells a running binary that the options changed.
function M.configure()
  if connection and connection.ready then
    send("configure", scalars())
  end
end

return M
