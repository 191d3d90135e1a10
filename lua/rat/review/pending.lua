--- Shows in the user's files what agents have changed and nobody has decided on: signs, and moves from hunk to hunk. What is
--- pending is known to the binary, which is told when the text of such a file changes.
local punctuation = require("rat.util.punctuation")
local groups = require("rat.view.groups")
local paths = require("rat.document.paths")
local rpc = require("rat.rpc")
local status = require("rat.chat.status")

local api = vim.api
local M = {}

local NAMESPACE = api.nvim_create_namespace("rat_pending")

--- Below the signs of diagnostics.
local PRIORITY = 8

--- Buffers in which something is or was pending, since undo may bring it back.
---@type table<integer, true>
local watched = {}

--- Signs that are placed at once. More of them would hold up typing.
local SLICE = 500

---@class rat.PendingSigns
---@field hunks integer[] four numbers for each hunk: first row or row after removed ones, rows, rows that it replaces, which one it is
---@field ids integer[] the marks of the hunks
---@field tick integer 'changedtick' when they were placed
---@field timer? uv.uv_timer_t while some are still to be placed

--- What is shown, by buffer.
---@type table<integer, rat.PendingSigns>
local shown = {}

--- How many numbers stand for a hunk.
local NUMBERS = 4

---@param hunks integer[]
---@param index integer
---@return integer start
---@return integer count
---@return integer removed
---@return integer id
local function hunk_at(hunks, index)
  local last = NUMBERS * index
  return hunks[last - 3], hunks[last - 2], hunks[last - 1], hunks[last]
end

---@param hunks integer[]
---@return integer
local function count_of(hunks)
  return math.floor(#hunks / NUMBERS)
end

--- Returns the row of the sign of a hunk.
---@param hunks integer[]
---@param index integer
---@param last integer row of the buffer
---@return integer
local function sign_row(hunks, index, last)
  local start, count = hunk_at(hunks, index)
  -- Where lines were only removed, the sign is at the line before them, or at the top.
  return math.min(count == 0 and math.max(start - 1, 0) or start, last)
end

---@param buf integer
---@param hunks integer[]
---@param index integer
---@param last integer row of the buffer
---@param id? integer a mark that is at the wrong place
---@return integer id
local function place_sign(buf, hunks, index, last, id)
  local start, count, removed = hunk_at(hunks, index)
  local is_removal = count == 0
  local group = is_removal and "RatPendingDelete"
    or removed > 0 and "RatPendingChange"
    or "RatPendingAdd"
  -- Also told apart where there are no colours.
  local sign = is_removal and (start == 0 and "▔" or "▁") or removed > 0 and "┇" or "┃"
  local row = sign_row(hunks, index, last)
  return api.nvim_buf_set_extmark(buf, NAMESPACE, row, 0, {
    id = id,
    end_row = is_removal and row or math.min(start + count - 1, last),
    sign_text = punctuation.own(sign),
    sign_hl_group = group,
    number_hl_group = group,
    priority = PRIORITY,
    strict = false,
  })
end

--- Places the signs of hunks from one on, some now and the rest soon.
---@param buf integer
---@param signs rat.PendingSigns
---@param from integer
---@param to integer
local function place(buf, signs, from, to)
  local last = api.nvim_buf_line_count(buf) - 1
  local until_index = math.min(from + SLICE - 1, to)
  for index = from, until_index do
    signs.ids[index] = place_sign(buf, signs.hunks, index, last)
  end
  if until_index == to then
    signs.timer = nil
    return
  end
  local timer = assert(vim.uv.new_timer())
  signs.timer = timer
  local function go_on()
    timer:close()
    -- If the text has changed, other signs are asked for.
    if shown[buf] == signs and api.nvim_buf_get_changedtick(buf) == signs.tick then
      place(buf, signs, until_index + 1, to)
    end
  end
  timer:start(1, 0, vim.schedule_wrap(go_on))
end

--- Removes all signs.
---@param buf integer
local function clear(buf)
  api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  shown[buf] = nil
end

--- Moves the signs that the changes of the text since have not moved to their rows.
---@param buf integer
---@param signs rat.PendingSigns
local function move(buf, signs)
  local last = api.nvim_buf_line_count(buf) - 1
  ---@type table<integer, integer>
  local rows = {}
  for _, found in ipairs(api.nvim_buf_get_extmarks(buf, NAMESPACE, 0, -1, {})) do
    rows[found[1]] = found[2]
  end
  for index, id in pairs(signs.ids) do
    if rows[id] ~= sign_row(signs.hunks, index, last) then
      place_sign(buf, signs.hunks, index, last, id)
    end
  end
end

--- Shows hunks. Only signs that differ from those that are there are placed.
---@param buf integer
---@param hunks integer[]
---@param tick integer
local function show(buf, hunks, tick)
  local old = shown[buf]
  if not old or old.timer then
    clear(buf)
    old = { hunks = {}, ids = {}, tick = tick }
  end
  local count, old_count = count_of(hunks), #old.ids
  local fewer = math.min(count, old_count)
  local function is_same(index, old_index, shift)
    local start, rows, removed = hunk_at(hunks, index)
    local old_start, old_rows, old_removed = hunk_at(old.hunks, old_index)
    return start == old_start + shift and rows == old_rows and removed == old_removed
  end
  local before, after = 0, 0
  while before < fewer and is_same(before + 1, before + 1, 0) do
    before = before + 1
  end
  local shift = 0
  if fewer > 0 then
    shift = hunk_at(hunks, count) - hunk_at(old.hunks, old_count)
  end
  while after < fewer - before and is_same(count - after, old_count - after, shift) do
    after = after + 1
  end
  for index = before + 1, old_count - after do
    api.nvim_buf_del_extmark(buf, NAMESPACE, old.ids[index])
  end
  local signs = { hunks = hunks, ids = {}, tick = tick }
  table.move(old.ids, 1, before, 1, signs.ids)
  table.move(old.ids, old_count - after + 1, old_count, count - after + 1, signs.ids)
  shown[buf] = signs
  if tick ~= old.tick then
    move(buf, signs)
  end
  if before < count - after then
    place(buf, signs, before + 1, count - after)
  end
end

--- Has the binary find out what is pending.
---@param buf integer
local function ask(buf)
  rpc.notify("buffer", { kind = "changed", path = api.nvim_buf_get_name(buf) })
end

---@param buf integer
local function watch(buf)
  if watched[buf] then
    return
  end
  watched[buf] = true
  local group = api.nvim_create_augroup("rat_pending_" .. buf, {})
  api.nvim_create_autocmd({ "TextChanged", "InsertLeave" }, {
    group = group,
    buffer = buf,
    desc = "rat: ask what is pending in the changed text",
    callback = function()
      ask(buf)
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buf,
    once = true,
    callback = function()
      watched[buf], shown[buf] = nil, nil
      api.nvim_del_augroup_by_id(group)
    end,
  })
end

--- Shows what is pending in a file.
---@param payload rat.msg.Pending
function M.arrived(payload)
  local buf = paths.find(payload.path)
  if not buf then
    return
  end
  if api.nvim_buf_get_changedtick(buf) ~= payload.tick then
    watch(buf)
    return ask(buf)
  end
  groups.define()
  show(buf, payload.hunks, payload.tick)
  local count = count_of(payload.hunks)
  if count > 0 then
    watch(buf)
  end
  vim.b[buf].rat_pending = count > 0 and count or nil
  status.redraw()
end

--- Returns the rows of the pending hunks of a buffer, as they are now.
---@param buf integer
---@return {first: integer, last: integer}[] rows from 0, inclusive
function M.rows(buf)
  local signs = shown[buf]
  if signs and signs.tick == api.nvim_buf_get_changedtick(buf) then
    local rows, last = {}, api.nvim_buf_line_count(buf) - 1
    for index = 1, count_of(signs.hunks) do
      local first = sign_row(signs.hunks, index, last)
      local _, count = hunk_at(signs.hunks, index)
      rows[index] = { first = first, last = first + math.max(count - 1, 0) }
    end
    return rows
  end
  local marks = api.nvim_buf_get_extmarks(buf, NAMESPACE, 0, -1, { details = true })
  return vim.tbl_map(function(mark)
    return { first = mark[2], last = math.max(mark[4].end_row or mark[2], mark[2]) }
  end, marks)
end

--- Returns which hunks touch some rows: what was removed between two touches both.
---@param buf integer
---@param first integer from 0
---@param last integer inclusive; the row before `first` means the place between the two
---@return integer[]? ids nothing if it is not known yet what is pending
function M.ids(buf, first, last)
  local signs = shown[buf]
  if not signs or signs.timer then
    return nil
  end
  local is_current = signs.tick == api.nvim_buf_get_changedtick(buf)
  local ids = {}
  for index = 1, count_of(signs.hunks) do
    local start, count, _, id = hunk_at(signs.hunks, index)
    if not is_current then
      local marks =
        api.nvim_buf_get_extmark_by_id(buf, NAMESPACE, signs.ids[index], { details = true })
      local row = marks[1] or -1
      if count > 0 then
        start, count = row, (marks[3].end_row or row) - row + 1
      else
        -- The sign of removed lines is at the line before them.
        start = start > 0 and row + 1 or row
      end
    end
    local is_touched = start <= last and first < start + count
    if count == 0 then
      is_touched = first <= start and start <= last + 1
    end
    if is_touched then
      ids[#ids + 1] = id
    end
  end
  return ids
end

--- Goes to the next or previous pending hunk, or as many on as a count says, but not past the last one. Without a count, that
--- is followed by the first one if 'wrapscan' is set.
---@param step 1|-1
---@return boolean is_there whether there is any
function M.go(step)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local all, count = M.rows(0), vim.v.count1
  local following = vim.tbl_filter(function(hunk)
    if step > 0 then
      return hunk.first > row
    end
    return hunk.first < row
  end, all)
  count = math.min(count, #following)
  local hunk = step > 0 and following[count] or following[#following + 1 - count]
  if not hunk and vim.o.wrapscan and vim.v.count1 == 1 then
    hunk = step > 0 and all[1] or all[#all]
  end
  if hunk then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { hunk.first + 1, 0 })
    vim.cmd("normal! zv")
  end
  return #all > 0
end

--- Returns the pending hunk at a row.
---@param buf integer
---@param row integer from 0
---@return {first: integer, last: integer}?
function M.at(buf, row)
  return vim.iter(M.rows(buf)):find(function(hunk)
    return hunk.first <= row and row <= hunk.last
  end)
end

-- What is pending is known to the binary only.
rpc.on_lost(function()
  for buf in pairs(watched) do
    if api.nvim_buf_is_valid(buf) then
      clear(buf)
      vim.b[buf].rat_pending = nil
    end
  end
end)

return M
