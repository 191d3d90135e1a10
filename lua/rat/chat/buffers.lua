--- Creates, names and finds the buffers of a chat's views. Listeners registered with `on_create` add keys, options and
--- text.
local names = require("rat.chat.names")
local registry = require("rat.chat.registry")
local scratch = require("rat.view.scratch")

local M = {}

---@alias rat.OnCreate fun(chat: rat.Chat, view: rat.View, buf: integer)

---@type rat.OnCreate[]
local listeners = {}

--- Calls a listener whenever a buffer has become a view of a chat. The buffer is empty then.
---@param listener rat.OnCreate
function M.on_create(listener)
  listeners[#listeners + 1] = listener
end

--- Registers an empty buffer as a view of a chat.
---@param chat rat.Chat
---@param view rat.View
---@param buf integer
local function register(chat, view, buf)
  assert(#listeners > 0, "rat.chat is not loaded: the buffer would have no keys")
  chat.buffers[view] = buf
  for _, listener in ipairs(listeners) do
    listener(chat, view, buf)
  end
end

--- Returns the buffer of a chat's view, and creates it if there is none.
---@param id integer|rat.Chat
---@param view rat.View
---@return integer buf
function M.get(id, view)
  local chat = type(id) == "table" and id or assert(registry.get(id), "no chat " .. tostring(id))
  local buf = chat.buffers[view]
  if buf and vim.api.nvim_buf_is_valid(buf) then
    return buf
  end
  local kind = registry.VIEWS[view]
  buf = scratch.make(chat.name .. kind.suffix, kind.filetype, view == "prompt")
  register(chat, view, buf)
  return buf
end

--- Sets up the buffer of a view again after |:edit| or |:bdelete| has emptied it.
---@param chat rat.Chat
---@param view rat.View
---@param buf integer
function M.renew(chat, view, buf)
  scratch.set_options(buf, registry.VIEWS[view].filetype, view == "prompt")
  register(chat, view, buf)
end

--- Returns a name for a transcript that no buffer has.
---@param agent string
---@param number integer the first one to try
---@return string
function M.free_name(agent, number)
  local name
  repeat
    name = names.chat(agent, number)
    number = number + 1
    local is_taken = vim.iter(registry.all()):any(function(chat)
      return chat.name == name
    end)
  until not is_taken and not scratch.find(name)
  return name
end

--- Parses the name of a view's buffer.
---@param name string
---@return string? agent
---@return rat.View? view
---@return string? transcript name of the transcript's buffer
function M.parse(name)
  local transcript, agent, suffix = names.parse(name)
  for view, spec in pairs(registry.VIEWS) do
    if transcript and suffix == spec.suffix then
      return agent, view, transcript
    end
  end
end

return M
