--- Converts between UTF-8 and the encodings that Neovim supports through iconv. A conversion that loses anything is refused.
local M = {}

--- Converts a text; nil if that loses anything. `vim.iconv()` puts a question mark where it cannot convert, so the result
--- is converted back and compared.
---@param text string
---@param from string
---@param to string
---@return string?
local function convert(text, from, to)
  local converted = vim.iconv(text, from, to)
  return converted and vim.iconv(converted, to, from) == text and converted or nil
end

--- Returns the first character of a text that an encoding does not have; empty if it has all of them.
---@param text string
---@param encoding string
---@return string
local function first_lacking(text, encoding)
  local tried = {}
  for character in text:gmatch("[\194-\244][\128-\191]*") do
    if not tried[character] and not convert(character, "utf-8", encoding) then
      return character
    end
    tried[character] = true
  end
  return ""
end

--- Converts bytes to UTF-8; nil if they are not valid in that encoding.
---@param bytes string
---@param encoding string a 'fileencoding' that is not a Unicode one
---@return string?
function M.decode(bytes, encoding)
  return convert(bytes, encoding, "utf-8")
end

--- Converts UTF-8 to bytes, or returns the first character that the encoding does not have.
---@param text string
---@param encoding string a 'fileencoding' that is not a Unicode one
---@return rat.call.Encoded
function M.encode(text, encoding)
  local bytes = convert(text, "utf-8", encoding)
  return bytes and { bytes = bytes } or { lacks = first_lacking(text, encoding) }
end

--- Whether an encoding lacks some Unicode characters.
---@param encoding string 'fileencoding'
---@return boolean
function M.is_partial(encoding)
  return encoding ~= "" and not encoding:match("^utf") and not encoding:match("^ucs%-4")
end

--- Returns the first character of a text that its encoding does not have; nil if there is none.
---@param text string
---@param encoding string 'fileencoding'
---@return string?
function M.lacks(text, encoding)
  if encoding == "latin1" then
    return text:match("[\196-\244][\128-\191]*")
  elseif encoding:match("^ucs%-2") then
    return text:match("[\240-\244][\128-\191]*")
  elseif M.is_partial(encoding) and text:find("[\128-\255]") then
    return M.encode(text, encoding).lacks
  end
end

return M
