--- Creates attachments of exactly what is selected or what an operator is applied to: characters, lines or a block.
local attachment = require("rat.context.attachment")

local M = {}

--- A region of the current buffer.
---@class rat.Region
---@field mode string as of |mode()|: `v`, `V` or CTRL-V
---@field from integer[] one end, as from |getpos()|
---@field to integer[] the other end
---@field exclusive boolean whether the character at the later end is not part of it
---@field to_line_ends? boolean whether it is a block extended with |$|

--- Returns the first screen column, from 1, of the character at a position.
---@param position integer[] for |virtcol()|
---@return integer
local function screen_column(position)
  -- Neovim's annotation says boolean, but the function takes a number.
  ---@diagnostic disable-next-line: param-type-mismatch
  return vim.fn.virtcol(position, 1)[1]
end

--- Returns the part of a line that a block selection extended with |$| contains.
---@param lnum integer
---@param left integer first screen column of the block, from 1
---@return string
local function line_from_column(lnum, left)
  local line = vim.fn.getline(lnum) --[[@as string]]
  local width = vim.fn.virtcol({ lnum, "$" }) - 1
  if width < left then
    return ""
  end
  local byte = vim.fn.virtcol2col(0, lnum, left)
  if screen_column({ lnum, byte }) == left then
    return line:sub(byte)
  end
  -- The block starts within a tab or a wide character. As in a yank, its part of that becomes spaces.
  local rest = vim.str_utf_end(line, byte) + byte + 1
  local start = rest <= #line and screen_column({ lnum, rest }) or width + 1
  return (" "):rep((start - left) --[[@as integer]]) .. line:sub(rest)
end

--- Returns the first screen column of a block selection, from 1.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@return integer
local function left_column(from, to)
  local function column(position)
    local byte = math.min(position[3], math.max(#vim.fn.getline(position[2]), 1))
    return screen_column({ position[2], byte, position[4] })
  end
  return math.min(column(from), column(to)) --[[@as integer]]
end

--- Returns the lines of a block selection extended with |$|.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@param first integer line
---@param last integer line
---@return string[]
local function block_to_line_ends(from, to, first, last)
  local left = left_column(from, to)
  local lines = {}
  for lnum = first, last do
    lines[#lines + 1] = line_from_column(lnum, left)
  end
  return lines
end

--- Whether a characterwise selection includes the line end of its last line, which |getregion()| leaves out.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@param last integer line
---@param count integer how many lines |getregion()| returned
---@param exclusive boolean
---@return boolean
local function includes_line_end(from, to, last, count, exclusive)
  if exclusive then
    -- It includes the line end if it ends before the first character of the line below.
    return count == last - math.min(from[2], to[2])
  end
  local final = from[2] == last and (to[2] < last or from[3] > to[3]) and from or to
  return final[3] > #vim.fn.getline(last) and last < vim.fn.line("$")
end

---@param first integer
---@param last integer
---@return string
local function columns(first, last)
  return first == last and ("column %d"):format(first) or ("columns %d-%d"):format(first, last)
end

--- Describes which part of its lines a characterwise selection is.
---@param from integer[] one end, as from |getpos()|
---@param to integer[] the other end
---@param selected string[] lines of the selection
---@return string? words nil if it is whole lines
local function part_of_lines(from, to, selected)
  local start = (from[2] < to[2] or from[2] == to[2] and from[3] <= to[3]) and from or to
  local opening = vim.fn.getline(start[2]) --[[@as string]]
  local before = vim.fn.strchars(opening:sub(1, start[3] - 1))
  -- If the selection includes its last line end, an empty line follows that.
  local count = #selected > 1 and selected[#selected] == "" and #selected - 1 or #selected
  local length = vim.fn.strchars(selected[count]) + (count == 1 and before or 0)
  local is_to_end = count < #selected
    or length >= vim.fn.strchars(vim.fn.getline(start[2] + count - 1) --[[@as string]])
  if before == 0 and is_to_end then
    return nil
  elseif #selected == 1 then
    return columns(before + 1, length)
  end
  local words = { before > 0 and ("from column %d"):format(before + 1) or nil }
  words[#words + 1] = not is_to_end and ("to column %d"):format(length) or nil
  return table.concat(words, " ")
end

--- Attaches exactly a region of the current buffer.
---@param region rat.Region
---@return rat.Attachment
local function attach(region)
  local mode, from, to = region.mode, region.from, region.to
  local buf = vim.api.nvim_get_current_buf()
  local first, last = math.min(from[2], to[2]), math.max(from[2], to[2])
  if mode == "V" then
    return attachment.lines(buf, first, last)
  end
  if region.to_line_ends then
    -- |getregion()| does not support a block extended with |$|.
    local block = block_to_line_ends(from, to, first, last)
    local result = attachment.of(buf, table.concat(block, "\n"), first, last)
    local left = left_column(from, to)
    result.part = left > 1 and ("from column %d"):format(left) or nil
    return result
  end
  local lines = vim.fn.getregion(from, to, { type = mode, exclusive = region.exclusive })
  if mode == "v" and includes_line_end(from, to, last, #lines, region.exclusive) then
    last = first + #lines - 1
    lines[#lines + 1] = ""
  end
  local result = attachment.of(buf, table.concat(lines, "\n"), first, last)
  if mode == "v" then
    result.part = part_of_lines(from, to, lines)
  else
    local left, width = left_column(from, to), 1
    for _, line in ipairs(lines) do
      width = math.max(width, vim.fn.strdisplaywidth(line, left - 1))
    end
    result.part = columns(left, left + width - 1)
  end
  return result
end

---@return boolean
local function is_exclusive()
  return vim.o.selection == "exclusive"
end

--- Attaches exactly the selection in the current window. To be called in Visual mode.
---@return rat.Attachment
function M.selection()
  local mode = vim.fn.mode()
  return attach({
    mode = mode,
    from = vim.fn.getpos("v"),
    to = vim.fn.getpos("."),
    exclusive = is_exclusive(),
    to_line_ends = mode == "\22" and vim.fn.winsaveview().curswant == vim.v.maxcol,
  })
end

--- Attaches the last selection of a window. A block that was extended with |$| ends where its longest line does.
---@param win integer
---@return rat.Attachment? # nil if nothing has been selected there
function M.last_selection(win)
  return vim.api.nvim_win_call(win, function()
    local from, to, mode = vim.fn.getpos("'<"), vim.fn.getpos("'>"), vim.fn.visualmode()
    if mode == "" or from[2] == 0 or to[2] > vim.fn.line("$") then
      return nil
    end
    return attach({ mode = mode, from = from, to = to, exclusive = is_exclusive() })
  end)
end

---@type table<string, string> modes by the argument of an 'operatorfunc'
local modes = { char = "v", line = "V", block = "\22" }

--- Attaches what an operator is applied to in the current buffer.
---@param kind "char"|"line"|"block"
---@return rat.Attachment
function M.operand(kind)
  local from, to = vim.fn.getpos("'["), vim.fn.getpos("']")
  return attach({ mode = modes[kind], from = from, to = to, exclusive = false })
end

return M
