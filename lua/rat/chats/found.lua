--- Takes the user to the line that `:RatSearch` has found, once the transcript of its session has been drawn.
local punctuation = require("rat.util.punctuation")
local registry = require("rat.chat.registry")

local api = vim.api
local M = {}

--- What a line that was cut begins and ends with.

--- The session that was opened last: only that one counts.
---@type table?
local current

local group = api.nvim_create_augroup("rat_found", {})

---@class rat.FoundPlace
---@field text string the line, as far as it was listed
---@field column integer of the first word in it, from 0
---@field word string the first word
---@field from integer the window of the page
---@field position? [integer, integer] where it was found

---@param item rat.msg.FoundSession
---@return rat.FoundPlace?
local function place_of(item)
  local line, first, last = item.line, item.marks[1], item.marks[2]
  if not (line and first and last) then
    return nil
  end
  local word, column = line:sub(first + 1, last), first
  local ellipsis = punctuation.own("…")
  if vim.startswith(line, ellipsis) then
    line, column = line:sub(#ellipsis + 1), column - #ellipsis
  end
  if vim.endswith(line, ellipsis) then
    line = line:sub(1, -#ellipsis - 1)
  end
  return { text = line, column = column, word = word, from = api.nvim_get_current_win() }
end

--- Returns where a place is in a buffer. If the line is drawn in another way, the first word counts.
---@param buf integer
---@param place rat.FoundPlace
---@return [integer, integer]? position as for |nvim_win_set_cursor()|
local function find(buf, place)
  local by_word ---@type [integer, integer]?
  for row, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, true)) do
    local at = line:find(place.text, 1, true)
    if at then
      return { row, at - 1 + place.column }
    end
    at = line:find(place.word, 1, true)
    by_word = by_word or at and { row, at - 1 } or nil
  end
  return by_word
end

---@param item rat.msg.FoundSession
---@return rat.Chat?
local function chat_of(item)
  return vim.iter(registry.list()):find(function(chat)
    return chat.agent == item.agent and chat.status.session_id == item.session
  end)
end

--- Whether a buffer is the prompt of a chat, and the user has typed nothing there.
---@param chat rat.Chat
---@param buf integer
---@return boolean
local function is_unused_prompt(chat, buf)
  local lines = buf == chat.buffers.prompt and api.nvim_buf_get_lines(buf, 0, 2, false) or {}
  return #lines == 1 and lines[1] == "" and vim.fn.getchar(1) == 0
end

---@param win integer
local function reveal(win)
  api.nvim_win_call(win, function()
    vim.cmd("normal! zvzz")
  end)
end

--- Puts the cursor of the transcript's window on the line, and enters the window once the user has come to the chat.
---@param item rat.msg.FoundSession
---@param place rat.FoundPlace
---@return boolean done
local function show(item, place)
  local chat = chat_of(item)
  local buf = chat and chat.buffers.chat
  local win = buf and api.nvim_buf_is_loaded(buf) and vim.fn.bufwinid(buf) or -1
  if not chat or win < 0 then
    return false
  elseif not place.position then
    place.position = find(buf --[[@as integer]], place)
    if not place.position then
      return false
    end
    api.nvim_win_set_cursor(win, place.position)
    reveal(win)
  elseif not vim.deep_equal(api.nvim_win_get_cursor(win), place.position) then
    return true -- The user has moved on.
  end
  local here = api.nvim_get_current_win()
  if is_unused_prompt(chat, api.nvim_win_get_buf(here)) then
    vim.cmd.stopinsert()
    api.nvim_set_current_win(win)
    reveal(win)
    return true
  end
  -- The chat is entered from the page once the binary has opened it.
  return here ~= place.from
end

--- Goes to the line that was found in a session which is being opened. Gives up when a turn begins there, or another one is
--- opened.
---@param item rat.msg.FoundSession
function M.go(item)
  api.nvim_clear_autocmds({ group = group })
  local place = place_of(item)
  if not place then
    return
  end
  local number, attached, is_over = {}, {}, false ---@type table, table<integer, true>, boolean
  current = number
  local function attempt()
    if is_over or current ~= number then
      return
    elseif show(item, place) then
      is_over = true
      return api.nvim_clear_autocmds({ group = group })
    end
    local chat = chat_of(item)
    local buf = chat and chat.buffers.chat
    if buf and api.nvim_buf_is_loaded(buf) and not attached[buf] then
      attached[buf] = true
      api.nvim_buf_attach(buf, false, {
        on_lines = function()
          if is_over or current ~= number then
            return true
          end
          vim.schedule(attempt)
        end,
      })
    end
  end
  api.nvim_create_autocmd({ "BufWinEnter", "WinEnter" }, {
    group = group,
    desc = "rat: go to the line that was found",
    callback = vim.schedule_wrap(attempt),
  })
  api.nvim_create_autocmd("User", {
    group = group,
    pattern = "RatState",
    desc = "rat: go to the line that was found",
    callback = function(event)
      local data = event.data or {}
      if data.session_id == item.session and data.state == "running" then
        is_over = true
      else
        vim.schedule(attempt)
      end
    end,
  })
  vim.schedule(attempt)
end

return M
