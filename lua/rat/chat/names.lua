--- What buffers of chats are called: rat://AGENT/N and what stands below it. No name holds words of an agent, whose ids
--- may be anything, but for the ends of file names that are only to be read.
local M = {}

---@alias rat.Page "info"|"trace"|"output"|"content"|"terminal"

--- Longer ends of file names are cut, in bytes.
local MOST = 80

--- A name from the configuration as one part of a path: what Neovim or we would take for more is "=" and its hex code.
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
  return (part:gsub("=(%x%x)", function(code)
    return string.char(tonumber(code, 16))
  end))
end

--- The transcript of the chat with this number.
---@param agent string
---@param number integer
---@return string
function M.chat(agent, number)
  return ("rat://%s/%d"):format(encode(agent), number)
end

--- What the name of a chat's buffer says.
---@param name string
---@return string? chat the name of its transcript
---@return string? agent
---@return string? rest what stands below it
function M.parse(name)
  local base, agent, rest = name:match("^(rat://([^/]+)/%d+)(.*)$")
  return base, agent and decode(agent), rest
end

--- A buffer of a chat beside its views. What has an id of an agent's gets a number by it.
---@param of rat.Chat
---@param kind rat.Page
---@param id? string
---@return string
function M.page(of, kind, id)
  if not id then
    return of.name .. "/" .. kind
  end
  local numbers = of.numbers[kind] or { last = 0, by_id = {} }
  of.numbers[kind] = numbers
  local number = numbers.by_id[id]
  if not number then
    number = numbers.last + 1
    numbers.last, numbers.by_id[id] = number, number
  end
  return ("%s/%s/%d"):format(of.name, kind, number)
end

--- The last part of a path, to be read.
---@param path string
---@return string
function M.last_part(path)
  local part = vim.fs.basename(path):gsub("%c", " ")
  if #part <= MOST then
    return part
  end
  -- Its beginning may be cut within a character, its end tells the kind of file.
  return "…" .. part:sub(vim.str_utf_start(part, #part - MOST) + #part - MOST)
end

return M
