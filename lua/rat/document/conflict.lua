--- Lines that stayed the user's although an agent has put others into the file: knows where they are until they are
--- decided, and marks them. Changes no text.

local api = vim.api
local M = {}

---Lines that a buffer keeps, counted from 0, end exclusive, and the file's.
---@alias rat.conflict.Kept [integer, integer, string[]]

---The extmarks before the first line and before the one below the last. Not one with an end: a Neovim older than 0.12
---may abort when such marks are moved (neovim#37867).
---@alias rat.conflict.Region [integer, integer]

---@class (exact) rat.Conflict
---@field buf integer
---@field region rat.conflict.Region around the lines
---@field sign integer? extmark that shows
---@field ours string[] the lines as they were when the file got others
---@field theirs string[] the file's lines
---@field other string[] what stands against ours: the file's lines, until the user puts theirs in their place
---@field decided boolean whether both sides are the same now, or were

local regions = api.nvim_create_namespace("rat_conflict_regions")
local signs = api.nvim_create_namespace("rat_conflicts")

---@type table<integer, rat.Conflict[]>
local known = {}

---@param buf integer
---@param region rat.conflict.Region
---@return integer first from 0
---@return integer last end exclusive
local function rows(buf, region)
  local first = api.nvim_buf_get_extmark_by_id(buf, regions, region[1], {})[1] or 0
  local last = api.nvim_buf_get_extmark_by_id(buf, regions, region[2], {})[1] or first
  return first, math.max(first, last)
end

---Marks lines so that what is put in their place, or in front of the next one, counts to them.
---@param buf integer
---@param first integer from 0
---@param last integer end exclusive
---@return rat.conflict.Region
function M.region(buf, first, last)
  local function mark(row, to_the_right)
    local options = { right_gravity = to_the_right, strict = false }
    return api.nvim_buf_set_extmark(buf, regions, row, 0, options)
  end
  return { mark(first, false), mark(last, true) }
end

---The lines in a region.
---@param buf integer
---@param region rat.conflict.Region
---@return string[] lines
---@return integer first from 0
function M.lines(buf, region)
  local first, last = rows(buf, region)
  return api.nvim_buf_get_lines(buf, first, last, false), first
end

---@param conflict rat.Conflict
local function show(conflict)
  local buf = conflict.buf
  if conflict.decided then
    if conflict.sign then
      api.nvim_buf_del_extmark(buf, signs, conflict.sign)
      conflict.sign = nil
    end
    return
  end
  local _, first = M.lines(buf, conflict.region)
  local more = #conflict.theirs > 1 and (" (+%d)"):format(#conflict.theirs - 1) or ""
  local theirs = require("rat.text").one_line(vim.trim(conflict.theirs[1] or "nothing"))
  local row = math.min(first, api.nvim_buf_line_count(buf) - 1)
  conflict.sign = api.nvim_buf_set_extmark(buf, signs, row, 0, {
    id = conflict.sign,
    sign_text = "≠",
    sign_hl_group = "RatConflict",
    -- The key first: the end may be cut off. Not on a line of its own: diff mode would not align it.
    virt_text = {
      { "  ≠ ", "RatConflict" },
      { ":RatConflicts", "RatKey" },
      { "  agent: " .. vim.fn.strcharpart(theirs, 0, 40) .. more, "RatConflict" },
    },
    priority = 200,
  })
end

---How many are not decided, in all buffers.
local undecided = 0

---@return integer
function M.count()
  return undecided
end

---Counts them again, and shows it where something has changed.
local function count()
  local before = undecided
  undecided = #M.list()
  local chat = before ~= undecided and require("rat.chat").current()
  if chat then
    require("rat.window").refresh(chat)
  end
end

---Looks at all conflicts of a buffer again after it, or what stands against it, has changed.
---@param buf integer
function M.refresh(buf)
  for _, conflict in ipairs(known[buf] or {}) do
    local lines = M.lines(buf, conflict.region)
    if vim.deep_equal(lines, conflict.other) then
      conflict.decided = true
    elseif
      vim.deep_equal(lines, conflict.ours) and vim.deep_equal(conflict.other, conflict.theirs)
    then
      conflict.decided = false
    end
    show(conflict)
  end
  count()
end

---Forgets all about a buffer: it shows its file now.
---@param buf integer
local function forget(buf)
  known[buf] = nil
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, regions, 0, -1)
    api.nvim_buf_clear_namespace(buf, signs, 0, -1)
  end
  vim.schedule(count)
end

---@param buf integer
local function follow(buf)
  local waiting = false
  api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if not known[buf] then
        return true
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

---Forgets what is known of lines where the file has changed again: only what it has now counts.
---@param buf integer
---@param kept rat.conflict.Kept[]
local function supersede(buf, kept)
  known[buf] = vim.tbl_filter(function(conflict)
    local from, to = rows(buf, conflict.region)
    for _, one in ipairs(kept) do
      local first, last = one[1], one[2]
      if (from == first and to == last) or (from < last and first < to) then
        if not conflict.decided then
          api.nvim_buf_del_extmark(buf, signs, conflict.sign)
        end
        for _, mark in ipairs(conflict.region) do
          api.nvim_buf_del_extmark(buf, regions, mark)
        end
        return false
      end
    end
    return true
  end, known[buf])
end

---Marks lines of a buffer. To be called before the buffer is changed: the marks move with their text.
---@param buf integer
---@param kept rat.conflict.Kept[]
function M.mark(buf, kept)
  if #kept == 0 then
    return
  end
  require("rat.groups").define()
  if not known[buf] then
    known[buf] = {}
    follow(buf)
  end
  supersede(buf, kept)
  for _, one in ipairs(kept) do
    local first, last, theirs = unpack(one)
    local conflict = {
      buf = buf,
      region = M.region(buf, first, last),
      ours = api.nvim_buf_get_lines(buf, first, last, false),
      theirs = theirs,
      other = theirs,
      decided = false,
    }
    table.insert(known[buf], conflict)
    show(conflict)
  end
  vim.schedule(count)
end

---What is not decided, by buffer and line.
---@param buf? integer only there
---@return rat.Conflict[]
function M.list(buf)
  local list = {}
  for of, conflicts in pairs(known) do
    if not buf or of == buf then
      vim.list_extend(
        list,
        vim.tbl_filter(function(conflict)
          return not conflict.decided
        end, conflicts)
      )
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

---The same as entries of the quickfix list (|setqflist()|).
---@return vim.quickfix.entry[]
function M.entries()
  return vim.tbl_map(function(conflict)
    local lines, first = M.lines(conflict.buf, conflict.region)
    local text = "yours: %s | the agent's: %s"
    return {
      bufnr = conflict.buf,
      lnum = math.min(first + 1, api.nvim_buf_line_count(conflict.buf)),
      type = "W",
      text = text:format(lines[1] or "nothing", conflict.theirs[1] or "nothing"),
    }
  end, M.list())
end

return M
