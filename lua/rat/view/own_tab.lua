--- Knows whether the user is on a tab page of ours, also while its last window is being closed.
local api = vim.api
local M = {}

--- Watches a tab page.
---@param tab integer
---@return fun(): boolean is_here whether the user is there, or was until its last window began to close just now
function M.watch(tab)
  local has_just_left = false
  api.nvim_create_autocmd({ "TabLeave", "WinLeave" }, {
    desc = "rat: Neovim goes to another tab page before it closes the last window of one",
    callback = function(event)
      if not api.nvim_tabpage_is_valid(tab) then
        return true
      end
      has_just_left = event.event == "TabLeave" and api.nvim_get_current_tabpage() == tab
      if has_just_left then
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
