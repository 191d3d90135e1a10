--- Converts between UTF-8 and the encodings that only Neovim knows. What would not come back as it
--- was is refused.

local M = {}

---`vim.iconv()` puts a question mark where it cannot convert: what it gives counts only if it leads
---back.
---@param text string
---@param from string
---@param to string
---@return string?
local function convert(text, from, to)
  local converted = vim.iconv(text, from, to)
  return converted and vim.iconv(converted, to, from) == text and converted or nil
end

---The first character of a text that an encoding has not; empty if it has each of them.
---@param text string
---@param encoding string
---@return string
local function lacking(text, encoding)
  local tried = {}
  for character in text:gmatch("[\194-\244][\128-\191]*") do
    if not tried[character] and not convert(character, "utf-8", encoding) then
      return character
    end
    tried[character] = true
  end
  return ""
end

---Bytes as UTF-8; nil if they are no text of that encoding.
---@param bytes string
---@param encoding string 'fileencoding', no Unicode one
---@return string?
function M.decode(bytes, encoding)
  return convert(bytes, encoding, "utf-8")
end

---UTF-8 as bytes, or the first character that the encoding has not.
---@param text string
---@param encoding string 'fileencoding', no Unicode one
---@return {bytes?: string, lacks?: string}
function M.encode(text, encoding)
  local bytes = convert(text, "utf-8", encoding)
  return bytes and { bytes = bytes } or { lacks = lacking(text, encoding) }
end

---Whether there are characters that an encoding has not.
---@param encoding string 'fileencoding'
---@return boolean
function M.is_partial(encoding)
  return encoding ~= "" and not encoding:match("^utf") and not encoding:match("^ucs%-4")
end

---The first character of a text that a file of some encoding cannot hold; nil if there is none.
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
