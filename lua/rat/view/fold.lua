--- Creates manual folds in the windows of view buffers. 'foldexpr' is not used, since Neovim does not evaluate it for other
--- windows while the user is in Insert mode.
local punctuation = require("rat.util.punctuation")
local icons = require("rat.view.icons")
local line_format = require("rat.view.line_format")
local margin = require("rat.view.margin")

local api = vim.api

local M = {}

--- Extmarks over the folded rows, for windows that show the buffer later.
local FOLD = api.nvim_create_namespace("rat.fold")

---@param win integer
---@param first integer row of the first line, from 0
---@param last integer row of the last line
---@param replace boolean whether a fold that begins there is replaced
local function fold(win, first, last, replace)
  api.nvim_win_call(win, function()
    if vim.wo[win].foldmethod ~= "manual" then
      return
    end
    local view = vim.fn.winsaveview()
    local open = replace and vim.fn.foldlevel(first + 1) > 0 and vim.fn.foldclosed(first + 1) == -1
    if replace and vim.fn.foldlevel(first + 1) > 0 then
      api.nvim_win_set_cursor(win, { first + 1, 0 })
      vim.cmd("silent! normal! zd")
    end
    vim.cmd(("silent! %d,%dfold"):format(first + 1, last + 1))
    if open then
      vim.cmd(("silent! %dfoldopen"):format(first + 1))
    end
    vim.fn.winrestview(view)
  end)
end

--- Creates the folds of a buffer in a window that has just shown it: folds belong to windows, |folding|.
---@param win integer
function M.in_window(win)
  local buf = api.nvim_win_get_buf(win)
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, FOLD, 0, -1, { details = true })) do
    if
      api.nvim_win_call(win, function()
        return vim.fn.foldlevel(mark[2] + 1)
      end) == 0
    then
      fold(win, mark[2], mark[4].end_row or mark[2], false)
    end
  end
end

--- Folds rows of a buffer in the given windows, and in those that show it later.
---@param buf integer
---@param first integer row, from 0
---@param last integer inclusive
---@param wins integer[]
function M.add(buf, first, last, wins)
  local marks = api.nvim_buf_get_extmarks(buf, FOLD, { first, 0 }, { first, -1 }, {})
  local replace = marks[1] ~= nil
  api.nvim_buf_set_extmark(buf, FOLD, first, 0, {
    id = replace and marks[1][1] or nil,
    end_row = last,
    end_right_gravity = true,
    invalidate = true,
    undo_restore = false,
  })
  for _, win in ipairs(wins) do
    fold(win, first, last, replace)
  end
end

--- Removes the marks of all folds of a buffer that is emptied.
---@param buf integer
function M.clear(buf)
  api.nvim_buf_clear_namespace(buf, FOLD, 0, -1)
end

--- Repairs the last fold of a buffer, the one that grows, in Neovim before 0.11: there, text inserted into a fold may
--- move the fold down instead of extending it. The fold is created again where its mark is.
---@param buf integer
---@param wins integer[]
function M.repair(buf, wins)
  if vim.fn.has("nvim-0.11") == 1 then
    return
  end
  local mark = api.nvim_buf_get_extmarks(buf, FOLD, -1, 0, { limit = 1, details = true })[1]
  if not mark then
    return
  end
  -- Rows at the end may have been removed since.
  local first, last =
    mark[2], math.min(mark[4].end_row --[[@as integer]], api.nvim_buf_line_count(buf) - 1)
  if mark[4].invalid or last < first then
    return
  end
  for _, win in ipairs(wins) do
    api.nvim_win_call(win, function()
      if vim.fn.foldlevel(first + 1) == 0 then
        local view = vim.fn.winsaveview()
        api.nvim_win_set_cursor(win, { last + 1, 0 })
        vim.cmd("silent! normal! zd")
        vim.fn.winrestview(view)
        fold(win, first, last, false)
      end
    end)
  end
end

---@param count integer
---@return string
local function lines(count)
  return count == 1 and "1 line" or count .. " lines"
end

--- Returns the 'foldtext' of transcript windows.
---@return string
function M.text()
  local buf, first, last = api.nvim_get_current_buf(), vim.v.foldstart, vim.v.foldend
  local role, name = line_format.header(buf, first - 1)
  if role == "thought" then
    local text = vim.trim(table.concat(api.nvim_buf_get_lines(buf, first, first + 1, false)))
    local icon = icons.get("thought")
    return punctuation.own("%s %s · %s  %s"):format(icon, name, lines(last - first - 1), text)
  end
  -- The prefix of the first line is drawn over the closed fold, too.
  local blanks = (" "):rep(math.max(2, margin.columns(buf, first - 1)))
  return blanks
    .. (icons.get("fold") .. " ")
    .. (line_format.fold_summary(buf, first - 1, last - first + 1) or lines(last - first + 1))
end

return M
