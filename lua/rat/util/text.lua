--- Sanitises text from agents and file names for display, and wraps text. It knows neither windows nor buffers.
local punctuation = require("rat.util.punctuation")
local M = {}

--- U+FFFD, shown in place of a character that must not be shown.
local REPLACEMENT = "\239\191\189"

--- Lua patterns of the characters, in UTF-8, that control a terminal, change the writing direction, or are invisible. The
--- binary has the same list (`src/session/label.rs`).
local MISLEADING = {
  "[%z\1-\31\127]",
  "\194[\128-\159\173]",
  "\205\143",
  "\216\156",
  "\225\133[\159\160]",
  "\225\158[\180\181]",
  "\225\160[\139-\143]",
  "\226\128[\139\142\143\168-\174]",
  "\226\129[\160-\175]",
  "\226\160\128",
  "\227\133\164",
  "\239\187\191",
  "\239\190\160",
  "\239\191[\176-\187]",
  "\240\155\178[\160-\163]",
  "\240\157\133[\179-\186]",
  "\243\160[\128-\191][\128-\191]",
}

--- Joiners without a width (U+200C, U+200D), which some languages and emojis need, but never after an ASCII character.
local JOINER = "\226\128[\140\141]"

--- Replaces each byte that is not part of valid UTF-8, as in some file names: some terminals take such bytes for control
--- characters.
---@param text string
---@return string
function M.valid_utf8(text)
  if not text:find("[\128-\255]") then
    return text
  end
  local out, at = {}, 1
  while at <= #text do
    local char = text:match("^[%z\1-\127]+", at)
      or text:match("^[\194-\223][\128-\191]", at)
      or text:match("^[\224-\239][\128-\191][\128-\191]", at)
      or text:match("^[\240-\244][\128-\191][\128-\191][\128-\191]", at)
    out[#out + 1] = char or REPLACEMENT
    at = at + (char and #char or 1)
  end
  return table.concat(out)
end

--- Returns a text as one line that is safe to show anywhere on the screen.
---@param text string
---@return string
function M.one_line(text)
  text = M.valid_utf8(text):gsub("\r\n", " "):gsub("[\t\n\r]", " ")
  for _, pattern in ipairs(MISLEADING) do
    text = text:gsub(pattern, REPLACEMENT)
  end
  if text:find(JOINER) then
    text =
      text:gsub("^" .. JOINER, REPLACEMENT):gsub("([%z\1-\127])" .. JOINER, "%1" .. REPLACEMENT)
    local count
    repeat
      text, count = text:gsub(REPLACEMENT .. JOINER, REPLACEMENT .. REPLACEMENT)
    until count == 0
  end
  return text
end

--- Returns a text as one line with "%" escaped, so that 'statusline' and 'winbar' evaluate nothing in it.
---@param text string
---@return string
function M.statusline_escape(text)
  return (M.one_line(text):gsub("%%", "%%%%"))
end

--- Returns the first non-blank line of a text, with an ellipsis if more follow.
---@param text string
---@return string
function M.first_line(text)
  local trimmed = vim.trim(text)
  local line = trimmed:match("^[^\n]*")
  return line == trimmed and line or line .. punctuation.own(" …")
end

--- Formats a number of bytes, such as `1.2 KiB`.
---@param bytes integer
---@return string
function M.size(bytes)
  if bytes < 1024 then
    return ("%d B"):format(bytes)
  elseif bytes < 1024 * 1024 then
    return ("%.1f KiB"):format(bytes / 1024)
  end
  return ("%.1f MiB"):format(bytes / 1024 / 1024)
end

--- Shortens a line to a display width. An ellipsis takes the place of its end.
---@param text string without tabs
---@param width integer cells
---@return string
function M.shorten(text, width)
  -- |strdisplaywidth()| counts a cell more for a wide character where the current window would wrap the line.
  if vim.api.nvim_strwidth(text) <= width then
    return text
  end
  local start = vim.fn.strcharpart(text, 0, math.max(width - 1, 0))
  while vim.api.nvim_strwidth(start) > width - 1 and start ~= "" do
    start = vim.fn.strcharpart(start, 0, vim.fn.strchars(start) - 1)
  end
  return start .. punctuation.own("…")
end

--- Splits a word at a display width. The first part has at least one character.
---@param word string
---@param width integer cells
---@return string, string
local function split_word(word, width)
  local used, at = 0, 0
  for _, char in ipairs(vim.fn.split(word, "\\zs")) do
    used = used + vim.fn.strdisplaywidth(char)
    if used > width and at > 0 then
      break
    end
    at = at + #char
  end
  return word:sub(1, at), word:sub(at + 1)
end

--- Wraps a text between words, and within words that are wider than a line.
---@param text string
---@param width integer cells
---@return string[]
function M.wrap(text, width)
  local lines = {}
  for _, paragraph in ipairs(vim.split(text, "\n", { plain = true })) do
    local line, is_first = "", true
    for blanks, word in paragraph:gmatch("(%s*)(%S+)") do
      -- Blanks count: a command or a line of code is something else without them. Only those at a break go.
      local longer = (is_first or line ~= "") and line .. blanks .. word or word
      is_first = false
      if line ~= "" and vim.fn.strdisplaywidth(longer) > width then
        lines[#lines + 1], longer = line, word
      end
      while vim.fn.strdisplaywidth(longer) > width and vim.fn.strchars(longer) > 1 do
        lines[#lines + 1], longer = split_word(longer, width)
      end
      line = longer
    end
    lines[#lines + 1] = line
  end
  return lines
end

return M
