--- Shares the columns of a tab page among its windows: some must have a width, the others keep their proportions.
local splits = require("rat.view.splits")

local M = {}

---@class rat.ColumnSharing
---@field sizes table<integer, integer[]> width and height of each window, before at first
---@field fixed table<integer, integer> columns of the windows that must have a width
---@field keep_narrow boolean whether those that have less than an equal share keep what they have

---@param node any[] a part of |winlayout()|
---@param sharing rat.ColumnSharing
---@return integer columns before
---@return boolean is_fixed
local function width(node, sharing)
  local kind, inner = node[1], node[2]
  if kind == "leaf" then
    local fixed = sharing.fixed[inner]
    return fixed or sharing.sizes[inner][1], fixed ~= nil
  elseif kind == "col" then
    for _, child in ipairs(inner) do
      local columns, is_fixed = width(child, sharing)
      if is_fixed then
        return columns, true
      end
    end
    return (width(inner[1], sharing)), false
  end
  local sum, all_fixed = #inner - 1, true
  for _, child in ipairs(inner) do
    local columns, is_fixed = width(child, sharing)
    sum, all_fixed = sum + columns, all_fixed and is_fixed
  end
  return sum, all_fixed
end

--- Gives `room` to a part of the layout.
---@param node any[] a part of |winlayout()|
---@param room integer columns
---@param sharing rat.ColumnSharing
---@param result table<integer, integer[]>
local function share(node, room, sharing, result)
  local kind, inner = node[1], node[2]
  if kind == "leaf" then
    result[inner] = { room, sharing.sizes[inner][2] }
    return
  elseif kind == "col" then
    for _, child in ipairs(inner) do
      share(child, room, sharing, result)
    end
    return
  end
  local left, had = room - (#inner - 1), 0
  ---@type {child: any[], columns: integer}[]
  local free = {}
  for _, child in ipairs(inner) do
    local columns, is_fixed = width(child, sharing)
    if is_fixed then
      share(child, columns, sharing, result)
      left = left - columns
    else
      free[#free + 1], had = { child = child, columns = columns }, had + columns
    end
  end
  table.sort(free, function(a, b)
    return a.columns < b.columns
  end)
  for i, part in ipairs(free) do
    local columns = math.floor(part.columns * left / had + 0.5)
    if sharing.keep_narrow and part.columns <= left / (#free - i + 1) then
      columns = part.columns
    end
    share(part.child, math.max(1, columns), sharing, result)
    left, had = left - columns, had - part.columns
  end
end

--- Sets the widths of all windows of the current tab page.
---@param before table<integer, integer[]> width and height of each window before, see `splits.sizes`
---@param ours table<integer, integer> columns that windows must have
---@param keep_narrow boolean whether windows that have less than an equal share keep what they have
function M.scale(before, ours, keep_narrow)
  local sizes, fixed = splits.sizes(), {}
  for win, size in pairs(sizes) do
    local was = before[win]
    size[1] = was and was[1] or size[1]
    fixed[win] = ours[win] or was and vim.wo[win].winfixwidth and was[1] or nil
  end
  local result = {}
  local sharing = { sizes = sizes, fixed = fixed, keep_narrow = keep_narrow }
  share(vim.fn.winlayout() --[[@as any[] ]], vim.o.columns, sharing, result)
  splits.set_sizes(result)
end

return M
