--- What the rows of a review are about: files and hunks, in the order of the page. It knows no window and asks nobody.
local api = vim.api
local M = {}

--- Lines that are about one thing, up to the next part.
---@class rat.ReviewPart
---@field row integer of the first of them, from 0
---@field path string
---@field from? string the path before, if the file was moved
---@field unknown boolean whether it is not known that an agent made these changes
---@field state? boolean whether it is about the file as a whole, not about lines
---@field group? boolean whether it is about everything after it, and names no file
---@field start? integer first row of the hunk in the file; missing for the line that names the file
---@field count? integer how many rows the hunk has in the file
---@field id? integer which hunk it is
---@field calls? integer the same as that of the hunk before it in the file if the same tool calls made both

---@class rat.ReviewPage
---@field parts rat.ReviewPart[]

---@return rat.ReviewPage
function M.new()
  return { parts = {} }
end

--- Returns the index of the part that a row belongs to; 0 before the first.
---@param page rat.ReviewPage
---@param row integer
---@return integer
function M.index(page, row)
  local low, high = 1, #page.parts
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if page.parts[middle].row <= row then
      low = middle + 1
    else
      high = middle - 1
    end
  end
  return high
end

--- Returns the parts of a piece of a review, in their order.
---@param payload rat.msg.Review
---@param before? rat.ReviewPart what is before it: the first hunks may belong to the same file
---@return rat.ReviewPart[]
local function parts_of(payload, before)
  local parts, heads, next_head = {}, payload.heads, 1
  local path, from, unknown
  if before then
    path, from, unknown = before.path, before.from, before.unknown
  end
  local function add_heads(until_row)
    while heads[next_head] and heads[next_head].row < until_row do
      local head = heads[next_head]
      path, from, unknown = head.path, head.from, head.unknown
      parts[#parts + 1] = {
        row = head.row,
        path = path,
        from = from,
        unknown = unknown,
        state = head.kind == "state",
        group = head.kind == "group",
      }
      next_head = next_head + 1
    end
  end
  local hunks = payload.hunks
  for at = 1, #hunks, 5 do
    add_heads(hunks[at])
    parts[#parts + 1] = {
      row = hunks[at],
      path = path,
      from = from,
      unknown = unknown,
      start = hunks[at + 1],
      count = hunks[at + 2],
      id = hunks[at + 3],
      calls = hunks[at + 4],
    }
  end
  add_heads(math.huge)
  return parts
end

--- Replaces what a piece of a review replaces.
---@param page rat.ReviewPage
---@param payload rat.msg.Review
---@return integer first index of the new parts
---@return integer last one, which may lie before it
function M.splice(page, payload)
  if not payload.replaces then
    page.parts = parts_of(payload)
    return 1, #page.parts
  end
  local first = M.index(page, payload.row - 1) + 1
  local after = M.index(page, payload.row + payload.replaces - 1) + 1
  local before = page.parts[first - 1]
  local new = parts_of(payload, before)
  local old = page.parts
  local shift = #payload.lines - payload.replaces
  local count, rest = #new, #old - after + 1
  if rest > 0 then
    if shift ~= 0 then
      for index = after, #old do
        old[index].row = old[index].row + shift
      end
    end
    table.move(old, after, #old, first + count)
  end
  for index = #old, first + count + rest, -1 do
    old[index] = nil
  end
  table.move(new, 1, count, first, old)
  return first, first + count - 1
end

--- Returns the last row of a part.
---@param page rat.ReviewPage
---@param buf integer
---@param index integer
---@return integer
function M.last_row(page, buf, index)
  local next_part = page.parts[index + 1]
  if not next_part then
    return api.nvim_buf_line_count(buf) - 1
  end
  -- An empty line is before each file.
  return next_part.row - ((next_part.start or next_part.state) and 1 or 2)
end

--- Returns the first row of a hunk, counted from a row: the hunk there is the first. If there are fewer, it is the last one.
---@param page rat.ReviewPage
---@param row integer
---@param count integer
---@return integer
function M.row_of_hunk(page, row, count)
  local found = row
  for index = math.max(M.index(page, row), 1), #page.parts do
    local part = page.parts[index]
    if part.start or part.state then
      found, count = part.row, count - 1
    end
    if count == 0 then
      break
    end
  end
  return found
end

--- Returns the index of the last part that is about the same file as the one that names it.
---@param page rat.ReviewPage
---@param head integer
---@return integer
function M.last_of_file(page, head)
  local index = head
  while page.parts[index + 1] and page.parts[index + 1].start do
    index = index + 1
  end
  return index
end

--- Returns the index of the part that names the file which a part is about.
---@param page rat.ReviewPage
---@param index integer
---@return integer
function M.head_of(page, index)
  while index > 1 and page.parts[index].start do
    index = index - 1
  end
  return index
end

--- Returns the row of the file that the row after the first one of a hunk is about.
---@param buf integer
---@param part rat.ReviewPart
---@return integer from 0
local function first_file_row(buf, part)
  local head = api.nvim_buf_get_lines(buf, part.row, part.row + 1, true)[1]
  local from, count = head:match("^@@ %-%S+ %+(%d+),?(%d*)")
  return math.floor(tonumber(from) or 1) - (count == "0" and 0 or 1)
end

--- Returns the row of the file that a row of the review is about: that of the first hunk for the row that names the file.
---@param page rat.ReviewPage
---@param buf integer
---@param row integer
---@return string? path
---@return integer? file_row from 0
function M.file_row(page, buf, row)
  local index = M.index(page, row)
  local part, next_part = page.parts[index], page.parts[index + 1]
  if not part or part.group then
    return nil
  elseif not part.start then
    return part.path, not part.state and next_part and next_part.start or 0
  elseif row <= part.row then
    return part.path, part.start
  end
  local at = first_file_row(buf, part)
  for _, line in ipairs(api.nvim_buf_get_lines(buf, part.row + 1, row, true)) do
    at = at + (line:sub(1, 1) == "-" and 0 or 1)
  end
  return part.path, at
end

--- Returns the row of the file that a user means who looks at a row of the review: that of a changed line, or else the first
--- changed one of the hunk.
---@param page rat.ReviewPage
---@param buf integer
---@param row integer
---@return string? path
---@return integer? file_row from 0
function M.changed_row(page, buf, row)
  local part = page.parts[M.index(page, row)]
  local sign = api.nvim_buf_get_text(buf, row, 0, row, 1, {})[1]
  if part and part.start and sign ~= "-" and sign ~= "+" then
    return part.path, part.start
  end
  return M.file_row(page, buf, row)
end

--- Returns the row of the review that is about a row of a file: the last one with this text, or else the last one.
---@param page rat.ReviewPage
---@param buf integer
---@param path string
---@param file_row integer
---@param text string
---@return integer?
function M.row_of(page, buf, path, file_row, text)
  local found, is_same
  for index, part in ipairs(page.parts) do
    -- A hunk has at most three unchanged lines around it.
    local is_near = part.start
      and part.path == path
      and part.start - 3 <= file_row
      and file_row <= part.start + part.count + 3
    if is_near then
      local last = M.last_row(page, buf, index)
      local at = first_file_row(buf, part)
      for offset, line in ipairs(api.nvim_buf_get_lines(buf, part.row + 1, last + 1, true)) do
        if at == file_row and (line == text or not is_same) then
          found, is_same = part.row + offset, line == text
        end
        at = at + (line:sub(1, 1) == "-" and 0 or 1)
      end
    end
  end
  return found
end

return M
