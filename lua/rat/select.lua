--- Lets the user choose: with their own `vim.ui.select`, or with an equal of the built-in one that does not block.
local idle = require("rat.idle")
local one_line = require("rat.text").one_line

local M = {}

---@class rat.Choice
---@field close fun() takes the question back: no answer comes any more

---@class rat.SelectOptions
---@field prompt string the question
---@field format_item? fun(item: any): string
---@field careful? boolean an answer has consequences: none is selected at first

---@alias rat.OnChoice fun(item: any?, index: integer?)

local FOOTER = " <CR> choose · <Esc> close "

--- What a careful question begins with in the user's own picker, which selects what stands first.
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
---@field head integer rows of the question
---@field count integer answers
---@field careful boolean digits select, and only `<CR>` chooses
---@field answer fun(index: integer?)

---@param one rat.OpenChoice
local function map_keys(one)
  local function map(lhs, action)
    vim.keymap.set("n", lhs, action, { buffer = one.buf, nowait = true })
  end
  local function take()
    local index = vim.api.nvim_win_get_cursor(0)[1] - one.head
    if index > 0 then
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
  for digit = 1, math.min(one.count, 9) do
    map(tostring(digit), function()
      if one.careful then
        vim.api.nvim_win_set_cursor(0, { one.head + digit, 0 })
      else
        one.answer(digit)
      end
    end)
  end
end

---@param items any[]
---@param opts rat.SelectOptions
---@return string[]
local function rows_of(items, opts)
  local rows = {}
  for i, item in ipairs(items) do
    local number = i <= 9 and tostring(i) or " "
    rows[i] = (" %s  %s"):format(number, one_line((opts.format_item or tostring)(item)))
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
  require("rat.dress").set(win, { cursorline = true, wrap = false })
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
  local one = {
    buf = buf,
    head = #head,
    count = #items,
    careful = opts.careful == true,
    answer = answer,
  }
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
  return { close = close }
end

--- Asks with the user's own picker.
---@param items any[]
---@param opts rat.SelectOptions
---@param on_choice rat.OnChoice
---@param by_itself boolean
---@return rat.Choice
local function open_theirs(items, opts, on_choice, by_itself)
  local open, picker = true, require("rat.picker").before()
  local shift = opts.careful and 1 or 0
  local shown = vim.list_extend(opts.careful and { LATER } or {}, items)
  local is_meant = by_itself and require("rat.attention").watch_pause()
  ---@type rat.Choice?
  local again
  local question = {
    kind = "rat",
    prompt = one_line(opts.prompt),
    format_item = function(item)
      return item == LATER and LATER or one_line((opts.format_item or tostring)(item))
    end,
  }
  vim.ui.select(shown, question, function(_, index)
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
  return {
    close = function()
      if again then
        again.close()
      elseif open then
        open = false
        require("rat.picker").close(picker)
      end
    end,
  }
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
