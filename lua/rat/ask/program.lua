--- Runs a program for the user in the terminal of the current buffer.
local M = {}

--- Starts a program. `termopen()` is deprecated from Neovim 0.11 on.
---@param command string[]
---@param opts table as for |jobstart()|
---@return boolean ok
---@return integer|string job or why it could not be started
function M.run(command, opts)
  if vim.fn.has("nvim-0.11") == 1 then
    opts.term = true
    local ok, job = pcall(vim.fn.jobstart, command, opts)
    return ok, job
  end
  ---@diagnostic disable-next-line: deprecated
  local ok, job = pcall(vim.fn.termopen, command, opts)
  return ok, job
end

return M
