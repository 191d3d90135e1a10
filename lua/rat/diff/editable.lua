--- Makes the right side of a comparison a text that the user can change and write: |:w|, |:x| and |ZZ| accept it, |:q| rejects
--- it. What the user has typed is not thrown away without |:q|!.
local notify = require("rat.util.notify")

local api = vim.api
local M = {}

---@type table<integer, string[]> the lines as they were, by buffer
local originals = {}

--- Whether the user has changed the text.
---@param buf integer
---@return boolean
local function is_changed(buf)
  local original = originals[buf]
  return original ~= nil and not vim.deep_equal(api.nvim_buf_get_lines(buf, 0, -1, true), original)
end

---@param buf integer
---@param accept fun() called when the user writes the buffer
function M.attach(buf, accept)
  originals[buf] = api.nvim_buf_get_lines(buf, 0, -1, true)
  vim.bo[buf].buftype = "acwrite"
  -- Only then do |:x| and |ZZ| write it.
  vim.bo[buf].modified = true
  api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    desc = "rat: accept the text",
    callback = function()
      vim.bo[buf].modified = false
      accept()
    end,
  })
  api.nvim_create_autocmd("QuitPre", {
    buffer = buf,
    desc = "rat: |:q| rejects the text, so there is nothing to write",
    callback = function()
      if not is_changed(buf) then
        vim.bo[buf].modified = false
      end
    end,
  })
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      originals[buf] = nil
    end,
  })
end

--- Whether a key that closes the comparison may throw the text away. Tells the user if it holds changes of theirs.
---@param buf integer
---@return boolean
function M.may_close(buf)
  if api.nvim_buf_is_valid(buf) and is_changed(buf) then
    notify.warn("You have changed the text. ga accepts it, gr rejects it.")
    return false
  end
  return true
end

return M
