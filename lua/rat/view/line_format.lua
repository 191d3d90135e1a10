--- Stores the format of each line of the view buffers: a short string made by `src/view/line.rs`, such as
--- `p|0,2X2,6B||` (class, spans, action, argument). It is parsed when it is first needed.
local api = vim.api

local M = {}

---@class rat.Action
---@field kind "location"|"output"|"permission"|"terminal"|"content"|"form"|"prompt"|"widen"
---@field path? string
---@field line? integer
---@field tool_call? string
---@field content? string
---@field id? integer

---@class rat.LineFormat
---@field class string one letter for the kind of line
---@field spans [integer, integer, string][] start byte, end byte (exclusive) and a letter for the highlight
---@field action string what <CR> does, see `action`; may be empty
---@field argument string meaning depends on the class

---@type table<integer, string[]> formats by buffer, row 0 at index 1
local formats = {}

--- Parsed formats by their text: many lines share one. Emptied when it has MAX_PARSED entries.
---@type table<string, rat.LineFormat>
local parsed, parsed_count = {}, 0
local MAX_PARSED = 4000

---@param text string
---@return rat.LineFormat
local function parse(text)
  if parsed[text] then
    return parsed[text]
  end
  local class, spans, action, argument = text:match("^(.)|([^|]*)|([^|]*)|(.*)$")
  ---@type rat.LineFormat
  local found =
    { class = class or "p", spans = {}, action = action or "", argument = argument or "" }
  for first, last, letter in (spans or ""):gmatch("(%d+),(%d+)(%a)") do
    found.spans[#found.spans + 1] = {
      tonumber(first) --[[@as integer]],
      tonumber(last) --[[@as integer]],
      letter,
    }
  end
  if parsed_count > MAX_PARSED then
    parsed, parsed_count = {}, 0
  end
  parsed[text], parsed_count = found, parsed_count + 1
  return found
end

--- Returns the format of a row; nil for plain text.
---@param buf integer
---@param row integer
---@return rat.LineFormat?
function M.at(buf, row)
  local text = formats[buf] and formats[buf][row + 1]
  if text and text ~= "" then
    return parse(text)
  end
end

--- Returns the format of a row as it is stored.
---@param buf integer
---@param row integer
---@return string
function M.raw(buf, row)
  return formats[buf] and formats[buf][row + 1] or ""
end

--- Replaces the formats of rows, as |nvim_buf_set_lines()| does with lines.
---@param buf integer
---@param first integer
---@param last integer exclusive
---@param new string[]
function M.splice(buf, first, last, new)
  local rows = formats[buf]
  if not rows then
    rows = {}
    formats[buf] = rows
  end
  local count, removed, added = #rows, last - first, #new
  if removed ~= added and last < count then
    table.move(rows, last + 1, count, first + added + 1)
    for i = count, count + added - removed + 1, -1 do
      rows[i] = nil
    end
  end
  for i = 1, added do
    rows[first + i] = new[i]
  end
end

--- Starts storing formats of a buffer.
---@param buf integer
function M.attach(buf)
  formats[buf] = formats[buf] or {}
end

--- Whether formats of a buffer are stored.
---@param buf integer
---@return boolean
function M.has(buf)
  return formats[buf] ~= nil
end

--- Stops storing formats of a buffer.
---@param buf integer
function M.forget(buf)
  formats[buf] = nil
end

--- Removes the formats of all lines of a buffer.
---@param buf integer
function M.reset(buf)
  formats[buf] = {}
end

--- Redraws rows whose format has changed, but not their text.
---@param buf integer
---@param first integer
---@param last integer
function M.redraw(buf, first, last)
  api.nvim__redraw({ buf = buf, range = { first, last }, valid = true })
end

--- Returns the class of a row, "p" for plain text.
---@param buf integer
---@param row integer
---@return string class
function M.class(buf, row)
  local found = M.at(buf, row)
  return found and found.class or "p"
end

--- Returns who speaks from this row on, if it is a header.
---@param buf integer
---@param row integer
---@return string? role "user", "agent" or "thought"
---@return string? name
function M.header(buf, row)
  local found = M.at(buf, row)
  if found and found.class == "H" then
    return found.argument:match("^(.-)\t(.*)$")
  end
end

--- Returns the text for a fold of a card that begins at this row; nil if there is none for this number of rows.
---@param buf integer
---@param row integer
---@param rows integer how many rows are folded
---@return string? text
function M.fold_summary(buf, row, rows)
  local found = M.at(buf, row)
  if found and (found.class == "y" or found.class == "n") then
    return found.argument:match(("^%d\t(.*)$"):format(rows))
  end
end

--- Returns what <CR> on a row does.
---@param buf integer
---@param row integer
---@return rat.Action?
function M.action(buf, row)
  local found = M.at(buf, row)
  if not found or found.action == "" then
    return nil
  end
  local kind, rest = found.action:sub(1, 1), found.action:sub(2):gsub("\1", "|")
  if kind == "L" then
    local line, path = rest:match("^(%d+):(.*)$")
    local number = tonumber(line)
    return {
      kind = "location",
      path = path,
      line = number ~= 0 and number --[[@as integer]] or nil,
    }
  elseif kind == "O" then
    return { kind = "output", tool_call = rest }
  elseif kind == "F" then
    return { kind = "form", id = tonumber(rest) }
  elseif kind == "T" then
    return { kind = "terminal", terminal = rest }
  elseif kind == "C" then
    return { kind = "content", content = rest }
  elseif kind == "U" then
    return { kind = "prompt", id = tonumber(rest) }
  elseif kind == "W" then
    return { kind = "widen", path = rest }
  end
  return { kind = "permission", id = tonumber(rest) }
end

--- Classes of the lines of a card, that of its title first.
M.CARD = "xyadDno"

--- Returns the permission request of the card that a row belongs to.
---@param buf integer
---@param row integer
---@return integer? id
function M.request(buf, row)
  for at = row, api.nvim_buf_line_count(buf) - 1 do
    local class = M.class(buf, at)
    if not M.CARD:find(class, 1, true) or (class == "x" and at > row) then
      return nil
    end
    local action = M.action(buf, at)
    if action and action.kind == "permission" then
      return action.id
    end
  end
end

--- Returns the tool call of the card that a row belongs to.
---@param buf integer
---@param row integer
---@return string? id
function M.tool_call(buf, row)
  for at = row, 0, -1 do
    local class = M.class(buf, at)
    if class == "x" then
      return M.at(buf, at).argument
    elseif not M.CARD:find(class, 1, true) then
      return nil
    end
  end
end

--- Returns the code block that a row belongs to, and the index of its line in the block.
---@param buf integer
---@param row integer
---@return {block: string, index: integer, language: string}?
function M.code(buf, row)
  local found = M.at(buf, row)
  if found and found.class == "c" then
    local block, index, language = found.argument:match("^(%d+):(%d+):(.*)$")
    ---@cast block string
    ---@cast language string
    return {
      block = block,
      index = tonumber(index) --[[@as integer]],
      language = language,
    }
  end
end

return M
