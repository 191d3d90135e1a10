--- Finds the candidate closest to a mistyped name, for "did you mean" hints.
local M = {}

--- Levenshtein distance in bytes.
---@param a string
---@param b string
---@return integer
local function distance(a, b)
  ---@type integer[]
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local value = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
      diagonal, row[j] = row[j], value
    end
  end
  return row[#b]
end

--- Returns the candidate with the fewest edits from the name, ignoring case.
---@param name string
---@param candidates string[]
---@return string? nearest nil if all of them are further away than a third of the name's length, or 2 edits for short names
function M.find(name, candidates)
  local best, least = nil, math.max(2, math.floor(#name / 3)) + 1
  for _, candidate in ipairs(candidates) do
    local edits = distance(name:lower(), candidate:lower())
    if edits < least then
      best, least = candidate, edits
    end
  end
  return best
end

return M
