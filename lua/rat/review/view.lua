--- Where the window of a review is: remembers the place of a row, finds it again in an updated page, and keeps the window
--- full. It asks nobody and decides nothing.
local review_page = require("rat.review.page")

local api = vim.api
local M = {}

---@class rat.ReviewPlace
---@field path string
---@field state boolean whether it is about the file as a whole
---@field nth integer of the hunk in its file; 0 for the row that names the file
---@field offset integer from the first row of the hunk
---@field head integer row that names the file
---@field hunk? string[] the lines of the hunk but the first, which has the numbers

--- Returns the lines of a hunk without their numbers, which other decisions may change.
---@param page rat.ReviewPage
---@param buf integer
---@param index integer
---@return string[]
local function lines_of(page, buf, index)
  local last = review_page.last_row(page, buf, index)
  return api.nvim_buf_get_lines(buf, page.parts[index].row + 1, last + 1, true)
end

--- Returns the place of a row.
---@param page rat.ReviewPage
---@param row integer
---@return rat.ReviewPlace?
function M.place(page, row)
  local index = review_page.index(page, row)
  local part = page.parts[index]
  if not part then
    return nil
  end
  local head = review_page.head_of(page, index)
  return {
    path = part.path,
    state = part.state == true,
    nth = index - head,
    offset = row - part.row,
    head = page.parts[head].row,
  }
end

--- Returns the place of a row, to be found again once its hunk has come back.
---@param page rat.ReviewPage
---@param buf integer
---@param row integer
---@return rat.ReviewPlace?
function M.place_of_hunk(page, buf, row)
  local place = M.place(page, row)
  if place and place.nth > 0 then
    place.hunk = lines_of(page, buf, review_page.index(page, row))
  end
  return place
end

--- Returns the index of the part that names the file of a place.
---@param page rat.ReviewPage
---@param place rat.ReviewPlace
---@return integer?
local function head_of(page, place)
  for index, part in ipairs(page.parts) do
    local is_state = part.state == true
    if not part.start and part.path == place.path and is_state == place.state then
      return index
    end
  end
end

---@param win integer
---@param buf integer
---@param line integer
local function go_to_line(win, buf, line)
  local last = api.nvim_buf_line_count(buf)
  api.nvim_win_set_cursor(win, { math.max(1, math.min(line, last)), 0 })
end

--- Returns the index of what follows a place that is gone: a hunk after a hunk and a file after a file, but for the end.
---@param page rat.ReviewPage
---@param place rat.ReviewPlace
---@param after integer index of the first part after it
---@return integer
local function following(page, place, after)
  local parts = page.parts
  while parts[after] and parts[after].group do
    after = after + 1
  end
  local is_hunk = place.nth > 0 and parts[after + 1] ~= nil and parts[after + 1].start ~= nil
  return math.min(is_hunk and after + 1 or after, #parts)
end

--- Goes to a place, or to what follows it.
---@param win integer
---@param page rat.ReviewPage
---@param buf integer
---@param place rat.ReviewPlace
---@return boolean is_last whether the place is gone, and nothing followed it
function M.go_to(win, page, buf, place)
  local head = head_of(page, place)
  local last = head and review_page.last_of_file(page, head)
  if head and last and head + place.nth <= last then
    local index = head + place.nth
    local row = page.parts[index].row + place.offset
    go_to_line(win, buf, math.min(row, review_page.last_row(page, buf, index)) + 1)
    return false
  end
  local after = last or review_page.index(page, place.head - 1)
  local part = page.parts[following(page, place, after + 1)]
  go_to_line(win, buf, part and part.row + 1 or 1)
  return not page.parts[after + 1]
end

--- Goes to a place whose hunk has come back, if it has.
---@param win integer
---@param page rat.ReviewPage
---@param buf integer
---@param place rat.ReviewPlace
function M.return_to(win, page, buf, place)
  local head = head_of(page, place)
  if not head then
    return
  end
  local hunks = review_page.last_of_file(page, head) - head
  local found = not place.hunk and head or nil
  for at = 0, place.hunk and hunks - 1 or -1 do
    -- Most often it is where it was.
    local index = head + 1 + (place.nth - 1 + at) % hunks
    if vim.deep_equal(lines_of(page, buf, index), place.hunk) then
      found = index
      break
    end
  end
  if found then
    go_to_line(win, buf, page.parts[found].row + place.offset + 1)
    api.nvim_win_call(win, function()
      vim.cmd("normal! zv")
    end)
  end
end

--- Scrolls back as far as lines are missing at the end of the window and there are some before it.
---@param win integer
function M.fill(win)
  local info = vim.fn.getwininfo(win)[1]
  local rows = api.nvim_win_text_height(win, { start_row = info.topline - 1 }).all
  if info.topline == 1 or rows >= info.height then
    return
  end
  api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    vim.cmd("keepjumps normal! Gzb")
    view.topline = vim.fn.winsaveview().topline
    vim.fn.winrestview(view)
  end)
end

return M
