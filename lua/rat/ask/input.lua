--- A small floating window to edit one text, over the line it belongs to, or below it if the text may have several lines.
--- Unlike Neovim's own |vim.ui.input()| it does not block.
local punctuation = require("rat.util.punctuation")
local float = require("rat.view.float")
local repeated_keys = require("rat.ask.repeated_keys")
local scratch = require("rat.view.scratch")

local api = vim.api

local M = {}

--- Of a text of one line, and of one with several.
local FOOTER, FOOTER_OF_LINES =
  " <CR> done · <C-c> keep as a draft ", " <C-s> done · <C-c> keep as a draft "

--- Largest height of the window; longer texts scroll.
local MAX_HEIGHT = 6

---@param buf integer
---@param title string
---@param footer string
---@param is_below boolean
---@return integer win
local function open_window(buf, title, footer, is_below)
  local parent = api.nvim_get_current_win()
  local row = api.nvim_win_get_cursor(parent)[1] - 1
  local function place()
    return {
      relative = "win",
      win = parent,
      bufpos = { row, 0 },
      row = is_below and 1 or 0,
      col = 1,
      width = math.max(20, api.nvim_win_get_width(parent) - 6),
      height = math.min(api.nvim_buf_line_count(buf), MAX_HEIGHT),
      title = " " .. title .. " ",
      footer = footer,
      zindex = 60,
    }
  end
  local win = float.open(buf, place())
  float.on_resize(win, function()
    if api.nvim_win_is_valid(parent) then
      float.move(win, place())
    end
  end)
  return win
end

---@class rat.InputOptions
---@field footer? string what the keys do, if they keep no draft
---@field leaving? "done"|"back" what leaving the window means; `done` by default
---@field line? integer the line that the cursor begins at the end of; the last one by default

---@class rat.Input
---@field submit fun() closes it and passes its text to `on_done`
---@field close fun() closes it; nothing is called

--- Called once Insert mode has been left.
local after_insert ---@type fun()?

function M.left_insert()
  local done = after_insert
  after_insert = nil
  if done then
    done()
  end
end

--- Leaves Insert mode by feeding keys: |:stopinsert| takes effect later, and a message before that would cause the
--- hit-enter prompt. `done` is called right after that, before any key that was typed meanwhile: one of them may send what was
--- written.
---@param win integer window of the input
---@param done fun()
---@return boolean fed if not, `done` is not called
local function leave_insert(win, done)
  -- If the window is already gone, Insert mode may have been carried into a buffer that cannot be modified.
  local should_leave = api.nvim_get_current_win() == win or not vim.bo.modifiable
  if not (should_leave and api.nvim_get_mode().mode:find("^[iR]")) then
    return false
  end
  after_insert = done
  local call = "<Cmd>lua package.loaded['rat.ask.input'].left_insert()<CR>"
  api.nvim_feedkeys(vim.keycode("<C-Bslash><C-n>" .. call), "ni", false)
  return true
end

--- Opens the window and starts Insert mode in it. In a text with several lines, <CR> begins another in Insert mode: otherwise
--- what a user types or pastes after it would be keys of the window below.
---@param title string
---@param text string initial text
---@param has_lines boolean whether the text may have several lines
---@param on_done fun(text: string) not called if the user goes back
---@param on_back fun(text: string) called then, with what they have typed, to keep it as a draft
---@param opts? rat.InputOptions
---@return rat.Input
function M.open(title, text, has_lines, on_done, on_back, opts)
  opts = opts or {}
  local back = api.nvim_get_current_win()
  local buf = api.nvim_create_buf(false, true)
  scratch.set_options(buf, "ratinput", true)
  vim.bo[buf].bufhidden = "wipe"
  scratch.load(buf, scratch.fill, vim.split(text, "\n", { plain = true }))
  local footer = opts.footer or punctuation.own(has_lines and FOOTER_OF_LINES or FOOTER)
  local win = open_window(buf, title, footer, has_lines)
  api.nvim_win_set_cursor(win, { opts.line or api.nvim_buf_line_count(buf), 0 })
  local open = true
  ---@type string[]?
  local lines_on_leave
  local function close_window()
    if api.nvim_win_is_valid(win) then
      local current = api.nvim_get_current_win() == win
      api.nvim_win_close(win, true)
      if current and api.nvim_win_is_valid(back) then
        api.nvim_set_current_win(back)
      end
    end
  end
  ---@param tell? fun(text: string)
  local function finish(tell)
    if not open then
      return
    end
    open = false
    local lines = tell and (lines_on_leave or api.nvim_buf_get_lines(buf, 0, -1, false))
    local function done()
      if tell and lines then
        tell(table.concat(lines, "\n"))
      end
    end
    -- A picker that reads keys itself would take those that leave Insert mode.
    local fed = leave_insert(win, done)
    close_window()
    if not fed then
      done()
    end
  end
  local function map(modes, lhs, doc, tell, before)
    vim.keymap.set(modes, lhs, function()
      if before then
        before()
      end
      finish(tell)
    end, { buffer = buf, nowait = true, desc = "rat: " .. doc })
  end
  map(has_lines and "n" or { "n", "i" }, "<CR>", "done", on_done)
  map({ "n", "i" }, "<C-s>", "done", on_done)
  map({ "n", "i" }, "<C-c>", "back", on_back, repeated_keys.closed)
  map("n", "<Esc>", "back", on_back)
  map("n", "q", "back", on_back)
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = buf,
    callback = function()
      local count = api.nvim_buf_line_count(buf)
      api.nvim_win_set_height(win, math.min(count, MAX_HEIGHT))
      if count <= MAX_HEIGHT then
        -- Neovim has scrolled to the new line, as the window was too low for it.
        vim.fn.winrestview({ topline = 1 })
      end
    end,
  })
  api.nvim_create_autocmd({ "WinLeave", "BufWinLeave" }, {
    buffer = buf,
    once = true,
    callback = function()
      -- It cannot be closed during WinLeave, and later the buffer may be gone.
      lines_on_leave = api.nvim_buf_get_lines(buf, 0, -1, false)
      vim.schedule(function()
        finish(opts.leaving == "back" and on_back or on_done)
      end)
    end,
  })
  vim.cmd.startinsert({ bang = true })
  return {
    submit = function()
      finish(on_done)
    end,
    close = function()
      finish()
    end,
  }
end

return M
