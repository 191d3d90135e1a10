--- Holds the binary's own questions that wait for an answer, in order of arrival.
local M = {}

---@class rat.Question
---@field id integer
---@field chat integer number of the chat
---@field title string
---@field items string[]
---@field by_user boolean whether it follows from what the user has just done
---@field lasting boolean whether it keeps waiting when the user closes it
---@field peek? integer the item that answers nothing but shows what the question is about
---@field is_write boolean whether it is about a write, whose change may be shown in place of the question
---@field chooser? rat.ChooserHandle while it is open or waits to open
---@field decide? fun(write: boolean, reason?: string) while the write that it is about is compared with the file
---@field wait? rat.Wait while what it is about waits to be shown
---@field by_itself? boolean whether that is shown without the user having asked for it

---@type rat.Question[]
local questions = {}

---@param question rat.Question
function M.add(question)
  questions[#questions + 1] = question
end

---@param question rat.Question
function M.remove(question)
  questions = vim.tbl_filter(function(other)
    return other ~= question
  end, questions)
end

--- Returns the waiting questions, the oldest first.
---@param chat? rat.Chat only those about this chat
---@return rat.Question[]
function M.list(chat)
  return vim.tbl_filter(function(question)
    return not chat or question.chat == chat.id
  end, questions)
end

--- Returns the waiting questions about writes and commands of agents, the oldest first.
---@param chat? rat.Chat only those about this chat
---@return rat.Question[]
function M.writes(chat)
  return vim.tbl_filter(function(question)
    return question.peek ~= nil
  end, M.list(chat))
end

--- Returns how many questions wait, without those that follow from what the user has just done.
---@param chat? rat.Chat only those about this chat
---@return integer
function M.count(chat)
  return #vim.tbl_filter(function(question)
    return not question.by_user
  end, M.list(chat))
end

return M
