--- Takes a paste out of a window that the user cannot write in: the window closes, and the text goes where they came from.
local M = {}

---@alias rat.Paste fun(lines: string[], phase: -1|1|2|3): boolean

--- What leaves each window, by its buffer.
---@type table<integer, fun()>
local leave = {}

--- The handler that was there before, see |vim.paste()|.
---@type rat.Paste?
local before

---@param lines string[]
---@param phase -1|1|2|3
---@return boolean
local function handler(lines, phase)
  local go = leave[vim.api.nvim_get_current_buf()]
  if go then
    go()
  end
  return (before or vim.paste)(lines, phase)
end

--- Has a paste into this buffer leave its window first.
---@param buf integer
---@param go fun() closes the window and takes the user back
function M.redirect(buf, go)
  leave[buf] = go
  if vim.paste ~= handler then
    before, vim.paste = vim.paste, handler --[[@as any]]
  end
end

---@param buf integer
function M.forget(buf)
  leave[buf] = nil
  if not next(leave) and vim.paste == handler and before then
    vim.paste = before --[[@as any]]
    before = nil
  end
end

return M
