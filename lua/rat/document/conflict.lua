--- Tracks and marks conflicts: places where a buffer still has the user's lines although an agent has written others to
--- the file. It changes no text.
local punctuation = require("rat.util.punctuation")
local groups = require("rat.view.groups")
local text_of = require("rat.util.text")

local api = vim.api
local M = {}

--- First and last line of the user's lines in the buffer (from 0, end exclusive), and the file's lines.
---@alias rat.conflict.Unresolved [integer, integer, string[]]

--- Lines of a buffer, between two extmarks. They are separate because Neovim before 0.12 may abort when a mark with an end is
--- moved (neovim#37867). Extmarks alone are not enough: if the line above is replaced, the first one moves onto it.
---@class (exact) rat.conflict.Region
---@field marks [integer, integer] extmarks at the first line and at the line after the last
---@field first? integer where the lines are, from 0, as long as no change has touched them
---@field last? integer end exclusive

---@class (exact) rat.Conflict
---@field buf integer
---@field region rat.conflict.Region around the user's lines
---@field sign integer? extmark with the sign and the virtual text; nil unless it is open
---@field theirs string[] the file's lines
---@field other string[] the lines on the other side of the diff: `theirs`, until the user edits them there
---@field undecided [string[], string[]] the user's lines and the other side's, as they were last while they differed
---@field decided boolean whether both sides have become the same since
---@field turn string? the turn in which the file's lines were written
---@field undone? boolean whether that turn was undone, and the conflict with it

local regions = api.nvim_create_namespace("rat_conflict_regions")
local signs = api.nvim_create_namespace("rat_conflicts")

--- Conflicts by buffer, decided ones included.
---@type table<integer, rat.Conflict[]>
local conflicts_in = {}

---@param buf integer
---@param region rat.conflict.Region
---@return integer first from 0
---@return integer last end exclusive
local function rows(buf, region)
  if region.first then
    return region.first, region.last --[[@as integer]]
  end
  local first = api.nvim_buf_get_extmark_by_id(buf, regions, region.marks[1], {})[1] or 0
  local last = api.nvim_buf_get_extmark_by_id(buf, regions, region.marks[2], {})[1] or first
  return first, math.max(first, last)
end

---@param buf integer
---@param row integer
---@param right_gravity boolean
---@param id integer?
---@return integer id
local function set_mark(buf, row, right_gravity, id)
  local options = { id = id, right_gravity = right_gravity, strict = false }
  return api.nvim_buf_set_extmark(buf, regions, row, 0, options)
end

--- Has a region follow a change of the lines from `first` to `last`, which are so many more now.
---@param region rat.conflict.Region
---@param first integer from 0
---@param last integer end exclusive
---@param more integer
local function move(region, first, last, more)
  if not region.first then
    return
  end
  local is_empty = region.first == region.last
  if last < region.first or last == region.first and not (is_empty and first == last) then
    region.first, region.last = region.first + more, region.last + more
  elseif first < region.last or first == region.last and first == last then
    region.first, region.last = nil, nil
  end
end

--- Sets the marks of a region to where no change has touched it, or looks where they have gone.
---@param buf integer
---@param region rat.conflict.Region
local function settle(buf, region)
  if region.first then
    set_mark(buf, region.first, false, region.marks[1])
    set_mark(buf, region.last --[[@as integer]], true, region.marks[2])
  else
    region.first, region.last = rows(buf, region)
  end
end

--- Sets the marks of a region. Lines that replace it, or are inserted directly below it, become part of it.
---@param buf integer
---@param first integer from 0
---@param last integer end exclusive
---@return rat.conflict.Region
function M.region(buf, first, last)
  return { marks = { set_mark(buf, first, false), set_mark(buf, last, true) } }
end

--- Returns the lines that are now in a region.
---@param buf integer
---@param region rat.conflict.Region
---@return string[] lines
---@return integer first from 0
function M.lines(buf, region)
  local first, last = rows(buf, region)
  return api.nvim_buf_get_lines(buf, first, last, false), first
end

---@param conflict rat.Conflict
---@return boolean
local function is_open(conflict)
  return not conflict.decided and not conflict.undone
end

--- Shows the sign of a conflict, or removes it once the conflict is decided or undone.
---@param conflict rat.Conflict
local function update_sign(conflict)
  local buf = conflict.buf
  if not is_open(conflict) then
    if conflict.sign then
      api.nvim_buf_del_extmark(buf, signs, conflict.sign)
      conflict.sign = nil
    end
    return
  end
  local _, first = M.lines(buf, conflict.region)
  local more = #conflict.theirs > 1 and (" (+%d)"):format(#conflict.theirs - 1) or ""
  local theirs = text_of.one_line(vim.trim(conflict.theirs[1] or "nothing"))
  local row = math.min(first, api.nvim_buf_line_count(buf) - 1)
  conflict.sign = api.nvim_buf_set_extmark(buf, signs, row, 0, {
    id = conflict.sign,
    sign_text = punctuation.own("≠"),
    sign_hl_group = "RatConflict",
    -- The command comes first because the end may be cut off. Virtual lines would break the alignment of diff mode.
    virt_text = {
      { punctuation.own("  ≠ "), "RatConflict" },
      { ":RatConflicts", "RatKey" },
      { "  on disk: " .. vim.fn.strcharpart(theirs, 0, 40) .. more, "RatConflict" },
    },
    priority = 200,
  })
end

--- The number of undecided conflicts in all buffers.
local undecided = 0

---@type fun()[]
local count_listeners = {}

--- Calls a listener whenever the number of undecided conflicts has changed.
---@param listener fun()
function M.on_count(listener)
  count_listeners[#count_listeners + 1] = listener
end

--- Returns the number of undecided conflicts in all buffers.
---@param folder? string only those in files below it
---@return integer
function M.count(folder)
  if not folder or undecided == 0 then
    return undecided
  end
  local real = vim.uv.fs_realpath(folder) or folder
  local count = 0
  for _, conflict in ipairs(M.list()) do
    local name = api.nvim_buf_get_name(conflict.buf)
    local path = vim.uv.fs_realpath(name) or name
    count = count + (vim.startswith(path, (real:gsub("/*$", "/"))) and 1 or 0)
  end
  return count
end

local function recount()
  local before = undecided
  undecided = #M.list()
  if undecided ~= before then
    for _, listener in ipairs(count_listeners) do
      listener()
    end
  end
end

--- Updates which conflicts of a buffer are decided, after either side has changed. One is decided when both sides are the
--- same, and undecided again when both are as they were before that, as after an undo.
---@param buf integer
function M.refresh(buf)
  for _, conflict in ipairs(conflicts_in[buf] or {}) do
    settle(buf, conflict.region)
    local lines = M.lines(buf, conflict.region)
    local sides = { lines, conflict.other }
    if vim.deep_equal(lines, conflict.other) then
      conflict.decided = true
    elseif not conflict.decided then
      conflict.undecided = sides
    elseif vim.deep_equal(sides, conflict.undecided) then
      conflict.decided = false
    end
    update_sign(conflict)
  end
  recount()
end

--- Drops all conflicts of a buffer that was unloaded or read again.
---@param buf integer
local function forget(buf)
  conflicts_in[buf] = nil
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, regions, 0, -1)
    api.nvim_buf_clear_namespace(buf, signs, 0, -1)
  end
  vim.schedule(recount)
end

---@param buf integer
local function follow(buf)
  local waiting = false
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, last, new_last)
      if not conflicts_in[buf] then
        return true -- detaches
      end
      for _, conflict in ipairs(conflicts_in[buf]) do
        move(conflict.region, first, last, new_last - last)
      end
      if not waiting then
        waiting = true
        vim.schedule(function()
          waiting = false
          if api.nvim_buf_is_loaded(buf) then
            M.refresh(buf)
          end
        end)
      end
    end,
    on_reload = function()
      forget(buf)
    end,
    on_detach = function()
      forget(buf)
    end,
  })
end

--- Drops the conflicts that new ones overlap: the file has changed there again.
---@param buf integer
---@param unresolved rat.conflict.Unresolved[]
local function remove_overlapping(buf, unresolved)
  conflicts_in[buf] = vim.tbl_filter(function(conflict)
    local from, to = rows(buf, conflict.region)
    for _, place in ipairs(unresolved) do
      local first, last = place[1], place[2]
      if (from == first and to == last) or (from < last and first < to) then
        if conflict.sign then
          api.nvim_buf_del_extmark(buf, signs, conflict.sign)
        end
        for _, mark in ipairs(conflict.region.marks) do
          api.nvim_buf_del_extmark(buf, regions, mark)
        end
        return false
      end
    end
    return true
  end, conflicts_in[buf])
end

--- Adds conflicts to a buffer. Call it before the agent's edits are made in the buffer: the marks move with their text.
---@param buf integer
---@param unresolved rat.conflict.Unresolved[]
---@param turn? string
function M.mark(buf, unresolved, turn)
  if #unresolved == 0 then
    return
  end
  groups.define()
  if not conflicts_in[buf] then
    conflicts_in[buf] = {}
    follow(buf)
  end
  remove_overlapping(buf, unresolved)
  for _, place in ipairs(unresolved) do
    local first, last, theirs = unpack(place)
    local conflict = {
      buf = buf,
      region = M.region(buf, first, last),
      undecided = { api.nvim_buf_get_lines(buf, first, last, false), theirs },
      theirs = theirs,
      other = theirs,
      decided = false,
      turn = turn,
    }
    settle(buf, conflict.region)
    table.insert(conflicts_in[buf], conflict)
    update_sign(conflict)
  end
  vim.schedule(recount)
end

--- Ends the conflicts of a buffer with what was written in a turn, since it was undone; or brings them back.
---@param buf integer
---@param turn string
---@param undone boolean
function M.turn_undone(buf, turn, undone)
  for _, conflict in ipairs(conflicts_in[buf] or {}) do
    if conflict.turn == turn then
      conflict.undone = undone
      update_sign(conflict)
    end
  end
  recount()
end

--- Returns the undecided conflicts, sorted by buffer and line.
---@param buf? integer only those of this buffer
---@return rat.Conflict[]
function M.list(buf)
  local list = {}
  for owner, conflicts in pairs(conflicts_in) do
    if not buf or owner == buf then
      vim.list_extend(list, vim.tbl_filter(is_open, conflicts))
    end
  end
  table.sort(list, function(a, b)
    if a.buf ~= b.buf then
      return a.buf < b.buf
    end
    return (rows(a.buf, a.region)) < (rows(b.buf, b.region))
  end)
  return list
end

--- Returns the undecided conflicts as entries for |setqflist()|.
---@return vim.quickfix.entry[]
function M.entries()
  return vim.tbl_map(function(conflict)
    local lines, first = M.lines(conflict.buf, conflict.region)
    local text = "yours: %s | on disk: %s"
    return {
      bufnr = conflict.buf,
      lnum = math.min(first + 1, api.nvim_buf_line_count(conflict.buf)),
      type = "W",
      text = text:format(lines[1] or "nothing", conflict.theirs[1] or "nothing"),
    }
  end, M.list())
end

return M
