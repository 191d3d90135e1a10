--- Texts of somebody else's, made fit for lines of ours. Knows neither windows nor buffers.
local M = {}

--- One line without control characters, C1 ones included.
---@param text string
---@return string
function M.one_line(text)
  return (text:gsub("[%z\1-\31\127]+", " "):gsub("\194[\128-\159]", " "))
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
