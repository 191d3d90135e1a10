--- Folds of a review, open at first: each file is one, and in it what each tool call has changed, if several have. What is
--- closed stays closed when the review is updated.
local review_page = require("rat.review.page")

local api = vim.api
local M = {}

--- Runs commands in a window, whose view stays.
---@param win integer
---@param commands string[]
local function run(win, commands)
  if #commands > 0 then
    api.nvim_win_call(win, function()
      vim.cmd(table.concat(commands, "|"))
    end)
  end
end

--- Returns the rows that the user sees chosen in the current window: a closed fold is one row there, as for |dd|.
---@param first integer row
---@param last integer row, inclusive
---@return integer first
---@return integer last
function M.whole(first, last)
  local from, to = vim.fn.foldclosed(first + 1), vim.fn.foldclosedend(last + 1)
  return from == -1 and first or from - 1, to == -1 and last or to - 1
end

--- Removes all folds.
---@param win integer
function M.clear(win)
  api.nvim_win_call(win, function()
    vim.cmd("normal! zE")
  end)
end

--- Removes the folds of rows.
---@param win integer
---@param first integer row
---@param last integer row, inclusive
---@param page rat.ReviewPage
---@return table<string, true> closed the files that were folded
function M.remove(win, first, last, page)
  local closed = {}
  api.nvim_win_call(win, function()
    for index = review_page.index(page, first - 1) + 1, review_page.index(page, last) do
      local part = page.parts[index]
      if not part.start and vim.fn.foldclosed(part.row + 1) ~= -1 then
        closed[part.path] = true
      end
    end
    local view = vim.fn.winsaveview()
    vim.cmd(("silent! keepjumps normal! %dGV%dGzD"):format(first + 1, last + 1))
    vim.fn.winrestview(view)
  end)
  return closed
end

--- Returns commands that fold what each tool call has changed in a file, if several have.
---@param buf integer
---@param page rat.ReviewPage
---@param first integer index of the first hunk
---@param last integer index of the last one
---@return string[]
local function fold_calls(buf, page, first, last)
  local commands, from = {}, first
  for index = first, last do
    if index == last or page.parts[index + 1].calls ~= page.parts[from].calls then
      local last_row = review_page.last_row(page, buf, index)
      commands[#commands + 1] = ("%d,%dfold"):format(page.parts[from].row + 1, last_row + 1)
      from = index + 1
    end
  end
  return #commands > 1 and commands or {}
end

--- Folds files.
---@param win integer
---@param buf integer
---@param page rat.ReviewPage
---@param first integer index of a part
---@param last integer index of a part
---@param closed table<string, true> the files that stay folded
function M.add(win, buf, page, first, last, closed)
  local commands = {}
  for index = first, last do
    local part = page.parts[index]
    if not part.start and not part.state and not part.group then
      local last_part = review_page.last_of_file(page, index)
      vim.list_extend(commands, fold_calls(buf, page, index + 1, last_part))
      local last_row = review_page.last_row(page, buf, last_part)
      local range = ("%d,%d"):format(part.row + 1, last_row + 1)
      commands[#commands + 1] = range .. "fold"
      if not closed[part.path] then
        commands[#commands + 1] = range .. "foldopen!"
      end
    end
  end
  run(win, commands)
end

return M
