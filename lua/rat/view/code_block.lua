--- Reads the fenced code block under the cursor of a transcript, and copies it to a register or into a file of the user's.
local line_format = require("rat.view.line_format")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local splits = require("rat.view.splits")

local M = {}

--- Returns the row of a line of code: this one, or the one next to the fence in this row.
---@param buf integer
---@param row integer from 0
---@return integer?
local function code_row(buf, row)
  local is_fence = vim.api.nvim_get_current_line():find("^%s*[`~][`~][`~]") ~= nil
  for _, candidate in ipairs({ row, is_fence and row + 1 or row, is_fence and row - 1 or row }) do
    if line_format.code(buf, candidate) then
      return candidate
    end
  end
end

--- Returns the lines of the code block at the cursor, or whose fence is there, without the indentation of the list around it.
---@return string[]?
function M.lines()
  local buf = vim.api.nvim_get_current_buf()
  local row = code_row(buf, vim.api.nvim_win_get_cursor(0)[1] - 1)
  local code = row and line_format.code(buf, row)
  if not row or not code then
    return nil
  end
  local first, last = row - code.index, row
  while (line_format.code(buf, last + 1) or {}).block == code.block do
    last = last + 1
  end
  local fence =
    vim.api.nvim_buf_get_lines(buf, math.max(first - 1, 0), math.max(first, 0), false)[1]
  local indent = #(fence or ""):match("^ *")
  return vim.tbl_map(function(line)
    local before = line:sub(1, indent):match("^ *") --[[@as string]]
    return line:sub(#before + 1)
  end, vim.api.nvim_buf_get_lines(buf, math.max(first, 0), last + 1, false))
end

--- Copies the code block under the cursor into the register that the user has named.
function M.yank()
  local lines = M.lines()
  if not lines then
    return notify.info("No code block under the cursor")
  end
  vim.fn.setreg(vim.v.register, lines --[[@as any]], "l")
  notify.info(("%d line%s of code yanked"):format(#lines, #lines == 1 and "" or "s"))
end

---@param line string
---@return string blanks
local function indent_of(line)
  return line:match("^[ \t]*") --[[@as string]]
end

--- Returns lines with another indentation in place of the one that all of them have.
---@param lines string[]
---@param indent string
---@return string[]
local function indented(lines, indent)
  local common ---@type integer?
  for _, line in ipairs(lines) do
    if line:find("%S") then
      common = math.min(common or math.huge, #indent_of(line)) --[[@as integer]]
    end
  end
  return vim.tbl_map(function(line)
    return line:find("%S") and indent .. line:sub((common or 0) + 1) or ""
  end, lines)
end

--- Puts the code block under the cursor into the file in the user's last window, as |p| puts lines, with the indentation of the
--- line there. The user is taken there, so that |u| takes it back.
---@param before boolean whether it comes above the line of the cursor
function M.put(before)
  local lines = M.lines()
  if not lines then
    return notify.info("No code block under the cursor")
  end
  local win = location.users_window()
  if not win then
    return notify.warn("No window with a file is open: the code has no place to go")
  end
  local buf = vim.api.nvim_win_get_buf(win)
  if not vim.bo[buf].modifiable then
    return notify.warn("The buffer in your last window is not modifiable")
  end
  splits.enter(win)
  local code = indented(lines, indent_of(vim.api.nvim_get_current_line()))
  vim.api.nvim_put(code, "l", not before, false)
  notify.info(("%d line%s of code put here"):format(#lines, #lines == 1 and "" or "s"))
end

return M
