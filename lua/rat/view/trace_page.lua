--- The page of the traffic with an agent: one line for each message, folded with its JSON, and with the answer if it is a
--- request. New traffic is appended as it comes. Which messages these are is decided by the binary.
local names = require("rat.chat.names")
local page = require("rat.view.page")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

--- Messages by the extmarks on their lines.
local MESSAGES = api.nvim_create_namespace("rat.trace")
local HIGHLIGHTS = api.nvim_create_namespace("rat.trace.highlights")

--- With more lines the oldest messages are removed, until fewer are left.
local MAX_LINES, KEPT_LINES = 20000, 15000

--- How long the next piece is waited with, in milliseconds: while the page fills, and for new traffic.
local FILLING, FOLLOWING = 10, 100

--- Columns of the time in a line.
local TIME_COLUMNS = 9

---@class rat.TracePage
---@field marks table<integer, integer> extmarks by the numbers of messages
---@field numbers table<integer, integer> the reverse
---@field timer uv.uv_timer_t asks for the next piece
---@field rows table<integer, integer> how many rows follow the line of a message, by extmark

---@type table<integer, rat.TracePage> by buffer
local pages = {}

---@param win integer
---@param commands string[]
local function run(win, commands)
  if #commands > 0 then
    api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      vim.cmd(table.concat(commands, "|"))
      vim.fn.winrestview(view)
    end)
  end
end

---@param shown rat.TracePage
---@param mark integer
---@param row integer
---@return string? command
local function fold_command(shown, mark, row)
  local rows = shown.rows[mark]
  return rows and rows > 0 and ("%d,%dfold"):format(row + 1, row + 1 + rows) or nil
end

--- Folds belong to windows: creates all of them in one that has just shown the page.
---@param buf integer
---@param win integer
local function enter_window(buf, win)
  window_options.set(win, {
    foldmethod = "manual",
    foldenable = true,
    foldlevel = 0,
    foldtext = "",
    foldcolumn = "0",
    fillchars = window_options.fillchars("fold: "),
  })
  local commands = { "normal! zE" }
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, MESSAGES, 0, -1, {})) do
    commands[#commands + 1] = fold_command(pages[buf], mark[1], mark[2])
  end
  run(win, commands)
end

--- Returns the windows whose cursor is at the end of the page.
---@param buf integer
---@return integer[]
local function followers(buf)
  local last = api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    return api.nvim_win_call(win, function()
      return vim.fn.line(".") == last or vim.fn.foldclosedend(".") == last
    end)
  end, vim.fn.win_findbuf(buf))
end

---@param buf integer
---@param row integer
local function highlight(buf, row)
  api.nvim_buf_set_extmark(buf, HIGHLIGHTS, row, 0, {
    end_col = TIME_COLUMNS,
    hl_group = "Comment",
    strict = false,
  })
end

--- Appends text to a line.
---@param buf integer
---@param row integer
---@param text string[]
local function extend_line(buf, row, text)
  local line = api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_text(buf, row, #line, row, #line, text)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

--- Adds an answer to the fold of its request.
---@param buf integer
---@param shown rat.TracePage
---@param item rat.msg.Item
---@return boolean added
local function add_answer(buf, shown, item)
  local mark = shown.marks[item.request]
  local row = mark and api.nvim_buf_get_extmark_by_id(buf, MESSAGES, mark, {})[1]
  if not row then
    return false
  end
  local last = row + shown.rows[mark]
  local wins, open = vim.fn.win_findbuf(buf), {}
  for _, win in ipairs(wins) do
    open[win] = api.nvim_win_call(win, function()
      return vim.fn.foldlevel(row + 1) > 0 and vim.fn.foldclosed(row + 1) == -1
    end)
    if shown.rows[mark] > 0 then
      run(win, { ("silent! keepjumps normal! %dGzD"):format(row + 1) })
    end
  end
  -- Lines inserted with `nvim_buf_set_lines()` would go into the fold that follows.
  extend_line(buf, last, vim.list_extend({ "" }, item.body))
  extend_line(buf, row, { item.answered or "" })
  shown.rows[mark] = shown.rows[mark] + #item.body
  for _, win in ipairs(wins) do
    local command = fold_command(shown, mark, row)
    run(win, { command, open[win] and ("%dfoldopen"):format(row + 1) or nil })
  end
  return true
end

--- Appends messages in one step.
---@param buf integer
---@param shown rat.TracePage
---@param items rat.msg.Item[]
local function append(buf, shown, items)
  if #items == 0 then
    return
  end
  local lines, starts = {}, {}
  local first = scratch.is_empty(buf) and 0 or api.nvim_buf_line_count(buf)
  for index, item in ipairs(items) do
    starts[index] = first + #lines
    lines[#lines + 1] = item.line
    vim.list_extend(lines, item.body)
  end
  scratch.splice(buf, first, -1, lines)
  local commands = {}
  for index, item in ipairs(items) do
    local mark = api.nvim_buf_set_extmark(buf, MESSAGES, starts[index], 0, {})
    shown.rows[mark] = #item.body
    if item.number > 0 then
      shown.marks[item.number], shown.numbers[mark] = mark, item.number
      highlight(buf, starts[index])
    end
    commands[#commands + 1] = fold_command(shown, mark, starts[index])
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    run(win, commands)
  end
end

--- Removes the oldest messages if there are too many lines.
---@param buf integer
---@param shown rat.TracePage
local function trim(buf, shown)
  local count = api.nvim_buf_line_count(buf)
  if count <= MAX_LINES then
    return
  end
  local from = { count - KEPT_LINES, 0 }
  local kept = api.nvim_buf_get_extmarks(buf, MESSAGES, from, -1, { limit = 1 })[1]
  if not kept or kept[2] == 0 then
    return
  end
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, MESSAGES, 0, { kept[2] - 1, -1 }, {})) do
    local number = shown.numbers[mark[1]]
    if number then
      shown.marks[number] = nil
    end
    shown.numbers[mark[1]], shown.rows[mark[1]] = nil, nil
  end
  api.nvim_buf_clear_namespace(buf, MESSAGES, 0, kept[2])
  api.nvim_buf_clear_namespace(buf, HIGHLIGHTS, 0, kept[2])
  scratch.splice(buf, 0, kept[2], {})
end

---@param chat integer
---@param name string
---@return integer buf
local function make(chat, name)
  local buf = scratch.make(name, "")
  vim.bo[buf].bufhidden = "wipe"
  api.nvim_create_autocmd("BufWinEnter", {
    buffer = buf,
    desc = "rat: fold the traffic in another window",
    callback = function()
      enter_window(buf, api.nvim_get_current_win())
    end,
  })
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      if pages[buf] then
        pages[buf].timer:close()
        pages[buf] = nil
      end
      rpc.notify("trace", { chat = chat, act = "close" })
    end,
  })
  return buf
end

--- Empties the page, or opens it.
---@param payload rat.msg.Trace
---@param name string
---@return integer buf
local function reset(payload, name)
  local buf = scratch.find(name)
  if not buf or not pages[buf] then
    buf = make(payload.chat, name)
  end
  local timer = pages[buf] and pages[buf].timer or assert(vim.uv.new_timer())
  timer:stop()
  pages[buf] = { marks = {}, numbers = {}, rows = {}, timer = timer }
  api.nvim_buf_clear_namespace(buf, MESSAGES, 0, -1)
  api.nvim_buf_clear_namespace(buf, HIGHLIGHTS, 0, -1)
  scratch.fill(buf, {})
  page.open(buf, payload.title, { focus = payload.focus, wrap = true })
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    enter_window(buf, win)
  end
  return buf
end

--- Handles a piece of the page.
---@param payload rat.msg.Trace
function M.arrived(payload)
  local chat = registry.get(payload.chat)
  if not chat then
    return
  end
  local name = names.page(chat, "trace")
  local buf = scratch.find(name)
  if not payload.reset and not (buf and pages[buf]) then
    return
  end
  if payload.reset then
    buf = reset(payload, name)
  end
  ---@cast buf integer
  local shown, followed, items = pages[buf], followers(buf), {}
  -- Before it is shown: if that fails, the page would stand still.
  local ask = vim.schedule_wrap(function()
    if pages[buf] == shown then
      rpc.notify("trace", { chat = payload.chat, act = "more" })
    end
  end)
  shown.timer:start(payload.more and FILLING or FOLLOWING, 0, ask)
  for _, item in ipairs(payload.items) do
    -- An answer may come in the same piece as its request.
    if item.request then
      append(buf, shown, items)
      items = {}
    end
    if not (item.request and add_answer(buf, shown, item)) then
      items[#items + 1] = item
    end
  end
  append(buf, shown, items)
  trim(buf, shown)
  for _, win in ipairs(followed) do
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  end
end

return M
