--- Makes the right side of a comparison a text that the user can change and write: |:w|, |:x| and |ZZ| accept it, |:q| rejects
--- it.
local api = vim.api
local M = {}

---@param buf integer
---@param accept fun() called when the user writes the buffer
function M.attach(buf, accept)
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
      vim.bo[buf].modified = false
    end,
  })
end

return M
