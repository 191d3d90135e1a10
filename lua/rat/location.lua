--- Shows a place in a file in a window of the user's, never in one of ours, and hands what is no text to the system.
local M = {}

---@param win integer
---@return boolean
local function fits(win)
  return win ~= 0
    and vim.api.nvim_win_get_config(win).relative == ""
    and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == ""
    and not vim.wo[win].winfixbuf
    and not vim.wo[win].previewwindow
end

--- A window of the user's that can show a file: the last one they were in, else the first, else one of the tab page
--- they came from.
---@return integer?
function M.users_window()
  local last = vim.fn.win_getid(vim.fn.winnr("#"))
  if fits(last) then
    return last
  end
  local here = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(fits)
  local tab = vim.fn.tabpagenr("#")
  if here or tab == 0 then
    return here
  end
  local there = vim.fn.win_getid(vim.fn.tabpagewinnr(tab), tab)
  return fits(there) and there or nil
end

---@param path string
---@return integer buf
local function buffer_of(path)
  local real = vim.uv.fs_realpath(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if real and name ~= "" and vim.bo[buf].buftype == "" and vim.uv.fs_realpath(name) == real then
      return buf
    end
  end
  return vim.fn.bufadd(path)
end

--- Shows a place in a file, in a window that was there before ours.
---@param path string
---@param line? integer from 1
---@param stay? boolean the user stays where they are
function M.open(path, line, stay)
  local back = vim.api.nvim_get_current_win()
  local buf = buffer_of(path)
  local win = M.users_window()
  if not win then
    local place = { split = "left", win = -1 }
    win = vim.api.nvim_open_win(buf, false, place)
  elseif vim.bo[vim.api.nvim_win_get_buf(win)].modified and not vim.o.hidden then
    win = vim.api.nvim_open_win(buf, false, { split = "above", win = win })
  end
  vim.api.nvim_set_current_win(win)
  vim.cmd("normal! m'")
  vim.bo[buf].buflisted = true
  vim.api.nvim_win_set_buf(win, buf)
  if line then
    local last = vim.api.nvim_buf_line_count(buf)
    vim.api.nvim_win_set_cursor(win, { math.max(1, math.min(line, last)), 0 })
    vim.cmd("normal! zv")
  end
  if stay and vim.api.nvim_win_is_valid(back) then
    vim.api.nvim_set_current_win(back)
  end
end

--- Opens something with whatever the system, or the user's own `vim.ui.open`, has for it.
---@param what string a file or an address
function M.hand_over(what)
  local ok, job, problem = pcall(vim.ui.open, what)
  local why = ok and problem or not ok and job
  if why then
    why = require("rat.text").one_line(tostring(why))
    -- A word longer than the screen is wide would stop at the hit-enter prompt.
    local start = vim.fn.strcharpart(what, 0, 40)
    local shown = start == what and what or start .. "…"
    require("rat.say").error(("could not be opened (%s): %s"):format(why, shown))
  end
end

return M
