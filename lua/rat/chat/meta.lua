--- Handles `_meta`, the data that agents add to messages of the protocol: stores that of the session, and fires RatMeta for
--- all of it.
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")

local M = {}

---@type table<string, true> methods whose answer starts a session
local starts_session = {
  ["session/new"] = true,
  ["session/load"] = true,
  ["session/resume"] = true,
  ["session/fork"] = true,
}

---@alias rat.Meta rat.msg.Meta

---@param json string?
---@return table? meta nil if it is no object, or nested too deeply for the decoder
local function decode(json)
  local options = { luanil = { object = true, array = true } }
  local ok, meta = pcall(vim.json.decode, json or "", options)
  return ok and type(meta) == "table" and meta or nil
end

--- Handles `_meta` of a message.
---@param payload rat.Meta
function M.arrived(payload)
  local chat = registry.get(payload.chat)
  if not chat then
    return
  end
  local meta = decode(payload.json)
  if starts_session[payload.kind] then
    chat.meta = meta
  elseif payload.kind == "session_info_update" and meta then
    chat.meta = vim.tbl_extend("force", chat.meta or {}, meta)
  end
  notify.event("RatMeta", {
    chat = payload.chat,
    session_id = payload.session_id,
    kind = payload.kind,
    id = payload.id,
    meta = meta,
    size = payload.size,
  })
end

return M
