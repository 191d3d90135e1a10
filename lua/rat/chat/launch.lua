--- Asks the binary to open a chat with an agent, and opens its windows before the binary answers; shows and restarts one that is
--- open. `rat.config.agents` determines the agent and its configuration.
local agents = require("rat.config.agents")
local buffers = require("rat.chat.buffers")
local busy = require("rat.document.busy")
local config = require("rat.config")
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local secret_env = require("rat.config.secret_env")
local window = require("rat.view.window")
-- `rat.ask.chooser` is loaded on first use, since a chat often starts without it.

local M = {}

--- Whether the binary was asked for a chat and has not opened it.
local starting = false

---@class rat.LaunchOptions
---@field agent? string by default the one of `agents.to_start`, else the user chooses
---@field cwd? string by default as configured for the agent, else |getcwd()| of the current window
---@field new? boolean whether to start a new session even if there is a chat with this agent here
---@field session? string id of a session to continue
---@field fork? string id of a session to fork
---@field focus? boolean whether to enter the prompt, if the user is still here when the chat opens

--- Returns a chat whose windows can be opened before the binary answers.
---@param agent string
---@param cwd string
---@param new boolean whether a new session is asked for
---@return rat.Chat? # an existing chat, else a new one; nil if a chat whose binary has exited will be continued
local function add_expected(agent, cwd, new)
  local known = vim.iter(registry.list()):find(function(chat)
    local is_of_agent = chat.agent == agent and not chat.edit
    return is_of_agent and (chat.cwd == cwd or chat.restored) and not (new and chat.id)
  end)
  if known then
    return known.id and known or nil
  end
  local chat = registry.add(agent, cwd, buffers.free_name(agent, #registry.all() + 1))
  chat.restored, chat.expected = true, true
  registry.touch(chat)
  return chat
end

--- Opens the windows before the binary has opened the chat. That may take a moment on a busy machine, and what the user
--- types meanwhile must not go into their file.
---@param name string
---@param cwd string
---@param opts rat.LaunchOptions
local function open_early(name, cwd, opts)
  local must_wait = opts.session or opts.fork or busy.is_text_locked()
  local chat = not must_wait and add_expected(name, cwd, opts.new == true)
  if chat then
    window.open(chat, "now")
  else
    window.expect_focus()
  end
end

---@param name string
---@param opts rat.LaunchOptions
---@param env table<string, string> what commands have printed for the agent
---@return boolean asked
local function start(name, opts, env)
  local request, problem = agents.request(name, opts.cwd, env)
  if not request then
    notify.error(problem --[[@as string]])
    return false
  end
  request.session = opts.session or opts.fork
  request.wish = opts.session and "session"
    or opts.fork and "fork"
    or opts.new and "new"
    or config.get().resume
  request.focus = opts.focus == true
  starting = rpc.request("start", request)
  if starting then
    agents.used(name)
    -- From now on, it notes which language servers start.
    require("rat.tools.servers")
  end
  if starting and opts.focus then
    open_early(name, request.cwd, opts)
  end
  return starting
end

--- Whether the binary was asked for a chat and has not opened it. Prompts sent now go to that chat.
---@return boolean
function M.is_starting()
  return starting
end

--- Records that the chat was opened, or that the binary has exited.
function M.finished()
  starting = false
end

--- Runs the commands that print variables for an agent, if there are any, and passes the variables on. If one fails, the user
--- is told.
---@param name string
---@param go fun(env: table<string, string>)
---@param on_failure? fun()
function M.prepare(name, go, on_failure)
  local commands = agents.env_commands(name)
  if next(commands) == nil then
    return go({})
  end
  secret_env.run(commands, function(env, problem)
    if env then
      return go(env)
    end
    notify.error(("%s was not started: %s"):format(name, problem))
    if on_failure then
      on_failure()
    end
  end)
end

--- What to do once agents that are being prepared were asked for, by the name of the agent.
---@type table<string, fun()[]>
local preparing = {}

--- Starts an agent, or shows the chat that is open with it.
---@param opts rat.LaunchOptions
---@param started? fun() called once the request was sent: messages sent from it arrive after the request
function M.start(opts, started)
  -- Whoever names none while one is being prepared means that one.
  M.choose(opts.agent or next(preparing), function(name)
    local actions = preparing[name]
    if actions then
      actions[#actions + 1] = started
      return
    end
    actions = {}
    actions[1], preparing[name] = started, actions
    M.prepare(name, function(env)
      preparing[name] = nil
      if start(name, opts, env) then
        for _, action in ipairs(actions) do
          action()
        end
      end
    end, function()
      preparing[name] = nil
    end)
  end)
end

--- Determines which agent to start: this one, else the one that is meant, else the user chooses. If there is none, they are told
--- why.
---@param agent string?
---@param go fun(name: string)
function M.choose(agent, go)
  if agent then
    return go(agent)
  end
  -- Without the binary not even the tour can start, so there is nothing to choose from.
  local obstacle = rpc.obstacle()
  if obstacle then
    return notify.error(obstacle)
  end
  local name, names = agents.to_start()
  if name then
    return go(name)
  elseif #names == 0 then
    return notify.warn(agents.how_to_install())
  end
  require("rat.ask.chooser").open(names, { prompt = "Start which agent?" }, function(chosen)
    if chosen then
      go(chosen)
    end
  end)
end

--- Shows a chat that the user has just asked for, and leaves them where they are. A chat on a tab page of its own is visible
--- only if they are taken there.
---@param chat rat.Chat
function M.show(chat)
  local is_tab = config.get().layout.position == "tab"
  if is_tab then
    window.expect_focus()
  end
  window.open(chat, is_tab)
end

--- Chats whose agents are being prepared to be started again.
---@type table<rat.Chat, true>
local renewing = {}

--- Tells the binary how the agent of a chat is started now, since the settings may have changed, and then does what starts
--- it.
---@param chat rat.Chat that the binary knows
---@param go fun()
local function renew(chat, go)
  if renewing[chat] then
    return
  end
  renewing[chat] = true
  M.prepare(chat.agent, function(env)
    renewing[chat] = nil
    local request, problem = agents.request(chat.agent, chat.cwd, env)
    if not request then
      return notify.error(problem --[[@as string]])
    end
    if chat.id then
      request.renew = chat.id
      rpc.notify("start", request)
    end
    go()
  end, function()
    renewing[chat] = nil
  end)
end

--- Whether the agent of a chat has ended, so that what is sent there starts it again.
---@param chat rat.Chat
---@return boolean
function M.has_ended(chat)
  return chat.status.state == "stopped" or chat.status.state == "failed"
end

--- Does what needs the agent of a chat, and starts it if it has ended.
---@param chat rat.Chat that the binary knows
---@param go fun()
function M.with_agent(chat, go)
  if M.has_ended(chat) then
    return renew(chat, go)
  end
  go()
end

--- Stops the agent of a chat and starts it again, like |:RatRestart|.
---@param chat rat.Chat
---@param force? boolean whether to end turns of other chats with the same agent
function M.restart(chat, force)
  if chat.id then
    renew(chat, function()
      rpc.notify("restart", { chat = chat.id, force = force == true })
    end)
  else
    M.start({ agent = chat.agent, cwd = chat.cwd, focus = true })
  end
end

return M
