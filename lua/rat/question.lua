--- Questions of the binary's own, such as whether an agent may use a file outside the project: which are open, how they
--- open by themselves, what is answered.
local attention = require("rat.attention")
local chat = require("rat.chat")
local say = require("rat.say")

local M = {}

---@class rat.Question
---@field id integer
---@field chat integer the binary's number of the chat
---@field title string
---@field items string[]
---@field by_user boolean it follows from what the user has just done
---@field lasting boolean closing it is no answer: it keeps waiting
---@field choice? rat.Choice while it is open, or waits to open

---@type rat.Question[] in order of arrival
local questions = {}

---@param id integer
local function refresh(id)
  local of = chat.get(id)
  if of then
    require("rat.window").refresh(of)
  end
  vim.cmd.redrawstatus({ bang = true })
end

---@param question rat.Question
local function forget(question)
  questions = vim.tbl_filter(function(other)
    return other ~= question
  end, questions)
  if question.choice then
    question.choice.close()
  end
  refresh(question.chat)
end

---@param question rat.Question
---@return string[] items
---@return rat.SelectOptions
---@return rat.OnChoice
local function parts(question)
  return question.items,
    { prompt = question.title, careful = true, leaves = question.lasting },
    function(_, index)
      question.choice = nil
      if index or not question.lasting then
        require("rat.rpc").notify("answer", { id = question.id, index = index })
        forget(question)
      end
    end
end

--- The oldest one: of this chat, else of all.
---@param of? rat.Chat
---@return rat.Question?
function M.oldest(of)
  return vim.iter(questions):find(function(question)
    return not of or question.chat == of.id
  end)
end

--- How many wait: in this chat, else in all.
---@param of? rat.Chat
---@return integer
function M.count(of)
  return #vim.tbl_filter(function(question)
    return not of or question.chat == of.id
  end, questions)
end

--- Lets the user answer.
---@param question rat.Question
function M.open(question)
  if question.choice then
    question.choice.close()
  end
  local items, opts, on_choice = parts(question)
  opts.opened = function(choice)
    question.choice = choice
  end
  require("rat.select").open(items, opts, on_choice)
end

--- The binary asks.
---@param payload rat.Question
function M.asked(payload)
  local question = payload
  questions[#questions + 1] = question
  local function ready()
    local of = chat.get(question.chat)
    return question.by_user or of ~= nil and attention.is_free(of)
  end
  local items, opts, on_choice = parts(question)
  question.choice = require("rat.select").when_idle(items, opts, on_choice, ready)
  if not ready() then
    say.info(("%s: `:RatPermission` answers"):format(question.title))
  end
  refresh(question.chat)
end

--- The binary needs no answer any more.
---@param id integer
function M.withdrawn(id)
  for _, question in ipairs(questions) do
    if question.id == id then
      return forget(question)
    end
  end
end

--- The binary is gone: nobody asks any more.
function M.lost()
  for _, question in ipairs(vim.list_slice(questions)) do
    forget(question)
  end
end

return M
