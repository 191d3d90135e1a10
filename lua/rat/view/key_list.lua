--- Lists the keys of a buffer in a floating window, as the user has chosen them.
local config_keys = require("rat.config.keys")
local scratch = require("rat.view.scratch")

local M = {}

--- Shows keys with what they do.
---@param keys {[1]: string, [2]: string}[] each a key, or several as one text, and what it does
function M.show(keys)
  local current, width = config_keys.current(keys), 0
  for _, key in ipairs(current) do
    width = math.max(width, vim.api.nvim_strwidth(key[1]))
  end
  local lines = vim.tbl_map(function(key)
    local padding = (" "):rep(width - vim.api.nvim_strwidth(key[1]))
    return (" %s%s  %s "):format(key[1], padding, key[2])
  end, current)
  scratch.float(lines, "Keys")
end

return M
