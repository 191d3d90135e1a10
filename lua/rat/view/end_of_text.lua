--- Moves windows to the end of their text, also where the last line is taller than the window: Neovim shows the beginning of
--- such a line unless the cursor is at its end.
local api = vim.api
local M = {}

--- Lines that are longer in bytes are shown from their beginning: for their end, Neovim would measure all of them with each
--- redraw, which takes ten milliseconds for this many.
local MAX_BYTES = 64 * 1024

--- Returns how many rows of text a window has.
---@param win integer
---@return integer
function M.height(win)
  return api.nvim_win_get_height(win) - (vim.wo[win].winbar ~= "" and 1 or 0)
end

--- Returns the column that the cursor has to be in, on the last line, so that the end of the text is visible.
---@param win integer
---@return integer column in bytes, from 0
function M.column(win)
  local buf = api.nvim_win_get_buf(win)
  local last, height = api.nvim_buf_line_count(buf), M.height(win)
  local bytes = api.nvim_buf_get_offset(buf, last) - api.nvim_buf_get_offset(buf, last - 1) - 1
  -- A row has more characters than that, however its words are wrapped.
  if bytes <= height or bytes > MAX_BYTES or not vim.wo[win].wrap then
    return 0
  end
  local rows = api.nvim_win_text_height(win, { start_row = last - 1 }).all
  return rows > height and bytes or 0
end

--- Moves a window to the end, with its last line at the bottom. |''| goes back.
---@param win integer
function M.show(win)
  local column = M.column(win)
  api.nvim_win_call(win, function()
    vim.cmd("normal! G0zb")
    -- Within such a line, Neovim scrolls to the cursor by itself; `zb` would move the cursor.
    api.nvim_win_set_cursor(win, { vim.fn.line("$"), column })
  end)
end

return M
