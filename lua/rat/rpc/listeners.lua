--- Holds the listeners of `require("rat").on`, and tells the binary which events have one, so that it sends no others.
local closest_name = require("rat.util.closest_name")
local names = require("rat.rpc.event_names")
local notify = require("rat.util.notify")
local rpc = require("rat.rpc")

local M = {}

--- A listener is removed after this many errors in a row.
local MAX_ERRORS = 3

---@class rat.Listener
---@field event string the name of an event, or "*"
---@field call fun(...)
---@field errors integer how many there were in a row
---@field reported boolean whether the user was told of an error

--- In the order they were added. Replaced when it changes, so that a listener may add and remove some.
---@type rat.Listener[]
local listeners = {}

--- The names of the events that the binary was told last, in one text.
local told = ""

local function tell_binary()
  local wanted = vim.tbl_filter(function(name)
    return vim.iter(listeners):any(function(listener)
      return listener.event == name or listener.event == "*"
    end)
  end, names)
  local now = table.concat(wanted, " ")
  if now ~= told then
    told = now
    rpc.notify("listen", { events = wanted })
  end
end

-- A binary that has just started knows of no listeners.
rpc.on_connected(function()
  told = ""
  tell_binary()
end)

---@param listener rat.Listener
local function remove(listener)
  listeners = vim.tbl_filter(function(other)
    return other ~= listener
  end, listeners)
  tell_binary()
end

--- Adds a listener. Without it the binary sends nothing of its event.
---@param event string the name of an event, or "*" for all
---@param call fun(...) gets the event; for "*" its name first
---@return fun() remove
function M.add(event, call)
  if event ~= "*" and not vim.list_contains(names, event) then
    local near = type(event) == "string" and closest_name.find(event, names) or nil
    local hint = near and ('did you mean "%s"?'):format(near)
      or "known events: *, " .. table.concat(names, ", ")
    error(("rat.on: unknown event %s, %s"):format(vim.inspect(event), hint), 0)
  end
  if type(call) ~= "function" then
    error(("rat.on: expected a function for %s, got %s"):format(event, type(call)), 0)
  end
  local listener = { event = event, call = call, errors = 0, reported = false }
  listeners = vim.list_extend({}, listeners)
  table.insert(listeners, listener)
  tell_binary()
  return function()
    remove(listener)
  end
end

---@param listener rat.Listener
---@param problem any
local function failed(listener, problem)
  listener.errors = listener.errors + 1
  if not listener.reported then
    listener.reported = true
    local text = 'A listener of "%s" failed, and is removed after %d errors in a row'
    notify.failed(text:format(listener.event, MAX_ERRORS), problem)
  end
  if listener.errors >= MAX_ERRORS then
    remove(listener)
  end
end

--- Passes an event to its listeners. An error in one reaches no other.
---@param name string
---@param data table
function M.tell(name, data)
  local meant = vim.tbl_filter(function(listener)
    return listener.event == name or listener.event == "*"
  end, listeners)
  for index, listener in ipairs(meant) do
    -- One of them may have removed another.
    if vim.list_contains(listeners, listener) then
      -- What one of them changes is not for the next.
      local own = index < #meant and vim.deepcopy(data) or data
      local ok, problem
      if listener.event == "*" then
        ok, problem = xpcall(listener.call, debug.traceback, name, own)
      else
        ok, problem = xpcall(listener.call, debug.traceback, own)
      end
      if ok then
        listener.errors = 0
      else
        failed(listener, problem)
      end
    end
  end
end

return M
