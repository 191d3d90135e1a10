--- Puts who speaks and the state of each step into the text of a view, as words, for screen readers (`text_mode`). Otherwise
--- both are drawn beside the text.
local config = require("rat.config")
local icons = require("rat.view.icons")

local M = {}

--- Whether text mode is on.
---@return boolean
function M.is_on()
  return config.get().text_mode
end

--- Moves the spans of a format.
---@param format string
---@param bytes integer
---@return string
local function shift(format, bytes)
  local class, spans, rest = format:match("^(.|)([^|]*)(|.*)$")
  if not class or not spans or spans == "" then
    return format
  end
  local moved = spans:gsub("%d+", function(column)
    return tostring(math.max(tonumber(column) + bytes, 0))
  end)
  return class .. moved .. rest
end

--- Returns lines of the binary's with their prefixes and headers in words.
---@param lines string[]
---@param formats string[]
---@param prefixes any[] a row, a text and the name of its highlighting, again and again
---@return string[] lines
---@return string[] formats
function M.apply(lines, formats, prefixes)
  lines, formats = vim.list_slice(lines), vim.list_slice(formats)
  for i = 1, #prefixes, 3 do
    local at, prefix = prefixes[i] + 1, prefixes[i + 1] ---@type integer, string
    local words = icons.words(prefix)
    if lines[at] == "" then
      lines[at] = words:gsub("%s+$", "")
    else
      -- The binary has left blanks for a prefix that begins with one.
      local blanks = vim.startswith(prefix, " ") and vim.fn.strchars(prefix) or 0
      lines[at] = words .. lines[at]:sub(blanks + 1)
      formats[at] = shift(formats[at] or "", #words - blanks)
    end
  end
  for at, format in ipairs(formats) do
    local name = format:match("^H|[^|]*|[^|]*|[^\t]*\t(.*)$")
    if name and lines[at] == "" then
      lines[at] = name .. ":"
    end
  end
  return lines, formats
end

return M
