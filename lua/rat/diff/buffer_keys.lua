--- Maps keys in a buffer as long as it is compared, without replacing what the user has mapped there.
local notify = require("rat.util.notify")

local api = vim.api
local M = {}

--- Maps keys of Normal mode that the user has not mapped in this buffer. Returns what takes that back.
---@param buf integer
---@param keys table<string, fun()>
---@return fun() unmap
function M.map(buf, keys)
  ---@type string[]
  local mapped = {}
  for key, run in pairs(keys) do
    local is_free = api.nvim_buf_call(buf, function()
      return vim.fn.maparg(key, "n", false, true).buffer ~= 1
    end)
    if is_free then
      mapped[#mapped + 1] = key
      local guarded = notify.guard(key, run)
      vim.keymap.set("n", key, guarded, { buffer = buf, nowait = true, desc = "rat: compare" })
    end
  end
  return function()
    for _, key in ipairs(mapped) do
      pcall(vim.keymap.del, "n", key, { buffer = buf })
    end
  end
end

return M
