--- Floats of ours. A window's title goes to the terminal as it is, so this is the only place that sets one.
local one_line = require("rat.text").one_line

local M = {}

---@param config vim.api.keyset.win_config
local function clean(config)
  for _, name in ipairs({ "title", "footer" }) do
    if type(config[name]) == "string" then
      config[name] = one_line(config[name])
    end
  end
end

--- Opens a float with a frame and enters it.
---@param buf integer
---@param config vim.api.keyset.win_config title and footer are texts of anybody's
---@return integer win
function M.open(buf, config)
  config = vim.tbl_extend("keep", config, { style = "minimal", border = "rounded" })
  config.title_pos = config.title and "left" or nil
  clean(config)
  return vim.api.nvim_open_win(buf, true, config)
end

--- Closes every window of a float's buffer: it may have been split. Who was in one goes back.
---@param buf integer
---@param back? integer the window the user came from
function M.close(buf, back)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local current = vim.api.nvim_get_current_buf() == buf
  vim.api.nvim_buf_delete(buf, { force = true })
  if current and back and vim.api.nvim_win_is_valid(back) then
    vim.api.nvim_set_current_win(back)
  end
end

--- Gives a window another title or footer, if it is still there and a float.
---@param win integer
---@param config vim.api.keyset.win_config what changes
function M.name(win, config)
  if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_config(win).relative ~= "" then
    clean(config)
    vim.api.nvim_win_set_config(win, config)
  end
end

return M
