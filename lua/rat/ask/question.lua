--- Asks the binary's own questions, such as whether an agent may use a file outside the project, and sends the answers.
--- `question_list` holds the waiting ones.
local auto_open = require("rat.ask.auto_open")
local config = require("rat.config")
local idle = require("rat.util.idle")
local notify = require("rat.util.notify")
local question_list = require("rat.ask.question_list")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local status = require("rat.chat.status")
local text_page = require("rat.view.text_page")
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

---@type fun(id: integer)[]
local settled_listeners = {}

--- Calls a listener with the number of a question once it no longer waits.
---@param listener fun(id: integer)
function M.on_settled(listener)
  settled_listeners[#settled_listeners + 1] = listener
end

---@param id integer
local function tell_settled(id)
  for _, listener in ipairs(settled_listeners) do
    listener(id)
  end
end

---@param question rat.Question
local function remove(question)
  question_list.remove(question)
  idle.forget(question.wait)
  if question.chooser then
    question.chooser.close()
  end
  if question.by_user then
    -- What an undo would change is outdated once the user has decided.
    text_page.close(question.chat, "preview")
  end
  refresh(question.chat)
  tell_settled(question.id)
end

--- Has the binary send what a question is about.
---@param question rat.Question
local function peek(question)
  rpc.notify("show_write", { id = question.id })
end

--- Answers whether a write is to be made, or a command to be run.
---@param question rat.Question
---@param write boolean
---@param reason? string sent to the agent with a rejection
function M.decide(question, write, reason)
  if question.decide then
    return question.decide(write, reason)
  elseif write then
    rpc.notify("answer", { id = question.id, index = 1 })
  else
    rpc.notify("decide_write", { id = question.id, reason = reason })
  end
  remove(question)
end

--- The keys that answer a question about a write or a command, as in the chat.
---@param question rat.Question
---@return table<string, fun()>?
local function write_keys(question)
  return question.peek
    and {
      ga = function()
        M.decide(question, true)
      end,
      gr = function()
        M.decide(question, false)
      end,
      gd = function()
        peek(question)
      end,
    }
end

---@param question rat.Question
---@return string[] items
---@return rat.SelectOptions
---@return rat.OnChoice
local function select_arguments(question)
  return question.items,
    {
      prompt = registry.with_folder(question.title, registry.get(question.chat)),
      careful = true,
      harmless = vim.list_contains(question.items, "Cancel"),
      insert_closes = question.lasting,
      keys = write_keys(question),
    },
    function(_, index)
      question.chooser = nil
      if index and index == question.peek then
        peek(question)
      elseif index or not question.lasting then
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
    if question.by_user then
      -- The user is reading what the question is about.
      return not text_page.is_open(question.chat, "preview")
    end
    return chat ~= nil and auto_open.may_open(chat)
  end
  if question.is_write and config.get().diff == "tab" then
    question.wait = idle.when(ready, function()
      question.wait, question.by_itself = nil, true
      peek(question)
    end)
  else
    local items, opts, on_choice = select_arguments(question)
    local chooser = require("rat.ask.chooser")
    question.chooser = chooser.when_idle(items, opts, on_choice, ready, question.by_user)
  end
  if not (question.by_user or ready()) then
    notify.info(("%s (answer with :RatPermission)"):format(question.title))
  end
  refresh(question.chat)
end

---@param id integer
---@return rat.Question?
local function find(id)
  return vim.iter(question_list.list()):find(function(question)
    return question.id == id
  end)
end

--- Lets `decide` answer a question while what it is about is shown.
---@param id integer
---@param decide? fun(write: boolean, reason?: string) nothing once it is not shown any more
function M.shown(id, decide)
  local question = find(id)
  if question then
    question.decide = decide
  end
end

--- Handles that a question no longer waits: it was answered elsewhere, or withdrawn by the binary.
---@param id integer
function M.settled(id)
  local question = find(id)
  if question then
    return remove(question)
  end
  tell_settled(id)
end

--- Takes a question from those that wait, while what the user wants is being done.
---@param id integer
---@return fun() ask_again has it wait again
function M.hold(id)
  local question = find(id)
  if not question then
    return function() end
  end
  question_list.remove(question)
  refresh(question.chat)
  return function()
    question_list.add(question)
    refresh(question.chat)
  end
end

--- Whether what a question is about is shown although the user did not ask for it just now.
---@param id integer
---@return boolean
function M.opened_by_itself(id)
  local question = find(id)
  local by_itself = question ~= nil and question.by_itself == true
  if question then
    question.by_itself = nil
  end
  return by_itself
end

--- Removes all questions after the binary has exited.
function M.lost()
  for _, question in ipairs(question_list.list()) do
    remove(question)
  end
end

return M
