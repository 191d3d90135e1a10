--- Asks the binary for a chat with an agent, new or not. Which agent there is, `agents` knows.
local agents = require("rat.agents")
local config = require("rat.config")
local rpc = require("rat.rpc")
local say = require("rat.say")

local M = {}

--- Whether a chat was asked for and has not come.
local pending = false

---@class rat.LaunchOptions
---@field agent? string else as `agents.choose` has it
---@field cwd? string else as configured, else |getcwd()| of the current window
---@field new? boolean a session of its own even if there is a chat with this agent here
---@field session? string go on with this session
---@field fork? string begin a session from this one
---@field focus? boolean the user goes into its prompt, if still here when it is there

---@param name string
---@param opts rat.LaunchOptions
---@return boolean asked
local function start(name, opts)
  local request, problem = agents.request(name, opts.cwd)
  if not request then
    say.error(problem)
    return false
  end
  request.session = opts.session or opts.fork
  request.wish = opts.session and "session"
    or opts.fork and "fork"
    or opts.new and "new"
    or config.get().resume
  request.focus = opts.focus == true
  if opts.focus then
    require("rat.window").expect()
  end
  pending = rpc.request("start", request)
  return pending
end

--- Whether a chat was asked for and has not come: prompts sent now are for it.
---@return boolean
function M.pending()
  return pending
end

--- Nothing is to come any more: the chat is there, or the binary is gone.
function M.settled()
  pending = false
end

--- Starts an agent, or shows the chat there is with it.
---@param opts rat.LaunchOptions
---@param started? fun() once the binary was asked; what it is told next follows the start
function M.start(opts, started)
  local function go(name)
    if start(name, opts) and started then
      started()
    end
  end
  if opts.agent then
    return go(opts.agent)
  end
  -- The tour needs the binary only; without it there is nothing to choose.
  local obstacle = rpc.obstacle()
  if obstacle then
    return say.error(obstacle)
  end
  agents.choose(go)
end

--- Takes the user's options.
---@param opts table?
function M.setup(opts)
  local problems = config.set(opts)
  if #problems > 0 then
    error("rat.setup: " .. table.concat(problems, "\nrat.setup: "), 0)
  end
  rpc.configure()
end

return M
