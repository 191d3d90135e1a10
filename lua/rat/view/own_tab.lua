--- Knows whether the user is on a tab page of ours, also while its last window is being closed.
local api = vim.api
local M = {}

--- Watches a tab page.
---@param tab integer
---@return fun(): boolean is_here whether the user is there, or was until its last window began to close just now
function M.watch(tab)
  local has_just_left = false
  api.nvim_create_autocmd("TabLeave", {
    desc = "rat: Neovim goes to another tab page before it closes the last window of one",
    callback = function()
      if not api.nvim_tabpage_is_valid(tab) then
        return true
      end
      if api.nvim_get_current_tabpage() == tab then
        has_just_left = true
        vim.schedule(function()
          has_just_left = false
        end)
      end
    end,
  })
  return function()
    return has_just_left or api.nvim_get_current_tabpage() == tab
  end
end

return M
