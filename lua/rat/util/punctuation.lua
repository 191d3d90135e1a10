--- The signs in our own words, for screens that only have ASCII. What others have written is left as it is.
local M = {}

--- Each stands for a sign of one cell.
---@type table<string, string>
local ASCII = {
  ["·"] = "-",
  ["…"] = "~",
  ["→"] = ">",
  ["▏"] = "|",
  ["─"] = "-",
  ["‹"] = "<",
  ["≠"] = "!",
  ["┃"] = "+",
  ["┇"] = "~",
  ["▁"] = "_",
  ["▔"] = "^",
}

local is_ascii = false

--- Sets whether our words are written in ASCII from now on.
---@param on boolean
function M.use_ascii(on)
  is_ascii = on
end

--- Returns words of ours as they are written now.
---@param text string that nobody else has written a part of
---@return string
function M.own(text)
  if not is_ascii then
    return text
  end
  return (text:gsub("[\194-\244][\128-\191]+", ASCII))
end

--- Whether a sign that has no other form can be written.
---@param sign string
---@return boolean
function M.is_written(sign)
  return not (is_ascii and sign:find("[\128-\255]"))
end

--- Returns the |api-win_config| `border` of our floating windows.
---@return any
function M.border()
  return is_ascii and { "+", "-", "+", "|", "+", "-", "+", "|" } or "rounded"
end

--- Joins the parts of a line.
---@param parts string[]
---@return string
function M.join(parts)
  return table.concat(parts, M.own(" · "))
end

return M
