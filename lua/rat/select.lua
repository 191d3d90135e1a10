--- Lets the user choose: with their own `vim.ui.select`, or with an equal of the built-in one that does not block.
local idle = require("rat.idle")
local one_line = require("rat.text").one_line

local M = {}

---@class rat.Choice
---@field close fun() takes the question back: no answer comes any more

---@class rat.SelectOptions
---@field prompt string the question
---@field format_item? fun(item: any): string

---@alias rat.OnChoice fun(item: any?, index: integer?)

local FOOTER = " <CR> choose · <Esc> close "

---@return boolean
local function built_in()
  local source = debug.getinfo(vim.ui.select, "S").source
  return source:find("lua/vim/ui.lua", 1, true) ~= nil
end

--- As wide as the chat, where the user is in it: half a row of it would show beside the frame.
---@param lines string[]
---@param title string
---@return integer cells
local function width_for(lines, title)
  if require("rat.chat").of(vim.api.nvim_get_current_buf()) then
    return math.max(1, vim.api.nvim_win_get_width(0) - 2)
  end
  local width = math.max(vim.fn.strdisplaywidth(title), vim.fn.strdisplaywidth(FOOTER))
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  return math.max(1, math.min(width, vim.o.columns - 4))
end

---@param count integer lines
---@param width integer
---@param title? string
---@return vim.api.keyset.win_config
local function place(count, width, title)
  local height = math.max(1, math.min(count, vim.o.lines - 6))
  local config = {
    relative = "editor",
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    style = "minimal",
    border = "rounded",
    title = title,
    title_pos = title and "left" or nil,
    footer = FOOTER,
    zindex = 60,
  }
  if require("rat.chat").of(vim.api.nvim_get_current_buf()) then
    -- At the bottom of the chat, so that what is asked about stays in sight above it.
    config.anchor = "SW"
    config.row = vim.o.lines - vim.o.cmdheight
    config.col = vim.api.nvim_win_get_position(0)[2]
  end
  return config
end

---@param lines string[]
---@return integer buf
local function list_buffer(lines)
  local buf = vim.api.nvim_create_buf(false, true)
  require("rat.scratch").dress(buf, "ratselect")
  vim.bo[buf].bufhidden = "wipe"
  require("rat.scratch").fill(buf, lines)
  return buf
end

---@param buf integer
---@param head integer rows of the question
---@param count integer
---@param answer fun(index: integer?)
local function map_keys(buf, head, count, answer)
  local function map(lhs, action)
    vim.keymap.set("n", lhs, action, { buffer = buf, nowait = true })
  end
  local function take()
    local index = vim.api.nvim_win_get_cursor(0)[1] - head
    if index > 0 then
      answer(index)
    end
  end
  map("<CR>", take)
  map("<2-LeftMouse>", take)
  for _, lhs in ipairs({ "<Esc>", "q", "<C-c>" }) do
    map(lhs, function()
      answer(nil)
    end)
  end
  for digit = 1, math.min(count, 9) do
    map(tostring(digit), function()
      answer(digit)
    end)
  end
end

---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@return rat.Choice
local function open_own(items, opts, on_choice)
  local lines = {}
  for i, item in ipairs(items) do
    local text = one_line((opts.format_item or tostring)(item))
    lines[i] = (i <= 9 and " %d  %s" or "    %2$s"):format(i, text)
  end
  local title = " " .. one_line(opts.prompt) .. " "
  local width = width_for(lines, title)
  -- A question too long for the frame stands whole above its answers.
  local fits = vim.fn.strdisplaywidth(title) <= width
  local head = fits and {} or require("rat.text").wrap(title, width - 2)
  for i, line in ipairs(head) do
    head[i] = " " .. line
  end
  local buf = list_buffer(vim.list_extend(vim.list_slice(head), lines))
  local back = vim.api.nvim_get_current_win()
  local where = place(#head + #lines, width, fits and title or nil)
  local win = vim.api.nvim_open_win(buf, true, where)
  vim.api.nvim_win_set_cursor(win, { #head + (#lines > 0 and 1 or 0), 0 })
  require("rat.dress").set(win, { cursorline = true, wrap = false })
  local open = true
  local function close()
    open = false
    if vim.api.nvim_win_is_valid(win) then
      local current = vim.api.nvim_get_current_win() == win
      vim.api.nvim_win_close(win, true)
      if current and vim.api.nvim_win_is_valid(back) then
        vim.api.nvim_set_current_win(back)
      end
    end
  end
  local function answer(index)
    if open then
      close()
      on_choice(index and items[index], index)
    end
  end
  map_keys(buf, #head, #items, answer)
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    callback = function()
      -- A window cannot be closed while it is being left.
      vim.schedule(answer)
    end,
  })
  return { close = close }
end

---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@return rat.Choice
local function open_theirs(items, opts, on_choice)
  local open = true
  local question = vim.tbl_extend("force", { kind = "rat" }, opts)
  vim.ui.select(items, question, function(item, index)
    if open then
      open = false
      on_choice(item, index)
    end
  end)
  return {
    close = function()
      open = false
    end,
  }
end

--- Asks now. Call it from the main loop.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice nil where the user chose nothing; not called after `close`
---@return rat.Choice
function M.open(items, opts, on_choice)
  return (built_in() and open_own or open_theirs)(items, opts, on_choice)
end

--- Asks once the user types nothing.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param ready? fun(): boolean a further condition
---@return rat.Choice
function M.when_idle(items, opts, on_choice, ready)
  local inner
  local wait = idle.when(ready or function()
    return true
  end, function()
    inner = M.open(items, opts, on_choice)
  end)
  return {
    close = function()
      idle.forget(wait)
      if inner then
        inner.close()
      end
    end,
  }
end

return M
