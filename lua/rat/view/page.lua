--- Opens pages, such as the output of a command, each in a split of its own that returns to where the user came from when
--- it closes. It does not know what a page contains.
local config_keys = require("rat.config.keys")
local end_of_text = require("rat.view.end_of_text")
local escape = require("rat.util.text").statusline_escape
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local splits = require("rat.view.splits")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

--- How many characters at the beginning of a title are always shown. In a narrow window the ones after them are cut off
--- first.
local ALWAYS_SHOWN = 20

--- The window the user was in when a page opened, by the page's window.
---@type table<integer, integer>
local came_from = {}

--- The line that `show_end` has put the cursor of a window on. While it is still there, the window follows the end.
---@type table<integer, integer>
local followed_line = {}

---@param title string
---@return string
local function winbar_of(title)
  local beginning = vim.fn.strcharpart(title, 0, ALWAYS_SHOWN)
  local rest = title:sub(#beginning + 1)
  local key = config_keys.chosen("q")
  local hint = key and (" %%#RatKey#%s%%* close "):format(escape(key)) or ""
  return escape(beginning) .. "%<" .. escape(rest) .. "%=" .. hint
end

---@param back integer?
local function go_back(back)
  if back and vim.list_contains(api.nvim_tabpage_list_wins(0), back) then
    splits.enter(back)
  end
end

--- Closes the current window. If it is Neovim's last one, it gets one of the user's buffers instead.
local function close()
  if vim.bo.modified and vim.bo.buftype == "acwrite" then
    return notify.warn("Your changes are not applied: :w applies them, :e! drops them")
  end
  local win = api.nvim_get_current_win()
  local back = came_from[win]
  if #splits.tiled(0) == 1 and #api.nvim_list_tabpages() == 1 then
    return splits.give_to_user(win)
  end
  api.nvim_win_close(win, true)
  go_back(back)
end

--- Returns to where the user came from also when they close the window with a command of Neovim's.
---@param win integer
---@param buf integer
local function watch(win, buf)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(win),
    once = true,
    desc = "rat: go back to where the page was opened",
    callback = function()
      local back = came_from[win]
      came_from[win], followed_line[win] = nil, nil
      local here = api.nvim_get_current_win() == win and api.nvim_win_get_buf(win) == buf
      -- The window still exists during WinClosed.
      vim.schedule(function()
        if here and not api.nvim_win_is_valid(win) then
          go_back(back)
        end
      end)
    end,
  })
end

--- Sets the title in the winbar of all windows of a page.
---@param buf integer
---@param title string
function M.set_title(buf, title)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    window_options.set(win, { winbar = winbar_of(title) })
  end
end

--- Opens a page in a split, or goes to the window that shows it. `q` closes it.
---@param buf integer
---@param title string
---@param opts {focus: boolean, wrap: boolean, back?: integer} `back`: window to return to, by default the current one
---@return integer win
function M.open(buf, title, opts)
  config_keys.map("n", "q", close, { buffer = buf, desc = "rat: close", nowait = true })
  local back = opts.back or api.nvim_get_current_win()
  local win = vim.fn.bufwinid(buf)
  if win == -1 then
    local beside = location.users_window() or 0
    win = splits.open(buf, { split = "below", win = beside })
  end
  if win ~= back then
    if not came_from[win] then
      watch(win, buf)
    end
    came_from[win] = back
  end
  window_options.set(
    win,
    { wrap = opts.wrap, smoothscroll = opts.wrap, number = false, list = false }
  )
  M.set_title(buf, title)
  if opts.focus then
    splits.enter(win)
  end
  return win
end

--- Whether a window shows all of its text.
---@param win integer
---@param lines integer
---@return boolean
local function fits(win, lines)
  local height = end_of_text.height(win)
  return lines <= height and api.nvim_win_text_height(win, {}).all <= height
end

--- Moves a window to the end of its page, unless all of the page is visible.
---@param win integer
function M.show_end(win)
  local lines = api.nvim_buf_line_count(api.nvim_win_get_buf(win))
  if fits(win, lines) then
    followed_line[win] = 1
    return
  end
  followed_line[win] = lines
  end_of_text.show(win)
end

--- Extends a page. Windows that were moved to its end, and where the cursor is still there, follow it.
---@param buf integer
---@param grow fun() appends the text
function M.extend(buf, grow)
  grow()
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if followed_line[win] == api.nvim_win_get_cursor(win)[1] then
      M.show_end(win)
    end
  end
end

return M
