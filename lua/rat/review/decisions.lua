--- Decisions on rows of a review: what they mean. The binary carries them out and takes them back.
local review_page = require("rat.review.page")
local rpc = require("rat.rpc")
local view = require("rat.review.view")

local api = vim.api
local M = {}

--- The number of the last decision.
local number = 0

--- Where the decisions were made that can be taken back, the last one at the end; false where that is not known.
---@type (rat.ReviewPlace|false)[]
local places = {}

--- Returns which of the lines that a hunk has removed and added are in some rows.
---@param buf integer
---@param page rat.ReviewPage
---@param index integer of the hunk
---@param first integer row
---@param last integer row, inclusive
---@return rat.notify.SelectedRows? selected nothing if that is the whole hunk, or none of its lines
local function selected_rows(buf, page, index, first, last)
  local part = page.parts[index]
  local lines =
    api.nvim_buf_get_lines(buf, part.row + 1, review_page.last_row(page, buf, index) + 1, true)
  ---@type rat.notify.SelectedRows
  local selected = { removed = 0, removed_count = 0, added = 0, added_count = 0 }
  local is_part = false
  local removed, added = 0, 0
  for offset, line in ipairs(lines) do
    local sign, row = line:sub(1, 1), part.row + offset
    local is_in = first <= row and row <= last
    if sign == "-" then
      if is_in and selected.removed_count == 0 then
        selected.removed = removed
      end
      selected.removed_count = selected.removed_count + (is_in and 1 or 0)
      removed = removed + 1
    elseif sign == "+" then
      if is_in and selected.added_count == 0 then
        selected.added = added
      end
      selected.added_count = selected.added_count + (is_in and 1 or 0)
      added = added + 1
    end
    is_part = is_part or sign ~= " " and not is_in
  end
  local is_none = selected.removed_count + selected.added_count == 0
  if first <= part.row or is_none or not is_part then
    return nil
  end
  return selected
end

---@param part rat.ReviewPart
---@param chat integer?
---@param keep boolean
---@return rat.notify.Review
local function decision_on(part, chat, keep)
  return {
    chat = chat,
    keep = keep,
    path = not part.group and part.path or nil,
    from = part.from,
    part = not part.group and (part.state and "state" or "lines") or nil,
    scope = "listed",
    unknown = part.unknown,
  }
end

--- Returns the number for a decision that is made outside the review, so that |u| there can take it back.
---@return integer number
function M.next_number()
  places[#places + 1] = false
  number = number + 1
  return number
end

--- Decides on rows.
---@param review {chat?: integer, page: rat.ReviewPage}
---@param buf integer
---@param first integer
---@param last integer rows, inclusive
---@param keep boolean
---@param is_selection boolean
function M.decide(review, buf, first, last, keep, is_selection)
  local page = review.page
  local from, to = math.max(review_page.index(page, first), 1), review_page.index(page, last)
  ---@type table<string, rat.notify.Review>
  local by_file, order = {}, {}
  for index = from, to do
    local part = page.parts[index]
    -- The row that names a file stands for all of it only if the range ends there, or nothing else does.
    local next_part = page.parts[index + 1]
    local has_hunks = next_part ~= nil and next_part.start ~= nil
    local is_whole = not part.start and (to == from or index == to or not has_hunks)
    if part.start or is_whole then
      local key = ("%s %s %s"):format(part.state and "state" or "lines", part.unknown, part.path)
      if not by_file[key] then
        by_file[key] = decision_on(part, review.chat, keep)
        order[#order + 1] = by_file[key]
      end
      local decision = by_file[key]
      -- What became of a file that was moved is decided on as a whole.
      if part.start and not part.from then
        decision.hunks = decision.hunks or {}
        table.insert(decision.hunks, part.id)
        if is_selection and from == to then
          decision.selected = selected_rows(buf, page, index, first, last)
        end
      end
    end
  end
  if #order > 0 then
    places[#places + 1] = view.place_of_hunk(page, buf, first) or false
  end
  number = number + 1
  for index, decision in ipairs(order) do
    decision.decision, decision.more = number, index < #order
    rpc.notify("review", decision)
  end
end

--- Takes the last decision back, in buffers and on disk, or as many as there are up to a count.
---@param count integer
---@return rat.ReviewPlace? place where the first of them had been made
function M.take_back(count)
  local place ---@type rat.ReviewPlace|false|nil
  -- Without any, the binary says so.
  for _ = 1, math.max(1, math.min(count, #places)) do
    rpc.notify("take_back", {})
    place = table.remove(places)
  end
  return place or nil
end

return M
