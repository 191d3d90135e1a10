--- Finds the word at the cursor of a prompt that can be completed, and the `/commands` and `@files` for it. It opens no menu.
local files = require("rat.complete.files")
local slash = require("rat.chat.slash")

local M = {}

--- Returns the start of the word before the cursor, if it can be completed.
---@param chat rat.Chat
---@return integer? column from 0
function M.start(chat)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local before = vim.api.nvim_get_current_line():sub(1, column)
  -- Names of commands may contain spaces.
  local is_command = before:match("^/")
  if row == 1 and is_command and (#before == 1 or #slash.matching(chat, before) > 0) then
    return 0
  end
  local word = before:match("%S*$") --[[@as string]]
  for at in word:gmatch("()@") do
    local offset = (at - 1) --[[@as integer]]
    -- An @ within the word is part of a name.
    if offset == 0 or word:sub(offset, offset) == "(" then
      return #before - #word + offset
    end
  end
end

--- Returns the completions of a word.
---@param chat rat.Chat
---@param typed string text from `start` to the cursor
---@return (string|table)[] items |complete-items|, the best first
function M.words(chat, typed)
  if vim.startswith(typed, "/") then
    return slash.words(chat, typed)
  end
  return files.words(typed, chat.cwd)
end

return M
