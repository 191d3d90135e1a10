--- Lists the prompts of a chat in the |location-list| of its transcript, as |gO| does the headings of a help page.
local notify = require("rat.util.notify")
local ui = require("rat.view.ui")
local window = require("rat.view.window")

local M = {}

--- Returns where the prompts of a transcript begin, and the first line of each.
---@param buf integer
---@return vim.quickfix.entry[]
local function entries(buf)
  local found, row = {}, ui.next_header(buf, -1, 1)
  while row do
    local action = ui.action(buf, row)
    if action and action.kind == "prompt" then
      local text = vim.api.nvim_buf_get_lines(buf, row + 1, row + 2, false)[1] or ""
      found[#found + 1] = { bufnr = buf, lnum = row + 1, col = 1, text = vim.trim(text) }
    end
    row = ui.next_header(buf, row, 1)
  end
  return found
end

--- Opens the list, with the prompt at the cursor of the transcript chosen.
---@param chat rat.Chat
function M.open(chat)
  window.open(chat)
  local buf = chat.buffers.chat
  local win, found = vim.fn.bufwinid(buf), entries(buf)
  if #found == 0 then
    return notify.info("No prompt has been sent in this chat")
  end
  local at, here = 1, vim.api.nvim_win_get_cursor(win)[1]
  for number, entry in ipairs(found) do
    at = entry.lnum <= here and number or at
  end
  vim.fn.setloclist(win, {}, " ", { title = "Prompts", items = found, idx = at })
  vim.api.nvim_set_current_win(win)
  vim.cmd.lopen({ count = math.min(10, #found) })
end

return M
