--- Opens, moves and closes our floating windows. Neovim sends a window's title to the terminal unchanged, so this is the
--- only module that sets one, and it cleans each.
local punctuation = require("rat.util.punctuation")
local one_line = require("rat.util.text").one_line

local M = {}

---@param config vim.api.keyset.win_config
local function clean(config)
  for _, name in ipairs({ "title", "footer" }) do
    if type(config[name]) == "string" then
      config[name] = one_line(config[name])
    end
  end
end

--- Opens a floating window with a border.
---@param buf integer
---@param config vim.api.keyset.win_config title and footer may contain any text
---@param stay? boolean whether the user stays where they are instead of entering it
---@return integer win
function M.open(buf, config, stay)
  config = vim.tbl_extend("keep", config, { style = "minimal", border = punctuation.border() })
  config.title = config.title ~= "" and config.title or nil
  config.title_pos = config.title and "left" or nil
  clean(config)
  return vim.api.nvim_open_win(buf, not stay, config)
end

--- Changes the position, size and title of a floating window.
---@param win integer
---@param config vim.api.keyset.win_config title and footer may contain any text
function M.move(win, config)
  config = vim.tbl_extend("force", {}, config)
  clean(config)
  vim.api.nvim_win_set_config(win, config)
end

--- Calls a function whenever the screen is resized, as long as the window exists and is floating.
---@param win integer
---@param lay_out fun()
function M.on_resize(win, lay_out)
  vim.api.nvim_create_autocmd("VimResized", {
    desc = "rat: fit a float to the screen",
    callback = function()
      if not vim.api.nvim_win_is_valid(win) then
        return true
      elseif vim.api.nvim_win_get_config(win).relative ~= "" then
        -- The user may have turned it into a split.
        lay_out()
      end
    end,
  })
end

--- Deletes the buffer of a floating window, which closes all its windows: it may have been split. If the user is in one of
--- them, they go back to where they came from.
---@param buf integer
---@param back? integer window the user came from
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

--- Changes the title or footer of a window, if it still exists and is floating.
---@param win integer
---@param config vim.api.keyset.win_config
function M.set_title(win, config)
  if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_config(win).relative ~= "" then
    clean(config)
    vim.api.nvim_win_set_config(win, config)
  end
end

return M
