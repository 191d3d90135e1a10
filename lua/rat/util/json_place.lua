--- Finds where values stand in a text that is JSON, and keys that stand in an object twice. It judges nothing.
local M = {}

---@class rat.JsonPlaces
---@field keys table<string, integer> the byte each value begins at, or its key, by its path; that of the whole is ""
---@field twice string[] the paths of keys that stand in their object more than once

--- Joins keys as in the problems of `rat.config`.
---@param path string
---@param key string|integer
---@return string
local function join(path, key)
  return path == "" and tostring(key) or path .. "." .. key
end

---@param text string
---@param at integer where a string begins
---@return integer after
local function after_string(text, at)
  local from = at + 1
  while true do
    local stop = text:find('["\\]', from)
    if not stop then
      return #text + 1
    elseif text:sub(stop, stop) == '"' then
      return stop + 1
    end
    from = stop + 2
  end
end

---@param text string
---@param at integer
---@return integer # where the next value, key or end of one begins
local function skip(text, at)
  return text:find("[^%s,:]", at) or #text + 1
end

local walk

---@param text string
---@param at integer after the opening bracket
---@param path string
---@param found rat.JsonPlaces
---@return integer after
local function walk_object(text, at, path, found)
  local seen = {}
  at = skip(text, at)
  while text:sub(at, at) == '"' do
    local after = after_string(text, at)
    local ok, key = pcall(vim.json.decode, text:sub(at, after - 1))
    local own = join(path, ok and key or "")
    if seen[own] then
      found.twice[#found.twice + 1] = own
    end
    seen[own] = true
    local next_at = walk(text, skip(text, after), own, found)
    found.keys[own] = at
    at = skip(text, next_at)
  end
  return at + 1
end

---@param text string
---@param at integer after the opening bracket
---@param path string
---@param found rat.JsonPlaces
---@return integer after
local function walk_list(text, at, path, found)
  local index = 0
  at = skip(text, at)
  while at <= #text and text:sub(at, at) ~= "]" do
    index = index + 1
    at = skip(text, walk(text, at, join(path, index), found))
  end
  return at + 1
end

---@param text string
---@param at integer where a value begins
---@param path string
---@param found rat.JsonPlaces
---@return integer after
function walk(text, at, path, found)
  found.keys[path] = at
  local first = text:sub(at, at)
  if first == "{" then
    return walk_object(text, at + 1, path, found)
  elseif first == "[" then
    return walk_list(text, at + 1, path, found)
  elseif first == '"' then
    return after_string(text, at)
  end
  return text:find("[%s,%]}]", at) or #text + 1
end

--- Finds the places of all keys and items.
---@param text string
---@return rat.JsonPlaces
function M.find(text)
  local found = { keys = {}, twice = {} }
  walk(text, skip(text, 1), "", found)
  return found
end

---@param text string
---@param at integer a byte, from 1
---@return string # as in "line 3, column 10", the column in characters
function M.name(text, at)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  local line = before:match("[^\n]*$") --[[@as string]]
  return ("line %d, column %d"):format(breaks + 1, vim.fn.strchars(line) + 1)
end

return M
