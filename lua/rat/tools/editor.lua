--- What the user has open and looks at, for the editor's own tools.
local paths = require("rat.document.paths")
local region = require("rat.context.region")
local location = require("rat.view.location")

local api = vim.api
local M = {}

--- How many lines of a selection are told.
local MOST_LINES = 200

---@param buf integer
---@return string
---@param current integer
local function describe(buf, current)
  local words = {}
  if buf == current then
    words[#words + 1] = "current"
  elseif vim.fn.bufwinid(buf) >= 0 then
    words[#words + 1] = "visible"
  end
  if vim.bo[buf].modified then
    words[#words + 1] = "unsaved changes"
  end
  local counts = vim.diagnostic.count and vim.diagnostic.count(buf) or {}
  local errors = counts[vim.diagnostic.severity.ERROR] or 0
  if errors > 0 then
    words[#words + 1] = ("%d error%s"):format(errors, errors == 1 and "" or "s")
  end
  return table.concat(words, ", ")
end

--- What the user has selected last in a window.
---@param win integer
---@return string? note
local function selection(win)
  local found = region.last_selection(win)
  if not found or not found.text then
    return nil
  end
  local lines = vim.split(found.text, "\n", { plain = true })
  local more = #lines > MOST_LINES and ("\n… %d more lines"):format(#lines - MOST_LINES) or ""
  local shown = table.concat(vim.list_slice(lines, 1, MOST_LINES), "\n")
  local text = "selected last, lines %d to %d of the current file:\n%s%s"
  return text:format(found.first, found.last, shown, more)
end

---@param answer rat.tools.Answer
function M.open_buffers(_, answer)
  local win = location.users_window()
  local current = win and api.nvim_win_get_buf(win) or -1
  local places, notes = {}, {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if paths.is_document(buf) and vim.bo[buf].buflisted then
      local line = buf == current and win and api.nvim_win_get_cursor(win)[1] or 0
      local place =
        { path = api.nvim_buf_get_name(buf), line = line, text = describe(buf, current) }
      table.insert(places, buf == current and 1 or #places + 1, place)
    end
  end
  if win and vim.bo[current].buflisted and paths.is_document(current) then
    notes[#notes + 1] = selection(win)
  end
  answer({ places = places, notes = notes })
end

---@param answer rat.tools.Answer
function M.quickfix(_, answer)
  local list = vim.fn.getqflist({ items = 0, title = 0 })
  local places = {}
  for _, item in ipairs(list.items) do
    if item.valid == 1 and item.bufnr > 0 then
      local path = api.nvim_buf_get_name(item.bufnr)
      places[#places + 1] = { path = path, line = item.lnum, text = item.text }
    end
  end
  answer({ places = places, notes = list.title ~= "" and { "title: " .. list.title } or {} })
end

---@param question {items: {file: string, line: integer, text: string}[]}
---@param answer rat.tools.Answer
function M.set_quickfix(question, answer)
  local items = vim.tbl_map(function(item)
    return { filename = item.file, lnum = item.line, text = item.text }
  end, question.items)
  vim.fn.setqflist({}, " ", { items = items, title = "Places that the agent listed" })
  local count = #items == 1 and "1 entry" or ("%d entries"):format(#items)
  answer({ notes = { ("the quickfix list has %s now"):format(count) } })
end

return M
