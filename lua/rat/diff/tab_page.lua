--- A tab page that compares two buffers in native diff mode: opens it, shows buffers in it, and closes both windows
--- together. It does not know what is compared.
local splits = require("rat.view.splits")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

---@class rat.DiffTabPage
---@field tab integer
---@field left integer window
---@field right integer window
---@field back integer window the user came from
---@field closed? boolean
---@field on_closed fun()

--- Turns Neovim's last window, which cannot be closed, back into an ordinary one.
---@param win integer
local function hand_over(win)
  api.nvim_win_call(win, vim.cmd.diffoff)
  if vim.bo[api.nvim_win_get_buf(win)].buftype ~= "" then
    splits.give_to_user(win)
  end
  window_options.set(win, { winbar = vim.go.winbar })
end

---@param page rat.DiffTabPage
---@param go_back boolean whether to return to the window the user came from
local function close(page, go_back)
  if page.closed then
    return
  end
  page.closed = true
  for _, win in ipairs({ page.left, page.right }) do
    if api.nvim_win_is_valid(win) and not pcall(api.nvim_win_close, win, true) then
      hand_over(win)
    end
  end
  if go_back and api.nvim_win_is_valid(page.back) then
    api.nvim_set_current_win(page.back)
  end
  page.on_closed()
end

---@param page rat.DiffTabPage
---@return boolean
local function is_here(page)
  return api.nvim_get_current_tabpage() == page.tab
end

--- Closes both windows when the user closes one.
---@param page rat.DiffTabPage
local function close_together(page)
  api.nvim_create_autocmd("WinClosed", {
    pattern = { tostring(page.left), tostring(page.right) },
    once = true,
    desc = "rat: close both windows of a comparison together",
    callback = function()
      local go_back = is_here(page)
      -- No window can be closed during WinClosed.
      vim.schedule(function()
        close(page, go_back)
      end)
    end,
  })
end

--- Opens a tab page with two empty windows and enters the right one.
---@param on_closed? fun() called once its windows are closed, by the user or by `close`
---@return rat.DiffTabPage
function M.open(on_closed)
  local back = api.nvim_get_current_win()
  vim.cmd.tabnew()
  local empty = api.nvim_get_current_buf()
  vim.bo[empty].bufhidden = "wipe"
  local right = api.nvim_get_current_win()
  ---@type rat.DiffTabPage
  local page = {
    tab = api.nvim_get_current_tabpage(),
    left = api.nvim_open_win(empty, false, { split = "left", win = right }),
    right = right,
    back = back,
    on_closed = on_closed or function() end,
  }
  close_together(page)
  return page
end

--- Shows two buffers in diff mode.
---@param page rat.DiffTabPage
---@param left integer
---@param right integer
function M.compare(page, left, right)
  for _, side in ipairs({ { page.left, left }, { page.right, right } }) do
    local win, buf = unpack(side)
    api.nvim_win_set_buf(win, buf)
    api.nvim_win_call(win, vim.cmd.diffthis)
  end
end

--- Sets the 'winbar' of each side.
---@param page rat.DiffTabPage
---@param left string escaped
---@param right string escaped
function M.set_winbars(page, left, right)
  window_options.set(page.left, { winbar = left })
  window_options.set(page.right, { winbar = right })
end

--- Closes the tab page. If the user is in it, they return to the window they came from.
---@param page rat.DiffTabPage
function M.close(page)
  close(page, is_here(page))
end

return M
