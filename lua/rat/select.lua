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
---@field leaves? boolean the keys that begin to write close it and go where the user came from
---@field keys? table<string, fun()> keys of its own; they close it first
---@field opened? fun(choice: rat.Choice) called before a picker opens: some return only once they are answered
---@field label? fun(index: integer): string what stands before an answer in the user's own picker

---@alias rat.OnChoice fun(item: any?, index: integer?)

local FOOTER = " <CR> choose · <Esc> close "

--- What a careful question begins with in the user's own picker, which selects what stands first, unless that is
--- harmless.
local LATER = "Decide later"

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
---@field typed? integer the number typed so far
---@field none? boolean a number was typed that there is no answer of
---@field answer fun(index: integer?)

--- Keys that move in a careful chooser; every other one was typed for something else.
local MOVES = { "j", "k", "G", "g", ":", "<Up>", "<Down>", "<PageUp>", "<PageDown>", "<C-w>" }
vim.list_extend(MOVES, { "<C-d>", "<C-u>", "<C-e>", "<C-y>" })
--- Keys that begin to write.
local WRITING = { "i", "a", "o", "I", "A", "O" }

local map_keys

--- A digit selects: `1` and then `2` the twelfth, where there are so many.
---@param one rat.OpenChoice
---@param digit integer
local function type_digit(one, digit)
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local before = one.typed and row == one.head + one.typed and one.typed or 0
  local number = before * 10 + digit
  number = number <= one.count and number or digit
  one.none = number < 1 or number > one.count
  one.typed = not one.none and number or nil
  if one.typed then
    vim.api.nvim_win_set_cursor(0, { one.head + number, 0 })
  end
end

--- Keys follow that were typed for something else: nothing is selected, and they are held back until the user pauses.
---@param one rat.OpenChoice
local function stray(one)
  one.typed = nil
  vim.api.nvim_win_set_cursor(0, { math.max(1, one.head), 0 })
  require("rat.attention").hold_keys({ one.buf }, function()
    map_keys(one)
  end)
end

---@param one rat.OpenChoice
function map_keys(one)
  local function map(lhs, action)
    vim.keymap.set("n", lhs, action, { buffer = one.buf, nowait = true })
  end
  if one.opts.careful then
    for _, lhs in ipairs(require("rat.attention").all_keys()) do
      if not vim.list_contains(MOVES, lhs) then
        map(lhs, function()
          stray(one)
        end)
      end
    end
  end
  local function take()
    local index = vim.api.nvim_win_get_cursor(0)[1] - one.head
    if index > 0 and not one.none then
      one.answer(index)
    end
  end
  map("<CR>", take)
  map("<2-LeftMouse>", take)
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
  -- What waits for a pause takes no keys, and so names none.
  where.footer = not by_itself and FOOTER or nil
  local win = require("rat.float").open(buf, where)
  local first = #head + ((#rows > 0 and not opts.careful) and 1 or 0)
  vim.api.nvim_win_set_cursor(win, { math.max(1, first), 0 })
  -- What an answer allows is readable to its end.
  local wrapped = { wrap = true, linebreak = true, breakindent = true, breakindentopt = "shift:4" }
  require("rat.dress").set(win, vim.tbl_extend("force", { cursorline = true }, wrapped))
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
  vim.api.nvim_create_autocmd("CursorMoved", {
    buffer = buf,
    callback = function()
      one.none = nil
    end,
  })
  if by_itself then
    require("rat.attention").hold_keys({ buf }, function()
      map_keys(one)
      require("rat.float").name(win, { footer = FOOTER })
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
  local later = opts.careful and not opts.harmless
  local shift = later and 1 or 0
  local shown = vim.list_extend(later and { LATER } or {}, items)
  local labels = {}
  for i, item in ipairs(opts.label and items or {}) do
    labels[item] = opts.label(i)
  end
  local is_meant = by_itself and require("rat.attention").watch_pause()
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
    index = index and index > shift and index - shift or nil
    if is_meant and not is_meant() and index then
      -- It was chosen by keys that were typed for something else.
      again = M.open(items, opts, on_choice, true)
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
