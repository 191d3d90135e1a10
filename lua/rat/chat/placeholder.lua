--- Shows a placeholder in the empty prompt of a new chat: what it is for, and which keys send it. Virtual text only.
local keys = require("rat.chat.keys")
local ui = require("rat.view.ui")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("rat_placeholder")

---@param chat rat.Chat
---@return boolean
local function has_begun(chat)
  local transcript = chat.buffers.chat
  return transcript ~= nil
    and vim.api.nvim_buf_is_loaded(transcript)
    and ui.next_header(transcript, -1, 1) ~= nil
end

---@param buf integer
---@return boolean
local function is_empty(buf)
  return vim.api.nvim_buf_line_count(buf) == 1
    and vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1] == ""
end

--- Describes the keys that send a prompt as they are mapped now.
---@param buf integer a prompt
---@return string[][] virtual text
local function send_keys_text(buf)
  local normal, insert = keys.send_key(buf, "n"), keys.send_key(buf, "i")
  if normal and normal == insert then
    return { { normal, "RatKey" }, { " sends it.", "RatHint" } }
  elseif normal and insert then
    return {
      { normal, "RatKey" },
      { " sends it, in Insert mode ", "RatHint" },
      { insert, "RatKey" },
      { ".", "RatHint" },
    }
  elseif normal or insert then
    local mode = normal and "Normal" or "Insert"
    return {
      {
        normal or insert --[[@as string]],
        "RatKey",
      },
      { (" in %s mode sends it."):format(mode), "RatHint" },
    }
  end
  return {}
end

--- Shows the placeholder, or removes it once the prompt or the transcript has text.
---@param chat rat.Chat
function M.show(chat)
  local buf = chat.buffers.prompt
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  if chat.status.state == "stopped" or not is_empty(buf) or has_begun(chat) then
    return
  end
  local sending_keys = send_keys_text(buf)
  vim.api.nvim_buf_set_extmark(buf, NAMESPACE, 0, 0, {
    virt_text = { { "Type a message.", "RatHint" } },
    virt_text_pos = "overlay",
    virt_lines = #sending_keys > 0 and { sending_keys } or nil,
  })
end

return M
