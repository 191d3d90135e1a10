--- A small window to write one text in, over the line it belongs to. Unlike Neovim's own |vim.ui.input()| it blocks
--- nothing.
local api = vim.api

local M = {}

local FOOTER = " <CR> done · <C-c> back "

--- Room for so many lines at once; a text may have more.
local MOST_LINES = 6

---@param buf integer
---@param title string
---@return integer win
local function open_window(buf, title)
  local parent = api.nvim_get_current_win()
  local row = api.nvim_win_get_cursor(parent)[1] - 1
  local config = {
    relative = "win",
    win = parent,
    bufpos = { row, 0 },
    row = 0,
    col = 1,
    width = math.max(20, api.nvim_win_get_width(parent) - 6),
    height = math.min(api.nvim_buf_line_count(buf), MOST_LINES),
    title = " " .. title .. " ",
    footer = FOOTER,
    zindex = 60,
  }
  return require("rat.float").open(buf, config)
end

---@class rat.Input
---@field take fun() closes it with what is written there
---@field close fun() takes it back: no text comes any more

--- The user writes no more. As if it was typed: while |:stopinsert| is still to come, a message would stop at the
--- hit-enter prompt.
---@param win integer of the input
local function leave_insert(win)
  -- Where the window is gone already, the mode may have come along to one that takes no text.
  local astray = api.nvim_get_current_win() == win or not vim.bo.modifiable
  if astray and api.nvim_get_mode().mode:find("^[iR]") then
    api.nvim_feedkeys(vim.keycode("<C-Bslash><C-n>"), "ni", false)
  end
end

--- Asks for a text.
---@param title string
---@param text string what stands there at first
---@param on_done fun(text: string) not called where the user goes back
---@return rat.Input
function M.open(title, text, on_done)
  local back = api.nvim_get_current_win()
  local buf = api.nvim_create_buf(false, true)
  require("rat.scratch").dress(buf, "ratinput", true)
  vim.bo[buf].bufhidden = "wipe"
  require("rat.scratch").fill(buf, vim.split(text, "\n", { plain = true }))
  local win = open_window(buf, title)
  local open = true
  ---@type string[]?
  local written
  local function shut()
    if api.nvim_win_is_valid(win) then
      local current = api.nvim_get_current_win() == win
      api.nvim_win_close(win, true)
      if current and api.nvim_win_is_valid(back) then
        api.nvim_set_current_win(back)
      end
    end
  end
  local function finish(take)
    if not open then
      return
    end
    open = false
    local lines = take and (written or api.nvim_buf_get_lines(buf, 0, -1, false))
    leave_insert(win)
    shut()
    if lines then
      on_done(table.concat(lines, "\n"))
    end
  end
  local function map(modes, lhs, doc, take)
    vim.keymap.set(modes, lhs, function()
      finish(take)
    end, { buffer = buf, nowait = true, desc = "rat: " .. doc })
  end
  map({ "n", "i" }, "<CR>", "done", true)
  map({ "n", "i" }, "<C-c>", "back", false)
  map("n", "<Esc>", "back", false)
  map("n", "q", "back", false)
  api.nvim_create_autocmd("TextChangedI", {
    buffer = buf,
    callback = function()
      api.nvim_win_set_height(win, math.min(api.nvim_buf_line_count(buf), MOST_LINES))
    end,
  })
  api.nvim_create_autocmd({ "WinLeave", "BufWinLeave" }, {
    buffer = buf,
    once = true,
    callback = function()
      -- What was written there is meant. A window cannot be closed while it is being left, and once it is, the buffer may
      -- be gone.
      written = api.nvim_buf_get_lines(buf, 0, -1, false)
      vim.schedule(function()
        finish(true)
      end)
    end,
  })
  vim.cmd.startinsert({ bang = true })
  return {
    take = function()
      finish(true)
    end,
    close = function()
      finish(false)
    end,
  }
end

return M
