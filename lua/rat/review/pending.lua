--- Shows in the user's files what agents have changed and nobody has decided on: signs, and moves from hunk to hunk. What is
--- pending is known to the binary, which is told when the text of such a file changes.
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

---@param buf integer
---@param hunk rat.msg.PendingHunk
local function place_sign(buf, hunk)
  local last = api.nvim_buf_line_count(buf) - 1
  local is_removal = hunk.count == 0
  local group = is_removal and "RatPendingDelete"
    or hunk.removed > 0 and "RatPendingChange"
    or "RatPendingAdd"
  -- Where lines were only removed, the sign is at the line before them, or at the top.
  local row = math.min(is_removal and math.max(hunk.start - 1, 0) or hunk.start, last)
  local end_row = is_removal and row or math.min(hunk.start + hunk.count - 1, last)
  api.nvim_buf_set_extmark(buf, NAMESPACE, row, 0, {
    end_row = end_row,
    sign_text = is_removal and (hunk.start == 0 and "▔" or "▁") or "┃",
    sign_hl_group = group,
    number_hl_group = group,
    priority = PRIORITY,
    strict = false,
  })
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
      watched[buf] = nil
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
  api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  for _, hunk in ipairs(payload.hunks) do
    place_sign(buf, hunk)
  end
  if #payload.hunks > 0 then
    watch(buf)
  end
  vim.b[buf].rat_pending = #payload.hunks > 0 and #payload.hunks or nil
  status.redraw()
end

--- Returns the rows of the pending hunks of a buffer, as they are now.
---@param buf integer
---@return {first: integer, last: integer}[] rows from 0, inclusive
function M.rows(buf)
  local marks = api.nvim_buf_get_extmarks(buf, NAMESPACE, 0, -1, { details = true })
  return vim.tbl_map(function(mark)
    return { first = mark[2], last = math.max(mark[4].end_row or mark[2], mark[2]) }
  end, marks)
end

--- Goes to the next or previous pending hunk, from the end to the beginning if 'wrapscan' is set.
---@param step 1|-1
---@return boolean moved
function M.go(step)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local all = M.rows(0)
  local following = vim.tbl_filter(function(hunk)
    if step > 0 then
      return hunk.first > row
    end
    return hunk.first < row
  end, all)
  local hunk = step > 0 and following[1] or following[#following]
  if not hunk and vim.o.wrapscan then
    hunk = step > 0 and all[1] or all[#all]
  end
  if hunk then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { hunk.first + 1, 0 })
    vim.cmd("normal! zv")
  end
  return hunk ~= nil
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

return M
