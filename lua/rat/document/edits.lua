--- Makes edits in a buffer such that marks and a selection stay on their text. The caller checks that the buffer may be
--- changed, and saves it.
local api = vim.api
local M = {}

--- A change of whole lines, `{first, -1, last, -1, lines}`, as |nvim_buf_set_lines()| takes it, or within lines, `{row,
--- column, row, column, lines}`, as |nvim_buf_set_text()| does.
---@alias rat.edits.Edit [integer, integer, integer, integer, string[]]

---@class (exact) rat.edits.Mark
---@field name string
---@field row integer from 0
---@field column integer bytes, from 0

--- Returns the user's marks in some rows of a buffer.
---@param buf integer
---@param first integer
---@param last integer inclusive
---@return rat.edits.Mark[]
local function marks_in(buf, first, last)
  local marks = {}
  local function add(list, names)
    for _, mark in ipairs(list) do
      local name, row = mark.mark:sub(2), mark.pos[2] - 1
      if mark.pos[1] == buf and name:match(names) and first <= row and row <= last then
        marks[#marks + 1] = { name = name, row = row, column = mark.pos[3] - 1 }
      end
    end
  end
  add(vim.fn.getmarklist(buf), '^[a-z<>"]$')
  add(vim.fn.getmarklist(), "^[A-Z]$")
  return marks
end

--- Calls |nvim_buf_set_text()| and puts the marks in the rows it touches back on their text: Neovim before 0.12 deletes
--- them.
---@param buf integer
---@param edit rat.edits.Edit
local function set_text(buf, edit)
  local row, column, last_row, last_column, lines = unpack(edit)
  local marks = marks_in(buf, row, last_row)
  api.nvim_buf_set_text(buf, row, column, last_row, last_column, lines)
  local new_last = row + #lines - 1
  local new_column = #lines[#lines] + (#lines == 1 and column or 0)
  for _, mark in ipairs(marks) do
    if mark.row == last_row and mark.column >= last_column then
      mark.row, mark.column = new_last, mark.column - last_column + new_column
    elseif mark.row > row or mark.column > column then
      mark.row = math.min(mark.row, new_last)
    end
    local length = api.nvim_buf_get_offset(buf, mark.row + 1)
      - api.nvim_buf_get_offset(buf, mark.row)
      - 1
    local at = math.max(0, math.min(mark.column, length - 1))
    pcall(api.nvim_buf_set_mark, buf, mark.name, mark.row + 1, at, {})
  end
end

--- Runs `fn`, which changes a buffer, and then moves the other end of a selection: Neovim moves only the cursor with its
--- text.
---@param buf integer
---@param fn fun()
local function preserving_selection(buf, fn)
  local mode = api.nvim_get_mode().mode
  if api.nvim_get_current_buf() ~= buf or not mode:match("^[vV\22sS\19]") then
    return fn()
  end
  -- In Select mode, `o` would replace the text; <C-g> switches to Visual mode.
  local toggle = mode:match("^[sS\19]") and "\7" or ""
  local start = vim.fn.getpos("v")
  local space = api.nvim_create_namespace("rat_selection")
  local column = math.min(start[3] - 1, vim.fn.col({ start[2], "$" }) - 1)
  local mark = api.nvim_buf_set_extmark(buf, space, start[2] - 1, column, {})
  fn()
  local at = api.nvim_buf_get_extmark_by_id(buf, space, mark, {})
  api.nvim_buf_del_extmark(buf, space, mark)
  if at[1] + 1 ~= start[2] or at[2] ~= column then
    vim.cmd.normal({ toggle .. "o", bang = true, mods = { noautocmd = true } })
    pcall(api.nvim_win_set_cursor, 0, { at[1] + 1, at[2] })
    vim.cmd.normal({ "o" .. toggle, bang = true, mods = { noautocmd = true } })
  end
end

---@type fun(buf: integer)[]
local listeners = {}

--- Calls a listener before a buffer is changed for an agent.
---@param listener fun(buf: integer)
function M.on_make(listener)
  listeners[#listeners + 1] = listener
end

--- Makes edits, from the last to the first.
---@param buf integer
---@param edits rat.edits.Edit[] sorted, without overlap
function M.make(buf, edits)
  for _, listener in ipairs(listeners) do
    pcall(listener, buf)
  end
  preserving_selection(buf, function()
    for i = #edits, 1, -1 do
      local edit = edits[i]
      if edit[2] < 0 then
        api.nvim_buf_set_lines(buf, edit[1], edit[3], true, edit[5])
      else
        set_text(buf, edit)
      end
    end
  end)
end

return M
