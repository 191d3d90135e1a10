--- Maps the keys of our pages as the user has chosen them, and lists them in a floating window.
local config_keys = require("rat.config.keys")
local notify = require("rat.util.notify")
local scratch = require("rat.view.scratch")

local M = {}

---@class rat.PageKey
---@field [1] string[] modes
---@field [2] string key
---@field [3] fun() action
---@field [4] string description

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

--- Maps keys in the buffer of a page, and `g?`, which lists them.
---@param buf integer
---@param keys rat.PageKey[]
---@param others? {[1]: string, [2]: string}[] keys and commands that are listed, too
function M.map(buf, keys, others)
  for _, key in ipairs(keys) do
    local opts = { buffer = buf, nowait = true, desc = "rat: " .. key[4] }
    config_keys.map(key[1], key[2], notify.guard(key[2], key[3]), opts)
  end
  local function show()
    local listed = vim.tbl_map(function(key)
      return { key[2], key[4] }
    end, keys)
    vim.list_extend(listed, others or {})
    M.show(vim.list_extend(listed, { { "g?", "list these keys" } }))
  end
  config_keys.map("n", "g?", show, { buffer = buf, nowait = true, desc = "rat: list the keys" })
end

return M
