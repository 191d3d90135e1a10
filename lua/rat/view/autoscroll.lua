--- Scrolls the windows of a transcript: those with the cursor at its end follow the end, the others are not moved.
local end_of_text = require("rat.view.end_of_text")

local api = vim.api
local M = {}

--- The view that a hidden transcript had last, by buffer; unset if the cursor was at its end.
---@type table<integer, {lnum: integer, topline: integer}>
local hidden_views = {}

--- The place, by window, at which the cursor was put in a last line that is taller than its window: line and column. A reader
--- who is before it has scrolled up within the line.
---@type table<integer, {[1]: integer, [2]: integer}>
local placed = {}

---@param buf integer
---@param win integer
---@return boolean
local function is_at_end(buf, win)
  local line, column = unpack(api.nvim_win_get_cursor(win))
  if line ~= api.nvim_buf_line_count(buf) then
    placed[win] = nil
    return false
  end
  local place = placed[win]
  return not (place and place[1] == line and column < place[2])
end

--- Puts the cursor of a window on the last line, which is visible to its end then.
---@param win integer
function M.put_at_end(win)
  local last, column = api.nvim_buf_line_count(api.nvim_win_get_buf(win)), end_of_text.column(win)
  api.nvim_win_set_cursor(win, { last, column })
  placed[win] = column > 0 and api.nvim_win_get_cursor(win) or nil
end

--- Returns the windows that follow the end.
---@param buf integer
---@param wins integer[]
---@return integer[]
function M.following_windows(buf, wins)
  return vim.tbl_filter(function(win)
    -- A window with a Visual selection is not moved.
    local selecting = win == api.nvim_get_current_win()
      and api.nvim_get_mode().mode:find("^[vV\22]")
    return is_at_end(buf, win) and not selecting
  end, wins)
end

---@param win integer
local function scroll_to_end(win)
  end_of_text.show(win)
  M.put_at_end(win)
end

--- Returns what has to be at the top of the current window so that the end of the text is at its bottom.
---@param win integer the current window
---@return {topline: integer, skipcol: integer}? view nil if it is at the top already
local function view_of_end(win)
  local height = end_of_text.height(win)
  local now, last = vim.fn.line("w0"), vim.fn.line("$")
  local top, used = now, api.nvim_win_text_height(win, { start_row = now - 1 }).all
  if used > height then
    top, used = last + 1, 0
  end
  while top > 1 do
    local above = vim.fn.foldclosed(top - 1)
    above = above > 0 and above or top - 1
    local rows = api.nvim_win_text_height(win, { start_row = above - 1, end_row = top - 2 }).all
    if used + rows > height then
      if vim.wo[win].smoothscroll and used < height then
        -- The end of a line that does not fit.
        local info = vim.fn.getwininfo(win)[1]
        local hidden = (used + rows - height) * (info.width - info.textoff)
        return { topline = above, skipcol = math.floor(hidden) }
      end
      break
    end
    used, top = used + rows, above
  end
  return top ~= now and top <= last and { topline = top, skipcol = 0 } or nil
end

--- Scrolls windows that are at the end so that the last line is at the bottom. Neovim leaves empty rows below it when a
--- window grows, or when text above is folded or removed, and hides part of the last line when a window shrinks.
---@param wins integer[]
function M.fill_windows(wins)
  for _, win in ipairs(wins) do
    if is_at_end(api.nvim_win_get_buf(win), win) then
      M.put_at_end(win)
      api.nvim_win_call(win, function()
        local view = view_of_end(win)
        if view then
          vim.fn.winrestview(view)
        end
      end)
    end
  end
end

--- Moves the windows of the current tab page to the end, which they follow from then on. |''| goes back.
---@param buf integer
function M.go_to_end(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf and not is_at_end(buf, win) then
      scroll_to_end(win)
    end
  end
  hidden_views[buf] = nil
end

--- Has a transcript that is shown again start at its end, or where the user left it.
---@param buf integer
function M.attach(buf)
  local group = api.nvim_create_augroup("rat_autoscroll_" .. buf, {})
  api.nvim_create_autocmd("BufWinLeave", {
    group = group,
    buffer = buf,
    desc = "rat: remember whether the reader was at the end",
    callback = function()
      hidden_views[buf] = nil
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        if not is_at_end(buf, win) then
          local line = api.nvim_win_get_cursor(win)[1]
          hidden_views[buf] = { lnum = line, topline = vim.fn.line("w0", win) }
        end
      end
    end,
  })
  api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    desc = "rat: restore the reader's place",
    callback = function()
      if hidden_views[buf] then
        vim.fn.winrestview(hidden_views[buf])
      else
        scroll_to_end(api.nvim_get_current_win())
      end
    end,
  })
end

return M
