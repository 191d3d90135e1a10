--- Applies the binary's drawing operations to view buffers. It is the only module that writes to them.
local autoscroll = require("rat.view.autoscroll")
local code = require("rat.view.code")
local decoration = require("rat.view.decoration")
local fold = require("rat.view.fold")
local line_format = require("rat.view.line_format")
local margin = require("rat.view.margin")
local registry = require("rat.chat.registry")
local text_mode = require("rat.view.text_mode")

local api = vim.api

local M = {}

--- Neovim 0.10 moves a fold that begins above a row when `nvim_buf_set_text()` splits that row into several.
local SET_TEXT_MOVES_FOLDS = vim.fn.has("nvim-0.11") == 0

---@type table<integer, true> buffers that nothing has been drawn in yet
local undrawn = {}

--- Drawing operations by the letter that names them in a message.
local ops = {}

--- Replaces rows.
function ops.l(buf, first, last, lines, formats, prefixes)
  if text_mode.is_on() then
    lines, formats = text_mode.apply(lines, formats, prefixes)
    prefixes = {}
  end
  if undrawn[buf] then
    -- An empty buffer has one line, which is replaced.
    undrawn[buf] = nil
    last = last + 1
  end
  line_format.splice(buf, first, last, formats)
  if last > first then
    margin.clear(buf, first, last)
  end
  api.nvim_buf_set_lines(buf, first, last, false, lines)
  margin.set(buf, first, prefixes, decoration.group)
end

--- Appends to a row.
function ops.t(buf, row, col, pieces, formats)
  line_format.splice(buf, row, row + 1, formats)
  if SET_TEXT_MOVES_FOLDS and #pieces > 1 then
    api.nvim_buf_set_text(buf, row, col, row, col, { pieces[1] })
    return api.nvim_buf_set_lines(buf, row + 1, row + 1, false, vim.list_slice(pieces, 2))
  end
  api.nvim_buf_set_text(buf, row, col, row, col, pieces)
end

--- Changes the formats of rows.
function ops.s(buf, row, formats)
  line_format.splice(buf, row, row + #formats, formats)
  line_format.redraw(buf, row, row + #formats)
end

--- Empties the buffer.
function ops.r(buf)
  margin.clear(buf, 0, -1)
  fold.clear(buf)
  line_format.reset(buf)
  api.nvim_buf_set_lines(buf, 0, -1, false, {})
  undrawn[buf] = true
end

--- Sets 'modifiable' without triggering OptionSet, since this happens with each frame.
---@param buf integer
---@param on 0|1
local function set_modifiable(buf, on)
  vim.cmd(("noautocmd call setbufvar(%d, '&modifiable', %d)"):format(buf, on))
end

--- Views of windows (|winsaveview()|) whose buffer is being drawn again from the start, by buffer and window. Each is
--- restored once the buffer has as many rows again.
---@type table<integer, table<integer, table>>
local saved_views = {}

---@param buf integer
---@param wins integer[]
---@param following integer[]
local function save_views(buf, wins, following)
  saved_views[buf] = {}
  for _, win in ipairs(wins) do
    if not vim.list_contains(following, win) then
      saved_views[buf][win] = api.nvim_win_call(win, vim.fn.winsaveview)
    end
  end
end

---@param buf integer
local function restore_views(buf)
  for win, view in pairs(saved_views[buf] or {}) do
    if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) ~= buf then
      saved_views[buf][win] = nil
    elseif view.lnum <= api.nvim_buf_line_count(buf) then
      saved_views[buf][win] = nil
      api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

--- Returns the number of lines of a buffer and its size in bytes.
---@param buf integer
---@return integer lines
---@return integer bytes
local function extent(buf)
  local lines = api.nvim_buf_line_count(buf)
  return lines, api.nvim_buf_get_offset(buf, lines)
end

--- Applies drawing operations to the buffer of a view.
---@param payload {chat: integer, view: rat.View, ops: any[][]}
function M.draw(payload)
  local buf = registry.loaded_buffer(payload.chat, payload.view)
  if not buf then
    return -- The binary draws the whole view once its buffer exists again.
  end
  local wins = vim.fn.win_findbuf(buf)
  local following = payload.view == "chat" and autoscroll.following_windows(buf, wins) or {}
  local first = payload.ops[1]
  if first and first[1] == "r" and not undrawn[buf] then
    save_views(buf, wins, following)
  end
  local lines_before, bytes_before = extent(buf)
  local has_folded = false
  set_modifiable(buf, 1)
  local ok, problem = pcall(function()
    for _, op in ipairs(payload.ops) do
      if op[1] == "f" then
        has_folded = true
        fold.add(buf, op[2], op[3], wins)
      else
        ops[op[1]](buf, unpack(op, 2))
      end
    end
  end)
  set_modifiable(buf, 0)
  fold.repair(buf, wins)
  local last, bytes = extent(buf)
  for _, win in ipairs(following) do
    if not (saved_views[buf] and saved_views[buf][win]) then
      autoscroll.put_at_end(win)
    end
  end
  restore_views(buf)
  -- With fewer screen lines, there may be empty ones below the end of the text.
  if has_folded or last < lines_before or bytes < bytes_before then
    autoscroll.fill_windows(following)
  end
  if not ok then
    error(problem, 0)
  end
end

--- What a card of a request says once nobody waits for the answer, by the action of its rows: what the binary draws too.
local OVER = { permission = "not answered", form = "cancelled before you answered" }

--- Takes the answers from the cards of requests that nobody waits for, since the binary has exited.
---@param buf integer
function M.withdraw_requests(buf)
  if undrawn[buf] then
    return
  end
  local is_request = false
  set_modifiable(buf, 1)
  for row = api.nvim_buf_line_count(buf) - 1, 0, -1 do
    local action, class = line_format.action(buf, row), line_format.class(buf, row)
    local text = action and OVER[action.kind]
    if text and not is_request then
      is_request = true
      ops.l(buf, row, row + 1, { "    " .. text }, { "n|||" }, { 0, "  └ ", "N" })
    elseif text and class == "o" then
      ops.l(buf, row, row + 1, {}, {}, {})
    elseif text then
      ops.s(buf, row, { (line_format.raw(buf, row):gsub("|[PF]%d+|", "||", 1)) })
    end
    if class == "x" then
      if is_request and not text_mode.is_on() then
        margin.clear(buf, row, row + 1)
        margin.set(buf, row, { 0, "⊘ ", "N" }, decoration.group)
      end
      is_request = false
    end
  end
  set_modifiable(buf, 0)
  fold.repair(buf, vim.fn.win_findbuf(buf))
end

--- Prepares an empty buffer for drawing.
---@param buf integer
function M.attach(buf)
  undrawn[buf] = true
  decoration.attach(buf)
  code.warm()
end

--- Returns what <CR> on a row does; see `line_format.action`.
---@param buf integer
---@param row integer from 0
---@return rat.Action?
function M.action(buf, row)
  return line_format.action(buf, row)
end

--- Returns the next or previous row with a header, which begins a message.
---@param buf integer
---@param row integer from 0
---@param direction 1|-1
---@return integer? row
function M.next_header(buf, row, direction)
  local last = api.nvim_buf_line_count(buf) - 1
  local at = row + direction
  while at >= 0 and at <= last do
    if line_format.class(buf, at) == "H" then
      return at
    end
    at = at + direction
  end
end

return M
