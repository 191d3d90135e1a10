--- Finds the word at the cursor of a prompt that can be completed, and the `/commands`, `@context` and `@files` for it. It
--- opens no menu.
local context = require("rat.complete.context")
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

--- Returns what completes an `@`: providers of context, then files.
---@param chat rat.Chat
---@param typed string with the `@`
---@param later fun() called when there is more to offer
---@return rat.Completion[] the best first
---@return boolean is_incomplete whether `later` will be called
function M.mentions(chat, typed, later)
  local found, is_asked = context.items(typed, chat.cwd, later)
  local words, is_listed = files.words(typed, chat.cwd, later)
  for _, word in ipairs(words) do
    local kind = word:sub(-1) == "/" and "folder" or "file"
    found[#found + 1] = { word = word, kind = kind }
  end
  return found, is_asked or is_listed
end

--- Returns the completions of a word.
---@param chat rat.Chat
---@param typed string text from `start` to the cursor
---@param later fun() called when there is more to offer
---@return (string|table)[] items |complete-items|, the best first
function M.words(chat, typed, later)
  if vim.startswith(typed, "/") then
    return slash.words(chat, typed)
  end
  local found = M.mentions(chat, typed, later)
  return vim.tbl_map(function(item)
    return item.about and { word = item.word, menu = item.about } or item.word
  end, found)
end

return M
