--- Lets the user choose: with their own `vim.ui.select`, or with an equal of the built-in one that does not block.
local idle = require("rat.idle")
local one_line = require("rat.text").one_line

local M = {}

---@class rat.Choice
---@field close fun() takes the question back: no answer comes any more

---@class rat.SelectOptions
---@field prompt string the question
---@field format_item? fun(item: any): string
---@field careful? boolean an answer has consequences: none is selected at first, and a stray key clears the selection
---@field harmless? boolean the first answer changes nothing
---@field held? boolean it follows another question: keys on their way were typed for that one
---@field leaves? boolean the keys that begin to write close it and go where the user came from
---@field keys? table<string, fun()> keys of its own; they close it first
---@field opened? fun(choice: rat.Choice) called before a picker opens: some return only once they are answered
---@field label? fun(index: integer): string what stands before an answer in the user's own picker

---@alias rat.OnChoice fun(item: any?, index: integer?)

--- How long after a digit the next one is a part of the same number, in milliseconds.
local NUMBER_MS = 1000

--- What a careful question ends with in the user's own picker, unless an answer is harmless.
local LATER = "Decide later"

---@param count integer answers
---@return string
local function footer_for(count)
  local numbers = count > 1 and ("1-%d"):format(count) or "1"
  return (" %s · <CR> choose · <Esc> close "):format(numbers)
end

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
  local footer = footer_for(#lines)
  if require("rat.chat").of(vim.api.nvim_get_current_buf()) then
    return math.max(1, vim.api.nvim_win_get_width(0) - 2)
  end
  local width = math.max(vim.fn.strdisplaywidth(title), vim.fn.strdisplaywidth(footer))
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
    title = title,
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

---@class rat.OpenChoice
---@field buf integer
---@field win integer
---@field head integer rows of the question
---@field count integer answers
---@field opts rat.SelectOptions
---@field by_number boolean only a number selects: moving is for reading
---@field typed? integer the number typed so far
---@field typed_at? integer when, in milliseconds
---@field before? integer the row before it was typed
---@field none? boolean a number was typed that there is no answer of
---@field hinted? boolean the frame says what is missing
---@field answer fun(index: integer?)

--- Keys that move in a careful chooser; every other one was typed for something else.
local MOVES = { "j", "k", "<Down>", "<Up>" }
local OTHER_MOVES = { "G", "g", ":", "<PageUp>", "<PageDown>", "<C-w>" }
vim.list_extend(OTHER_MOVES, { "<C-d>", "<C-u>", "<C-e>", "<C-y>" })
--- Keys that begin to write.
local WRITING = { "i", "a", "o", "I", "A", "O" }

local map_keys

---@param one rat.OpenChoice
---@return integer? index of the answer that is selected
local function selected(one)
  local index = vim.api.nvim_win_get_cursor(one.win)[1] - one.head
  if index < 1 or one.none or (one.by_number and index ~= one.typed) then
    return nil
  end
  return index
end

--- What is highlighted is what `<CR>` chooses.
---@param one rat.OpenChoice
local function highlight(one)
  if one.by_number and vim.api.nvim_win_is_valid(one.win) then
    require("rat.dress").set(one.win, { cursorline = selected(one) ~= nil })
  end
end

---@param one rat.OpenChoice
---@param number? integer
local function select_number(one, number)
  one.typed, one.typed_at = number, number and vim.uv.now() or nil
  highlight(one)
  if one.hinted then
    one.hinted = nil
    require("rat.float").name(one.win, { footer = footer_for(one.count) })
  end
end

--- A digit selects: `1` and then `2` the twelfth, where there are so many.
---@param one rat.OpenChoice
---@param digit integer
local function type_digit(one, digit)
  local row = vim.api.nvim_win_get_cursor(one.win)[1]
  local follows = one.typed
    and row == one.head + one.typed
    and vim.uv.now() - one.typed_at < NUMBER_MS
  if not follows then
    one.before = row
  end
  local number = (follows and one.typed or 0) * 10 + digit
  number = number <= one.count and number or digit
  one.none = number < 1 or number > one.count
  if not one.none then
    vim.api.nvim_win_set_cursor(one.win, { one.head + number, 0 })
  end
  select_number(one, not one.none and number or nil)
end

--- A move after a number has that for its count, as everywhere.
---@param one rat.OpenChoice
---@param key string
local function move(one, key)
  local count = one.typed or 1
  if one.typed then
    vim.api.nvim_win_set_cursor(one.win, { one.before, 0 })
  end
  one.none = nil
  select_number(one, nil)
  vim.cmd.normal({ count .. vim.keycode(key), bang = true })
end

--- Keys follow that were typed for something else: nothing is selected, and they are held back until the user pauses.
---@param one rat.OpenChoice
local function stray(one)
  vim.api.nvim_win_set_cursor(one.win, { math.max(1, one.head), 0 })
  select_number(one, nil)
  require("rat.attention").hold_keys({ one.buf }, function()
    map_keys(one)
  end)
end

---@param one rat.OpenChoice
---@param map fun(lhs: string, action: fun())
local function map_careful(one, map)
  for _, lhs in ipairs(require("rat.attention").all_keys()) do
    if not vim.list_contains(OTHER_MOVES, lhs) then
      map(lhs, function()
        stray(one)
      end)
    end
  end
  for _, lhs in ipairs(MOVES) do
    map(lhs, function()
      move(one, lhs)
    end)
  end
end

---@param one rat.OpenChoice
function map_keys(one)
  local function map(lhs, action)
    vim.keymap.set("n", lhs, action, { buffer = one.buf, nowait = true })
  end
  if one.opts.careful then
    map_careful(one, map)
  end
  local function take()
    local index = selected(one)
    if index then
      one.answer(index)
    elseif one.by_number then
      one.hinted = true
      require("rat.float").name(one.win, { footer = " type the answer's number first " })
    end
  end
  map("<CR>", take)
  map("<2-LeftMouse>", function()
    -- No key goes astray to a place on the screen.
    local index = vim.api.nvim_win_get_cursor(one.win)[1] - one.head
    if index > 0 then
      one.answer(index)
    end
  end)
  for _, lhs in ipairs({ "<Esc>", "q", "<C-c>" }) do
    map(lhs, function()
      one.answer(nil)
    end)
  end
  for digit = 0, 9 do
    map(tostring(digit), function()
      type_digit(one, digit)
    end)
  end
  for _, lhs in ipairs(one.opts.leaves and WRITING or {}) do
    map(lhs, function()
      one.answer(nil)
      vim.api.nvim_feedkeys(lhs, "mi", false)
    end)
  end
  for lhs, action in pairs(one.opts.keys or {}) do
    map(lhs, function()
      one.answer(nil)
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

--- A question too long for the frame stands whole above its answers, and so does one without a selected answer, where the
--- cursor begins. Of a very long one there is the beginning.
---@param question string
---@param width integer
---@param careful boolean
---@return string[]
local function head_of(question, width, careful)
  if not careful and vim.fn.strdisplaywidth(one_line(question)) + 2 <= width then
    return {}
  end
  local rows = {}
  for _, line in ipairs(vim.split(question, "\n", { plain = true })) do
    vim.list_extend(rows, require("rat.text").wrap(one_line(line), width - 2))
  end
  local most = math.max(1, math.floor(vim.o.lines / 2))
  if #rows > most then
    rows = vim.list_slice(rows, 1, most)
    rows[most] = "… all of it is in the chat"
  end
  return vim.tbl_map(function(row)
    return " " .. row
  end, rows)
end

---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param by_itself boolean
---@return rat.Choice
local function open_own(items, opts, on_choice, by_itself)
  local rows = rows_of(items, opts)
  local title = " " .. one_line(opts.prompt) .. " "
  local width = width_for(rows, title)
  local head = head_of(opts.prompt, width, opts.careful == true)
  local buf = list_buffer(vim.list_extend(vim.list_slice(head), rows))
  local back = vim.api.nvim_get_current_win()
  local where = place(#head + #rows, width, #head == 0 and title or nil)
  local held, footer = by_itself or opts.held == true, footer_for(#items)
  -- What waits for a pause takes no keys, and so names none.
  where.footer = not held and footer or nil
  local win = require("rat.float").open(buf, where)
  local first = #head + ((#rows > 0 and not opts.careful) and 1 or 0)
  vim.api.nvim_win_set_cursor(win, { math.max(1, first), 0 })
  -- What an answer allows is readable to its end.
  local wrapped = { wrap = true, linebreak = true, breakindent = true, breakindentopt = "shift:4" }
  local by_number = by_itself and opts.careful == true
  require("rat.dress").set(win, vim.tbl_extend("force", { cursorline = not by_number }, wrapped))
  local height = math.min(vim.api.nvim_win_text_height(win, {}).all, math.max(1, vim.o.lines - 6))
  vim.api.nvim_win_set_height(win, height)
  local open = true
  local function close()
    open = false
    require("rat.float").close(buf, back)
  end
  local function answer(index)
    if open then
      close()
      on_choice(index and items[index], index)
    end
  end
  ---@type rat.OpenChoice
  local one = { buf = buf, win = win, head = #head, count = #items, opts = opts, answer = answer }
  one.by_number = by_number
  vim.api.nvim_create_autocmd("CursorMoved", {
    buffer = buf,
    callback = function()
      one.none = nil
      highlight(one)
    end,
  })
  if held then
    require("rat.attention").hold_keys({ buf }, function()
      map_keys(one)
      require("rat.float").name(win, { footer = footer })
    end)
  else
    map_keys(one)
  end
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    callback = function()
      -- A window cannot be closed while it is being left.
      vim.schedule(answer)
    end,
  })
  local choice = { close = close }
  if opts.opened then
    opts.opened(choice)
  end
  return choice
end

--- Asks with the user's own picker.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param by_itself boolean
---@return rat.Choice
local function open_theirs(items, opts, on_choice, by_itself)
  local open, picker = true, require("rat.picker").watch()
  local shown = vim.list_slice(items)
  if opts.careful and not opts.harmless then
    -- Last, so that the numbers are those of the card.
    shown[#shown + 1] = LATER
  end
  local labels = {}
  for i, item in ipairs(opts.label and items or {}) do
    labels[item] = opts.label(i)
  end
  local is_meant = by_itself and require("rat.attention").watch_keys()
  ---@type rat.Choice?
  local again
  local question = {
    kind = "rat",
    prompt = one_line(opts.prompt),
    format_item = function(item)
      local text = item == LATER and LATER or (opts.format_item or tostring)(item)
      return one_line((labels[item] or "") .. text)
    end,
  }
  ---@type rat.Choice
  local choice = {
    close = function()
      if again then
        again.close()
      elseif open then
        open = false
        if is_meant then
          is_meant() -- ends its watch
        end
        require("rat.picker").close(picker)
      end
    end,
  }
  if opts.opened then
    opts.opened(choice)
  end
  vim.ui.select(shown, question, function(_, index)
    require("rat.picker").forget(picker)
    if not open then
      return
    end
    open = false
    index = index and index <= #items and index or nil
    if is_meant and not is_meant() and index then
      -- It was chosen by keys that may have been typed for something else.
      again = open_own(items, opts, on_choice, true)
      return
    end
    on_choice(index and items[index], index)
  end)
  return choice
end

--- Asks now. Call it from the main loop.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice nil where the user chose nothing; not called after `close`
---@param by_itself? boolean the user has not just asked for it
---@return rat.Choice
function M.open(items, opts, on_choice, by_itself)
  return (built_in() and open_own or open_theirs)(items, opts, on_choice, by_itself == true)
end

--- Asks once the user types nothing.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param ready? fun(): boolean a further condition
---@param asked? boolean the user has just asked for it
---@return rat.Choice
function M.when_idle(items, opts, on_choice, ready, asked)
  local inner
  opts = vim.tbl_extend("force", opts, {
    opened = function(choice)
      inner = choice
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
