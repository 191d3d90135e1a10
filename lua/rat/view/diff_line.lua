--- Finds the line of a file that a row of a card's diff is about. Agents send fragments without line numbers, so the lines
--- of the diff are searched for in the file.
local line_format = require("rat.view.line_format")

local M = {}

--- Length of the blanks at the beginning of a diff's row, which the frame of the card and the sign are drawn over.
local INDENT = #"  | + "

---@class rat.DiffBlock
---@field new string[] lines of the new side
---@field new_at integer index of the target in them, from 1
---@field old string[] lines of the old side
---@field old_at integer index of the target in them, from 1

--- Returns the class of a row of a file's diff: added, deleted or the same on both sides; nil for any other row.
---@param buf integer
---@param row integer
---@param path string
---@return "a"|"d"|"y"|nil
local function diff_class(buf, row, path)
  local class, action = line_format.class(buf, row), line_format.action(buf, row)
  local is_row = class == "a" or class == "d" or class == "y"
  if
    is_row
    and action
    and action.kind == "location"
    and action.path == path
    and not action.line
  then
    return class --[[@as "a"|"d"|"y"]]
  end
end

--- Returns the first added or deleted row of a file's diff, below the title of its card or the file's name.
---@param buf integer
---@param row integer
---@param path string
---@return integer?
local function first_change(buf, row, path)
  for at = row + 1, vim.api.nvim_buf_line_count(buf) - 1 do
    local class = line_format.class(buf, at)
    if not line_format.CARD:find(class, 1, true) or class == "x" then
      return nil
    end
    local here = diff_class(buf, at, path)
    if here and here ~= "y" then
      return at
    end
  end
end

--- Reads the contiguous rows of a diff around a target row.
---@param buf integer
---@param row integer the target
---@param path string
---@return rat.DiffBlock
local function read_block(buf, row, path)
  local first, last = row, row
  while first > 0 and diff_class(buf, first - 1, path) do
    first = first - 1
  end
  local count = vim.api.nvim_buf_line_count(buf)
  while last + 1 < count and diff_class(buf, last + 1, path) do
    last = last + 1
  end
  local found = { new = {}, old = {}, new_at = 1, old_at = 1 }
  for at, text in ipairs(vim.api.nvim_buf_get_lines(buf, first, last + 1, true)) do
    local here = diff_class(buf, first + at - 1, path)
    text = text:sub(INDENT + 1)
    if here ~= "d" then
      table.insert(found.new, text)
    end
    if here ~= "a" then
      table.insert(found.old, text)
    end
    if first + at - 1 == row then
      -- On the side that lacks the target, the line after it is used.
      found.new_at = here == "d" and #found.new + 1 or #found.new
      found.old_at = here == "a" and #found.old + 1 or #found.old
    end
  end
  return found
end

--- Returns a line as a card shows it.
---@param text string
---@return string
local function card_text(text)
  return (text:gsub("\t", " "))
end

--- Finds the place of a line where most of the lines around it match, too.
---@param lines string[]
---@param wanted string[]
---@param at integer index of the line in `wanted`
---@return integer? line from 1
---@return integer score how many consecutive lines match
local function find(lines, wanted, at)
  at = math.min(at, #wanted)
  local best, score = nil, 0
  for number = 1, wanted[at] and #lines or 0 do
    if lines[number] == wanted[at] then
      local first, last = 0, 0
      while at - first > 1 and lines[number - first - 1] == wanted[at - first - 1] do
        first = first + 1
      end
      while wanted[at + last + 1] and lines[number + last + 1] == wanted[at + last + 1] do
        last = last + 1
      end
      if first + last + 1 > score then
        best, score = number, first + last + 1
      end
    end
  end
  return best, score
end

--- Returns a function that finds the line of the file that a row of a card is about.
---@param buf integer the transcript
---@param row integer from 0: the title of a card, a file's name or a row of its diff
---@param path string the file, as in the format of the row
---@return (fun(file: integer): integer?)? # takes a buffer with the file and returns the line, from 1; nil if there is no diff
function M.finder(buf, row, path)
  local target = diff_class(buf, row, path) and row or first_change(buf, row, path)
  if not target then
    return nil
  end
  local wanted = read_block(buf, target, path)
  return function(file)
    local lines = vim.tbl_map(card_text, vim.api.nvim_buf_get_lines(file, 0, -1, true))
    local new, new_score = find(lines, wanted.new, wanted.new_at)
    local old, old_score = find(lines, wanted.old, wanted.old_at)
    -- Until the edit is made, and if it is never made, the file has the old lines.
    if old_score / math.max(1, #wanted.old) > new_score / math.max(1, #wanted.new) then
      return old
    end
    return new
  end
end

return M
