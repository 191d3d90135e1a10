--- Makes the lines of a chat wrap at blanks only. 'linebreak' uses 'breakat', which is a global option and by default breaks
--- `5,000`, `/tour`, `x.ts` and URLs. So 'breakat' is changed while no other window on the tab page depends on it, and only
--- if the user has not changed it.
local M = {}

local BLANKS = " \t"

local default = vim.api.nvim_get_option_info2("breakat", {}).default

--- Buffers of chats.
---@type table<integer, true>
local ours = {}
local watching, scheduled = false, false
--- Whether we have changed 'breakat'.
local applied = false

--- Whether the windows on this tab page that depend on 'breakat' all show chats, and there is one.
---@return boolean
local function only_chats_wrap()
  local found = false
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local floats = vim.api.nvim_win_get_config(win).relative ~= ""
    if not floats and vim.wo[win].linebreak and vim.wo[win].wrap then
      if not ours[vim.api.nvim_win_get_buf(win)] then
        return false
      end
      found = true
    end
  end
  return found
end

local function restore()
  if applied and vim.go.breakat == BLANKS then
    vim.go.breakat = default --[[@as string]]
  end
  applied = false
end

local function update()
  scheduled = false
  if not only_chats_wrap() then
    restore()
  elseif vim.go.breakat == default then
    vim.go.breakat = BLANKS
    applied = true
  end
end

local function schedule_update()
  if not scheduled then
    scheduled = true
    vim.schedule(update)
  end
end

--- Makes the lines of a buffer wrap at blanks wherever it is shown.
---@param buf integer
function M.follow(buf)
  ours[buf] = true
  schedule_update()
  if watching then
    return
  end
  watching = true
  local group = vim.api.nvim_create_augroup("rat_line_breaks", {})
  vim.api.nvim_create_autocmd({ "BufWinEnter", "WinEnter", "WinClosed", "TabEnter" }, {
    group = group,
    callback = schedule_update,
  })
  vim.api.nvim_create_autocmd("OptionSet", {
    group = group,
    pattern = { "linebreak", "wrap", "breakat" },
    callback = schedule_update,
  })
  -- A session file saved on exit may contain global options.
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = restore })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    callback = function(event)
      ours[event.buf] = nil
    end,
  })
end

return M
