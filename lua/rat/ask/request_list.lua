--- Holds the permission requests that wait for an answer, in order of arrival.
local registry = require("rat.chat.registry")
local request_diff = require("rat.diff.request")

local M = {}

---@class rat.Request
---@field chat rat.Chat
---@field permission rat.Permission

-- The tables below are keyed by `request_diff.key`.

--- Order of arrival of the requests that the binary lists.
---@type table<string, integer>
local arrival = {}
local arrivals = 0

--- Requests that were answered while the binary still lists them, with the revision that was answered. They are not
--- answered again unless their revision has changed.
---@type table<string, integer>
local answered = {}

---@param request rat.Request
---@return string
function M.key(request)
  return request_diff.key(request.chat.id --[[@as integer]], request.permission.id)
end

--- Returns all requests that the binary lists, the oldest first.
---@param chat? rat.Chat only of this chat
---@return rat.Request[]
local function listed(chat)
  local list = {}
  for _, owner in ipairs(registry.list()) do
    local is_meant = owner.id and (not chat or chat == owner)
    for _, permission in ipairs(is_meant and owner.status.permissions or {}) do
      list[#list + 1] = { chat = owner, permission = permission }
    end
  end
  table.sort(list, function(a, b)
    local first, second = arrival[M.key(a)] or math.huge, arrival[M.key(b)] or math.huge
    return first < second or first == second and a.permission.id < b.permission.id
  end)
  return list
end

--- Returns the requests that the user has not answered, the oldest first.
---@param chat? rat.Chat only of this chat
---@return rat.Request[]
function M.list(chat)
  return vim.tbl_filter(function(request)
    return answered[M.key(request)] ~= request.permission.revision
  end, listed(chat))
end

--- Returns a waiting request; nil if it was answered or withdrawn.
---@param chat rat.Chat
---@param id integer
---@return rat.Request?
function M.get(chat, id)
  return vim.iter(M.list(chat)):find(function(request)
    return request.permission.id == id
  end)
end

--- Returns the id of a chat's waiting request if there is exactly one.
---@param chat rat.Chat
---@return integer? id
function M.single(chat)
  local list = M.list(chat)
  return #list == 1 and list[1].permission.id or nil
end

--- Records that a request was answered, in its present revision.
---@param request rat.Request
function M.set_answered(request)
  answered[M.key(request)] = request.permission.revision
end

--- Follows a change of a chat's status.
---@return rat.Request[] present all that the binary lists, the oldest first
---@return string[] gone keys of those that it no longer lists
function M.update()
  local present, seen = listed(), {}
  for _, request in ipairs(present) do
    local name = M.key(request)
    seen[name] = true
    if not arrival[name] then
      arrivals = arrivals + 1
      arrival[name] = arrivals
    end
  end
  local gone = vim.tbl_filter(function(name)
    return not seen[name]
  end, vim.tbl_keys(arrival))
  for _, name in ipairs(gone) do
    arrival[name], answered[name] = nil, nil
  end
  return present, gone
end

return M
