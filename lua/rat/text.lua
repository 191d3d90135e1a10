--- Texts of somebody else's, made fit for lines of ours. Knows neither windows nor buffers.
local M = {}

--- One line without control characters, C1 ones included.
---@param text string
---@return string
function M.one_line(text)
  return (text:gsub("[%z\1-\31\127]+", " "):gsub("\194[\128-\159]", " "))
end

--- Breaks a text into lines between its words.
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
      line = longer
    end
    lines[#lines + 1] = line
  end
  return lines
end

return M
