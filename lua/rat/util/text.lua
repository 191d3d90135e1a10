--- Texts of somebody else's, made fit for lines of ours. Knows neither windows nor buffers.
local M = {}

--- What stands for a character that cannot be shown.
local REPLACED = "\239\191\189"

--- Characters that control a terminal, turn the direction of writing, or are not seen at all, as UTF-8. The binary has the
--- same ones (`src/session/label.rs`).
local MISLEADING = {
  "[%z\1-\31\127]",
  "\194[\128-\159\173]",
  "\216\156",
  "\225\160\142",
  "\226\128[\139\142\143\168-\174]",
  "\226\129[\160-\175]",
  "\239\187\191",
  "\239\191[\185-\187]",
  "\243\160[\128\129][\128-\191]",
}

--- Bytes that are no UTF-8, such as in the name of a file: some terminals take them for control characters.
---@param text string
---@return string
local function valid(text)
  if not text:find("[\128-\255]") then
    return text
  end
  local out, at = {}, 1
  while at <= #text do
    local char = text:match("^[%z\1-\127]+", at)
      or text:match("^[\194-\223][\128-\191]", at)
      or text:match("^[\224-\239][\128-\191][\128-\191]", at)
      or text:match("^[\240-\244][\128-\191][\128-\191][\128-\191]", at)
    out[#out + 1] = char or REPLACED
    at = at + (char and #char or 1)
  end
  return table.concat(out)
end

--- One line, fit for any place on the screen.
---@param text string
---@return string
function M.one_line(text)
  text = valid(text):gsub("\r\n", " "):gsub("[\t\n\r]", " ")
  for _, pattern in ipairs(MISLEADING) do
    text = text:gsub(pattern, REPLACED)
  end
  return text
end

--- The beginning of a word that fits into a line, and the rest of it.
---@param word string
---@param width integer cells
---@return string, string
local function cut(word, width)
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

--- Breaks a text into lines between its words, and within those that are longer than a line.
---@param text string
---@param width integer cells
---@return string[]
function M.wrap(text, width)
  local lines = {}
  for _, paragraph in ipairs(vim.split(text, "\n", { plain = true })) do
    local line = ""
    for word in paragraph:gmatch("%S+") do
      local longer = line == "" and word or line .. " " .. word
      if line ~= "" and vim.fn.strdisplaywidth(longer) > width then
        lines[#lines + 1], longer = line, word
      end
      while vim.fn.strdisplaywidth(longer) > width and vim.fn.strchars(longer) > 1 do
        lines[#lines + 1], longer = cut(longer, width)
      end
      line = longer
    end
    lines[#lines + 1] = line
  end
  return lines
end

return M
