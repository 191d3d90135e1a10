--- Keeps which lines each change in place is about, by extmarks that move with the text, and shows words beside them.
local groups = require("rat.view.groups")

local api = vim.api

local M = {}

local NAMESPACE = api.nvim_create_namespace("rat_in_place")

--- A change in place.
---@class rat.InPlace
---@field number integer
---@field buf integer
---@field mark integer extmark over its lines; lines put above the first one move it
---@field anchor integer extmark at the first line, which stays above lines that are put in place of that
---@field text string what the user wants
---@field chat? rat.Chat the chat that was asked for it, once it is known
---@field state "asked"|"changed"|"failed" `changed`: something of it may be pending
---@field words? string what is shown beside its lines

--- The oldest first.
---@type rat.InPlace[]
local edits = {}

local last_number = 0

---@param buf integer
---@param first integer row
---@param last integer inclusive
---@param id? integer
---@param words? string one line
---@return integer id
local function set_mark(buf, first, last, id, words)
  groups.define()
  return api.nvim_buf_set_extmark(buf, NAMESPACE, first, 0, {
    id = id,
    end_row = last,
    end_col = #(api.nvim_buf_get_lines(buf, last, last + 1, false)[1] or ""),
    end_right_gravity = true,
    virt_text = words and { { "  " .. words, "RatHint" } } or nil,
    virt_text_pos = "eol",
    hl_mode = "combine",
    strict = false,
  })
end

---@param buf integer
---@param row integer
---@param id? integer
---@return integer id
local function set_anchor(buf, row, id)
  return api.nvim_buf_set_extmark(buf, NAMESPACE, row, 0, { id = id, right_gravity = false })
end

--- Adds a change in place.
---@param buf integer
---@param first integer row
---@param last integer inclusive
---@param text string
---@return rat.InPlace
function M.add(buf, first, last, text)
  last_number = last_number + 1
  local edit = {
    number = last_number,
    buf = buf,
    mark = set_mark(buf, first, last),
    anchor = set_anchor(buf, first),
    text = text,
    state = "asked",
  }
  edits[#edits + 1] = edit
  return edit
end

--- Forgets a change in place.
---@param edit rat.InPlace
function M.remove(edit)
  edits = vim.tbl_filter(function(other)
    return other ~= edit
  end, edits)
  if api.nvim_buf_is_valid(edit.buf) then
    api.nvim_buf_del_extmark(edit.buf, NAMESPACE, edit.mark)
    api.nvim_buf_del_extmark(edit.buf, NAMESPACE, edit.anchor)
  end
end

--- Returns all changes in place, the oldest first.
---@return rat.InPlace[]
function M.all()
  return vim.list_slice(edits)
end

---@param number integer
---@return rat.InPlace?
function M.get(number)
  return vim.iter(edits):find(function(edit)
    return edit.number == number
  end)
end

--- Returns the rows that a change in place is about as they are now; nil if the text of the buffer is not loaded.
---@param edit rat.InPlace
---@return integer? first from 0
---@return integer? last inclusive
function M.rows(edit)
  if not api.nvim_buf_is_loaded(edit.buf) then
    return nil
  end
  local mark = api.nvim_buf_get_extmark_by_id(edit.buf, NAMESPACE, edit.mark, { details = true })
  if not mark[1] then
    return nil
  end
  return mark[1], math.max(mark[3].end_row or mark[1], mark[1])
end

--- Records that a change was made: its lines are those that were put in place of the old ones.
---@param edit rat.InPlace
function M.made(edit)
  local _, last = M.rows(edit)
  local anchor = last and api.nvim_buf_get_extmark_by_id(edit.buf, NAMESPACE, edit.anchor, {})
  if last and anchor and anchor[1] then
    set_mark(edit.buf, math.min(anchor[1], last), last, edit.mark, edit.words)
  end
  edit.state = "changed"
end

--- Returns the changes in place that are about some of these rows, the newest first.
---@param buf integer
---@param first integer row
---@param last integer inclusive
---@return rat.InPlace[]
function M.touching(buf, first, last)
  local found = vim.tbl_filter(function(edit)
    local from, to = M.rows(edit)
    return edit.buf == buf and from ~= nil and from <= last and first <= to
  end, edits)
  table.sort(found, function(a, b)
    return a.number > b.number
  end)
  return found
end

--- Shows words beside the first of the lines, or none.
---@param edit rat.InPlace
---@param words? string one line, as `text.one_line` returns it
function M.say(edit, words)
  local first, last = M.rows(edit)
  if first and last and edit.words ~= words then
    edit.words = words
    set_mark(edit.buf, first, last, edit.mark, words)
  end
end

return M
