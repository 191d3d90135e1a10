--- Turns places, such as entries of the quickfix list, into the lines around them.
local M = {}

--- How many lines are attached before and after a place.
local AROUND = 3

---@class rat.ContextPlace
---@field path string
---@field lnum integer from 1
---@field end_lnum? integer

--- Returns the lines around a place.
---@param lnum integer
---@param end_lnum? integer
---@return integer first
---@return integer last
function M.around(lnum, end_lnum)
  return math.max(1, lnum - AROUND), math.max(lnum, end_lnum or 0) + AROUND
end

--- Joins lines of the same file that touch.
---@param list rat.ContextRange[]
---@return rat.ContextRange[]
local function joined(list)
  local function file(one)
    return one.path or one.buf
  end
  local order = {}
  for i, one in ipairs(list) do
    order[file(one)] = order[file(one)] or i
  end
  table.sort(list, function(a, b)
    if file(a) ~= file(b) then
      return order[file(a)] < order[file(b)]
    end
    return a.first < b.first
  end)
  local found = {}
  for _, one in ipairs(list) do
    local before = found[#found]
    if before and file(before) == file(one) and one.first <= before.last + 1 then
      local last = one.last --[[@as integer]]
      before.last = math.max(before.last, last)
    else
      found[#found + 1] = one
    end
  end
  return found
end

--- Returns what entries of the list in a quickfix or location list window lead to: the lines around each, or the file.
---@param win integer
---@param first integer number of an entry
---@param last integer inclusive
---@return rat.Context[]
function M.of_quickfix(win, first, last)
  local is_loclist = vim.fn.getwininfo(win)[1].loclist == 1
  local entries = is_loclist and vim.fn.getloclist(win) or vim.fn.getqflist()
  local lines, files = {}, {}
  for i = first, last do
    local entry = entries[i]
    local buf = entry and entry.valid == 1 and entry.bufnr or 0
    local name = buf > 0 and vim.api.nvim_buf_get_name(buf) or ""
    local is_loaded = buf > 0 and vim.api.nvim_buf_is_loaded(buf)
    if entry and entry.lnum > 0 and (is_loaded or name ~= "") then
      local from, to = M.around(entry.lnum, entry.end_lnum)
      local one = { first = from, last = to }
      one[is_loaded and "buf" or "path"] = is_loaded and buf or name
      lines[#lines + 1] = one
    elseif name ~= "" then
      files[#files + 1] = name
    end
  end
  return vim.list_extend(joined(lines), files)
end

return M
