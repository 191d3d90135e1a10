--- Lets the user choose an item: with their own `vim.ui.select`, or, where that is Neovim's blocking one, in a floating
--- window that does not block.
local punctuation = require("rat.util.punctuation")
local auto_open = require("rat.ask.auto_open")
local chooser_layout = require("rat.ask.chooser_layout")
local float = require("rat.view.float")
local idle = require("rat.util.idle")
local repeated_keys = require("rat.ask.repeated_keys")
local one_line = require("rat.util.text").one_line
local paste = require("rat.ask.paste")
local picker = require("rat.ask.picker")
local registry = require("rat.chat.registry")
local scratch = require("rat.view.scratch")
local window_options = require("rat.view.window_options")

local M = {}

---@class rat.ChooserHandle
---@field close fun() withdraws the question: `on_choice` is not called any more

---@class rat.SelectOptions
---@field prompt string the question
---@field format_item? fun(item: any): string
---@field careful? boolean answers have consequences: none is selected at first, and a stray key clears the selection
---@field harmless? boolean one of the answers changes nothing
---@field ignore_typeahead? boolean whether to ignore keys until a pause, since they may be meant for a question before it
---@field insert_closes? boolean the keys that start Insert mode close it and then act in the window the user came from
---@field keys? table<string, fun()> further keys; they close it first
---@field opened? fun(handle: rat.ChooserHandle) called before a picker opens: some return only when they are answered
---@field label? fun(index: integer): string text before an item in the user's own picker
---@field typed? integer a digit that the user has typed already

---@alias rat.OnChoice fun(item: any?, index: integer?)

--- A digit within this time after another one continues its number, in milliseconds.
local NUMBER_MS = 1000

--- Last item of a careful question in the user's own picker, unless an answer is harmless.
local LATER = "Decide later"

--- Whether `vim.ui.select` is Neovim's own.
---@return boolean
local function is_builtin_select()
  local source = debug.getinfo(vim.ui.select, "S").source
  return source:find("lua/vim/ui.lua", 1, true) ~= nil
end

---@param lines string[]
---@return integer buf
local function list_buffer(lines)
  local buf = vim.api.nvim_create_buf(false, true)
  scratch.set_options(buf, "ratselect")
  vim.bo[buf].bufhidden = "wipe"
  scratch.fill(buf, lines)
  return buf
end

---@class rat.Chooser
---@field buf integer
---@field win integer
---@field head integer how many rows the question takes
---@field count integer how many items there are
---@field opts rat.SelectOptions
---@field by_number boolean only a number selects, moving does not
---@field typed? integer number typed so far
---@field typed_at? integer when, in milliseconds of |uv.now()|
---@field row_before? integer cursor row before the number was typed
---@field out_of_range? boolean the typed number has no item
---@field hinted? boolean the footer says what is needed before `<CR>`
---@field answer fun(index: integer?)

--- Keys that move in a careful chooser. Any other key is taken as typed for something else.
local MOVES = { "j", "k", "<Down>", "<Up>" }
local OTHER_MOVES = { "G", "g", ":", "<PageUp>", "<PageDown>", "<C-w>" }
vim.list_extend(OTHER_MOVES, { "<C-d>", "<C-u>", "<C-e>", "<C-y>" })
--- Keys that start Insert mode.
local INSERT_KEYS = { "i", "a", "o", "I", "A", "O" }

local map_keys

---@param chooser rat.Chooser
---@return integer? index of the selected item
local function selected(chooser)
  local index = vim.api.nvim_win_get_cursor(chooser.win)[1] - chooser.head
  if index < 1 or chooser.out_of_range or (chooser.by_number and index ~= chooser.typed) then
    return nil
  end
  return index
end

--- Highlights the cursor line only where `<CR>` would choose it.
---@param chooser rat.Chooser
local function highlight(chooser)
  if chooser.by_number and vim.api.nvim_win_is_valid(chooser.win) then
    window_options.set(chooser.win, { cursorline = selected(chooser) ~= nil })
  end
end

---@param chooser rat.Chooser
---@param number? integer
local function select_number(chooser, number)
  chooser.typed, chooser.typed_at = number, number and vim.uv.now() or nil
  highlight(chooser)
  if chooser.hinted then
    chooser.hinted = nil
    float.set_title(chooser.win, { footer = chooser_layout.footer(chooser.count) })
  end
end

--- Handles a digit: `1` selects the first item, and `2` after it the twelfth if there are that many, else the second.
---@param chooser rat.Chooser
---@param digit integer
local function type_digit(chooser, digit)
  local row = vim.api.nvim_win_get_cursor(chooser.win)[1]
  local follows = chooser.typed
    and row == chooser.head + chooser.typed
    and vim.uv.now() - chooser.typed_at < NUMBER_MS
  if not follows then
    chooser.row_before = row
  end
  local number = (follows and chooser.typed or 0) * 10 + digit
  number = number <= chooser.count and number or digit
  chooser.out_of_range = number < 1 or number > chooser.count
  if not chooser.out_of_range then
    vim.api.nvim_win_set_cursor(chooser.win, { chooser.head + number, 0 })
  end
  select_number(chooser, not chooser.out_of_range and number or nil)
end

--- Moves the cursor. A number typed before is the count of the move.
---@param chooser rat.Chooser
---@param key string
local function move(chooser, key)
  local count = chooser.typed or 1
  if chooser.typed then
    vim.api.nvim_win_set_cursor(chooser.win, {
      chooser.row_before --[[@as integer]],
      0,
    })
  end
  chooser.out_of_range = nil
  select_number(chooser, nil)
  vim.cmd.normal({ count .. vim.keycode(key), bang = true })
end

--- Handles a key that was typed for something else: clears the selection and ignores keys until the user pauses.
---@param chooser rat.Chooser
local function clear_and_hold(chooser)
  vim.api.nvim_win_set_cursor(chooser.win, { math.max(1, chooser.head), 0 })
  select_number(chooser, nil)
  auto_open.hold_keys({ chooser.buf }, function()
    map_keys(chooser)
  end)
end

--- Maps every key: moves move, and other keys clear the selection. Keys mapped afterwards override these.
---@param chooser rat.Chooser
---@param map fun(lhs: string, action: fun())
local function map_careful(chooser, map)
  for _, lhs in ipairs(auto_open.all_keys()) do
    if not vim.list_contains(OTHER_MOVES, lhs) then
      map(lhs, function()
        clear_and_hold(chooser)
      end)
    end
  end
  for _, lhs in ipairs(MOVES) do
    map(lhs, function()
      move(chooser, lhs)
    end)
  end
end

---@param chooser rat.Chooser
function map_keys(chooser)
  local function map(lhs, action)
    vim.keymap.set("n", lhs, action, { buffer = chooser.buf, nowait = true })
  end
  if chooser.opts.careful then
    map_careful(chooser, map)
  end
  local function choose_selected()
    local index = selected(chooser)
    if index then
      chooser.answer(index)
    else
      chooser.hinted = true
      local footer = chooser_layout.hint(chooser.count, chooser.by_number)
      float.set_title(chooser.win, { footer = footer })
    end
  end
  map("<CR>", choose_selected)
  map("<2-LeftMouse>", function()
    -- A double click on an item cannot have been meant for something else.
    local index = vim.api.nvim_win_get_cursor(chooser.win)[1] - chooser.head
    if index > 0 then
      chooser.answer(index)
    end
  end)
  for _, lhs in ipairs({ "<Esc>", "q" }) do
    map(lhs, function()
      chooser.answer(nil)
    end)
  end
  map("<C-c>", function()
    repeated_keys.closed()
    chooser.answer(nil)
  end)
  for digit = 0, 9 do
    map(tostring(digit), function()
      type_digit(chooser, digit)
    end)
  end
  for _, lhs in ipairs(chooser.opts.insert_closes and INSERT_KEYS or {}) do
    map(lhs, function()
      chooser.answer(nil)
      vim.api.nvim_feedkeys(lhs, "mi", false)
    end)
  end
  for lhs, action in pairs(chooser.opts.keys or {}) do
    map(lhs, function()
      chooser.answer(nil)
      action()
    end)
  end
end

---@param items any[]
---@param opts rat.SelectOptions
---@return string[]
local function rows_of(items, opts)
  local rows, digits = {}, #tostring(#items)
  for i, item in ipairs(items) do
    rows[i] = (" %" .. digits .. "d  %s"):format(i, one_line((opts.format_item or tostring)(item)))
  end
  return rows
end

--- Applies a new layout after the screen was resized. The selected item stays selected.
---@param chooser rat.Chooser
---@param frame rat.ChooserLayout
local function relayout(chooser, frame)
  local row = vim.api.nvim_win_get_cursor(chooser.win)[1]
  row = row > chooser.head and row - chooser.head + frame.head
    or math.min(row, math.max(1, frame.head))
  scratch.fill(chooser.buf, frame.lines)
  chooser.head = frame.head
  float.move(chooser.win, frame.config)
  chooser_layout.fit_height(chooser.win)
  vim.api.nvim_win_set_cursor(chooser.win, { row, 0 })
end

---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param by_itself boolean
---@return rat.ChooserHandle
local function open_window(items, opts, on_choice, by_itself)
  local rows, back = rows_of(items, opts), vim.api.nvim_get_current_win()
  local chat = registry.of(vim.api.nvim_get_current_buf()) and back or nil
  local function lay_out()
    return chooser_layout.lay_out(opts.prompt, rows, opts.careful == true, chat)
  end
  local frame = lay_out()
  local buf, where, head = list_buffer(frame.lines), frame.config, frame.head
  local holds_keys, footer =
    by_itself or opts.ignore_typeahead == true, chooser_layout.footer(#items)
  -- The footer lists keys, so it is not shown while they are ignored.
  where.footer = not holds_keys and footer or nil
  local win = float.open(buf, where)
  local first = head + ((#rows > 0 and not opts.careful) and 1 or 0)
  vim.api.nvim_win_set_cursor(win, { math.max(1, first), 0 })
  -- Long items are wrapped: the user must be able to read all of what an answer allows.
  local wrapped = { wrap = true, linebreak = true, breakindent = true, breakindentopt = "shift:4" }
  local by_number = by_itself and opts.careful == true
  window_options.set(win, vim.tbl_extend("force", { cursorline = not by_number }, wrapped))
  chooser_layout.fit_height(win)
  local open = true
  local function close()
    open = false
    paste.forget(buf)
    float.close(buf, back)
  end
  local function answer(index)
    if open then
      close()
      on_choice(index and items[index], index)
    end
  end
  ---@type rat.Chooser
  local chooser = {
    buf = buf,
    win = win,
    head = head,
    count = #items,
    opts = opts,
    by_number = by_number,
    answer = answer,
  }
  float.on_resize(win, function()
    relayout(chooser, lay_out())
  end)
  vim.api.nvim_create_autocmd("CursorMoved", {
    buffer = buf,
    callback = function()
      chooser.out_of_range = nil
      highlight(chooser)
    end,
  })
  if holds_keys then
    auto_open.hold_keys({ buf }, function()
      map_keys(chooser)
      float.set_title(win, { footer = footer })
    end)
  else
    map_keys(chooser)
  end
  if opts.typed then
    type_digit(chooser, opts.typed)
  end
  -- What is pasted was meant for where the user came from.
  paste.redirect(buf, answer)
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    callback = function()
      -- A window cannot be closed during WinLeave.
      vim.schedule(answer)
    end,
  })
  local handle = { close = close }
  if opts.opened then
    opts.opened(handle)
  end
  return handle
end

--- Returns a question for a picker, which has one line for it. Some cut the beginning of a longer one, which says what it is
--- about.
---@param prompt string
---@return string
local function shortened(prompt)
  local text = one_line((vim.trim(prompt):gsub("\n", punctuation.own(" · "))))
  local room = math.floor(vim.o.columns / 2)
  if vim.fn.strchars(text) <= room then
    return text
  end
  return vim.fn.strcharpart(text, 0, room - 1) .. punctuation.own("…")
end

--- Asks in the user's own picker.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param by_itself boolean
---@return rat.ChooserHandle
local function open_picker(items, opts, on_choice, by_itself)
  local open, watched = true, picker.watch()
  local shown = vim.list_slice(items)
  if opts.careful and not opts.harmless then
    -- Last, so that the other items have the same numbers as on the card.
    shown[#shown + 1] = LATER
  end
  local labels = {}
  for i, item in ipairs(opts.label and items or {}) do
    labels[item] = opts.label(i)
  end
  local is_meant = by_itself and auto_open.watch_keys()
  --- The chooser that asks again if the answer may not have been meant.
  ---@type rat.ChooserHandle?
  local again
  local question = {
    kind = "rat",
    prompt = shortened(opts.prompt),
    format_item = function(item)
      local text = item == LATER and LATER or (opts.format_item or tostring)(item)
      return one_line((labels[item] or "") .. text)
    end,
  }
  ---@type rat.ChooserHandle
  local handle = {
    close = function()
      if again then
        again.close()
      elseif open then
        open = false
        if is_meant then
          is_meant() -- ends the watch
        end
        picker.close(watched)
      end
    end,
  }
  if opts.opened then
    opts.opened(handle)
  end
  vim.ui.select(shown, question, function(_, index)
    picker.forget(watched)
    if not open then
      return
    end
    open = false
    index = index and index <= #items and index or nil
    if is_meant and not is_meant() and index then
      -- The keys that chose it may have been typed for something else.
      again = open_window(items, opts, on_choice, true)
      return
    end
    on_choice(index and items[index], index)
  end)
  return handle
end

--- Asks now. To be called on the main loop.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice gets nil if the user chose nothing; not called after `close`
---@param by_itself? boolean the user has not just asked for it
---@return rat.ChooserHandle
function M.open(items, opts, on_choice, by_itself)
  local open = is_builtin_select() and open_window or open_picker
  return open(items, opts, on_choice, by_itself == true)
end

--- Asks once the user is idle.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param ready? fun(): boolean a further condition
---@param asked? boolean the user has just asked for it
---@return rat.ChooserHandle
function M.when_idle(items, opts, on_choice, ready, asked)
  local inner
  opts = vim.tbl_extend("force", opts, {
    opened = function(handle)
      inner = handle
    end,
  })
  local wait = idle.when(ready or function()
    return true
  end, function()
    inner = M.open(items, opts, on_choice, not asked)
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
