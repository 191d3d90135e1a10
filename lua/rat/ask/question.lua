--- Asks the binary's own questions, such as whether an agent may use a file outside the project, and sends the answers.
--- `question_list` holds the waiting ones.
local auto_open = require("rat.ask.auto_open")
local notify = require("rat.util.notify")
local question_list = require("rat.ask.question_list")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local status = require("rat.chat.status")
local window = require("rat.view.window")
-- `rat.ask.chooser` is loaded on first use, since a chat often starts without a question.

local M = {}

---@param id integer
local function refresh(id)
  local chat = registry.get(id)
  if chat then
    window.refresh(chat)
  end
  status.redraw()
end

---@param question rat.Question
local function remove(question)
  question_list.remove(question)
  if question.chooser then
    question.chooser.close()
  end
  refresh(question.chat)
end

---@param question rat.Question
---@return string[] items
---@return rat.SelectOptions
---@return rat.OnChoice
local function select_arguments(question)
  return question.items,
    { prompt = question.title, careful = true, insert_closes = question.lasting },
    function(_, index)
      question.chooser = nil
      if index or not question.lasting then
        rpc.notify("answer", { id = question.id, index = index })
        remove(question)
      end
    end
end

--- Opens a question for the user, who has asked for it.
---@param question rat.Question
function M.open(question)
  if question.chooser then
    question.chooser.close()
  end
  local items, opts, on_choice = select_arguments(question)
  opts.opened = function(handle)
    question.chooser = handle
  end
  require("rat.ask.chooser").open(items, opts, on_choice)
end

--- Handles a question from the binary: it opens once the user is idle in the chat, or idle anywhere if it follows from
--- what they have just done.
---@param payload rat.msg.Ask
function M.asked(payload)
  local question = payload --[[@as rat.Question]]
  question_list.add(question)
  local function ready()
    local chat = registry.get(question.chat)
    return question.by_user or chat ~= nil and auto_open.may_open(chat)
  end
  local items, opts, on_choice = select_arguments(question)
  local chooser = require("rat.ask.chooser")
  question.chooser = chooser.when_idle(items, opts, on_choice, ready, question.by_user)
  if not ready() then
    notify.info(("%s (answer with :RatPermission)"):format(question.title))
  end
  refresh(question.chat)
end

--- Handles the withdrawal of a question by the binary.
---@param id integer
function M.withdrawn(id)
  for _, question in ipairs(question_list.list()) do
    if question.id == id then
      return remove(question)
    end
  end
end

--- Removes all questions after the binary has exited.
function M.lost()
  for _, question in ipairs(question_list.list()) do
    remove(question)
  end
end

return M
