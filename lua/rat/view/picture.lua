--- Shows image files inside Neovim with a plugin the user has: snacks.nvim or image.nvim. It draws none itself.
local M = {}

---@param path string
---@return integer buf
---@return integer win
local function split(path)
  local scratch = require("rat.scratch")
  local name = require("rat.names").last_part(path)
  local buf = vim.api.nvim_create_buf(false, true)
  scratch.name(buf, ("rat://image/%d/shown/%s"):format(buf, name))
  scratch.dress(buf, "")
  vim.bo[buf].bufhidden = "wipe"
  scratch.split(buf, name, { focus = true, wrap = false })
  return buf, vim.api.nvim_get_current_win()
end

--- How the user's plugin shows an image; nil where there is none that can.
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

--- Whether images can be shown here.
---@return boolean
function M.can()
  -- What a plugin of the user's throws is no reason not to offer the rest.
  local ok, show = pcall(viewer)
  return ok and show ~= nil
end

--- Shows an image in a split.
---@param path string
function M.show(path)
  local show = viewer()
  local ok, problem = pcall(show or error, path)
  if not ok then
    require("rat.say").error(("%s was not shown: %s"):format(path, problem))
  end
end

return M
