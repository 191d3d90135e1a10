--- Builds and parses the names of chats' buffers: rat://AGENT/N and names below it. They contain no text chosen by an agent,
--- such as its ids, except the last parts of paths in names that are never parsed.
local punctuation = require("rat.util.punctuation")
local M = {}

---@alias rat.Page "attachment"|"info"|"trace"|"output"|"content"|"turn"|"preview"|"terminal"

--- Longest last part of a path in a name, in bytes.
local MAX_BYTES = 80

--- Encodes an agent's name from the configuration as one part of a path: any other character becomes "=" and its hex code.
---@param agent string
---@return string
local function encode(agent)
  return (agent:gsub("[^%w._-]", function(byte)
    return ("=%02X"):format(byte:byte())
  end))
end

---@param part string
---@return string
local function decode(part)
  return (
    part:gsub("=(%x%x)", function(code)
      return string.char(tonumber(code, 16) --[[@as integer]])
    end)
  )
end

--- Returns the name of the transcript of a chat.
---@param agent string
---@param number integer
---@return string
function M.chat(agent, number)
  return ("rat://%s/%d"):format(encode(agent), number)
end

--- Parses the name of a chat's buffer.
---@param name string
---@return string? chat name of the transcript
---@return string? agent
---@return string? rest what follows the name of the transcript
function M.parse(name)
  local base, agent, rest = name:match("^(rat://([^/]+)/%d+)(.*)$")
  return base, agent and decode(agent), rest
end

--- Returns the name of a page of a chat. Ids come from the agent, so each is replaced by a number.
---@param chat rat.Chat
---@param kind rat.Page
---@param id? string of the page; nil for pages of which a chat has one
---@return string
function M.page(chat, kind, id)
  if not id then
    return chat.name .. "/" .. kind
  end
  local numbers = chat.numbers[kind] or { last = 0, by_id = {} }
  chat.numbers[kind] = numbers
  local number = numbers.by_id[id]
  if not number then
    number = numbers.last + 1
    numbers.last, numbers.by_id[id] = number, number
  end
  return ("%s/%s/%d"):format(chat.name, kind, number)
end

--- Returns the last part of a path, shortened, for display.
---@param path string
---@return string
function M.last_part(path)
  local part = vim.fs.basename(path):gsub("%c", " ")
  if #part <= MAX_BYTES then
    return part
  end
  -- The end is shown, since it has the file's extension. `str_utf_start()` avoids cutting within a character.
  return punctuation.own("…")
    .. part:sub(vim.str_utf_start(part, #part - MAX_BYTES) + #part - MAX_BYTES)
end

return M
