--- Reads the fenced code block under the cursor of a transcript, and copies it. It changes no text.
local line_format = require("rat.view.line_format")
local notify = require("rat.util.notify")

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

return M
