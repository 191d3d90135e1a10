--- What agents add to what the protocol says (ACP `_meta`): keeps the session's, and tells autocommands of all of it.
local M = {}

---@type table<string, true> calls whose answer begins a session
local begins = {
  ["session/new"] = true,
  ["session/load"] = true,
  ["session/resume"] = true,
  ["session/fork"] = true,
}

---@class rat.Meta
---@field chat integer
---@field session_id? string
---@field kind string
---@field id? string of the tool call
---@field json? string none where it is too large
---@field size integer bytes

---@param json string?
---@return table? meta nil also where it is nested deeper than Lua takes
local function decode(json)
  local options = { luanil = { object = true, array = true } }
  local ok, meta = pcall(vim.json.decode, json or "", options)
  return ok and type(meta) == "table" and meta or nil
end

--- The binary has something for the user's own code.
---@param payload rat.Meta
function M.arrived(payload)
  local chat = require("rat.chat").get(payload.chat)
  if not chat then
    return
  end
  local meta = decode(payload.json)
  if begins[payload.kind] then
    chat.meta = meta
  elseif payload.kind == "session_info_update" and meta then
    chat.meta = vim.tbl_extend("force", chat.meta or {}, meta)
  end
  require("rat.say").event("RatMeta", {
    chat = payload.chat,
    session_id = payload.session_id,
    kind = payload.kind,
    id = payload.id,
    meta = meta,
    size = payload.size,
  })
end

return M
