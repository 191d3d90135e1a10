--- Knows when Neovim cannot take changes. It changes nothing itself.

local api = vim.api
local M = {}

---Whether Neovim lets nobody change text or open windows just now: in an <expr> mapping that waits
---for a key, for example (|textlock|). That is looked at before anything else, a buffer that is not
---there included.
---@return boolean
function M.is_text_locked()
  local _, why = pcall(api.nvim_buf_set_lines, 0x7fffffff, 0, 0, true, {})
  return tostring(why):match("E565") ~= nil or tostring(why):match("E523") ~= nil
end

return M
