--- Shows image files inside Neovim with a plugin that the user has installed: snacks.nvim or image.nvim.
local names = require("rat.chat.names")
local notify = require("rat.util.notify")
local page = require("rat.view.page")
local scratch = require("rat.view.scratch")

local M = {}

---@param path string
---@return integer buf
---@return integer win
local function split(path)
  local name = names.last_part(path)
  local buf = vim.api.nvim_create_buf(false, true)
  scratch.name(buf, ("rat://image/%d/shown/%s"):format(buf, name))
  scratch.set_options(buf, "")
  vim.bo[buf].bufhidden = "wipe"
  page.open(buf, name, { focus = true, wrap = false })
  return buf, vim.api.nvim_get_current_win()
end

--- Returns a function that shows an image with the user's plugin; nil if there is none that can.
---@return fun(path: string)?
local function viewer()
  local loaded, snacks = pcall(require, "snacks.image")
  if loaded and snacks.config.enabled ~= false and snacks.supports_terminal() then
    return function(path)
      require("snacks.image.buf").attach((split(path)), { src = path })
    end
  end
  local image
  loaded, image = pcall(require, "image")
  if loaded and type(image.hijack_buffer) == "function" then
    return function(path)
      local buf, win = split(path)
      image.hijack_buffer(path, win, buf)
    end
  end
end

--- Whether images can be shown.
---@return boolean
function M.is_available()
  -- An error in the user's plugin must not prevent the other choices from being offered.
  local ok, show = pcall(viewer)
  return ok and show ~= nil
end

--- Shows an image in a split.
---@param path string
function M.show(path)
  local show = viewer()
  local ok, problem = pcall(show or error --[[@as fun(path: string)]], path)
  if not ok then
    notify.error(("Could not show %s: %s"):format(path, problem))
  end
end

return M
