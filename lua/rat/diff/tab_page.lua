--- A tab page that compares two buffers in native diff mode: opens it, shows buffers in it, and closes both windows
--- together. It does not know what is compared.
local own_tab = require("rat.view.own_tab")
local splits = require("rat.view.splits")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

---@class rat.DiffTabPage
---@field left integer window
---@field right integer window
---@field tab integer
---@field back integer window the user came from
---@field is_here fun(): boolean
---@field is_editable? boolean
---@field sides? {left: integer, right: integer} the buffers of a comparison that can be edited
---@field winbars? {left: string, right: string}
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

--- Turns windows that the user has split off into ordinary ones. They have the options of the one they come from.
---@param page rat.DiffTabPage
---@return boolean has_splits
local function hand_over_splits(page)
  local bars, has_splits = page.winbars, false
  if not bars or not api.nvim_tabpage_is_valid(page.tab) then
    return false
  end
  for _, win in ipairs(api.nvim_tabpage_list_wins(page.tab)) do
    if vim.wo[win].winbar == bars.left or vim.wo[win].winbar == bars.right then
      hand_over(win)
      has_splits = true
    end
  end
  return has_splits
end

---@param sides {left: integer, right: integer}?
local function wipe(sides)
  for _, buf in pairs(sides or {}) do
    if api.nvim_buf_is_valid(buf) then
      api.nvim_buf_delete(buf, { force = true })
    end
  end
end

---@param page rat.DiffTabPage
---@param go_back boolean whether to return to the window the user came from, unless they have split one off
local function close(page, go_back)
  if page.closed then
    return
  end
  page.closed = true
  local windows, sides = { page.left, page.right }, page.sides
  if sides and api.nvim_buf_is_valid(sides.right) then
    -- The user may have split it.
    vim.list_extend(windows, vim.fn.win_findbuf(sides.right))
  end
  for _, win in ipairs(windows) do
    if api.nvim_win_is_valid(win) and not pcall(api.nvim_win_close, win, true) then
      hand_over(win)
    end
  end
  local has_splits = hand_over_splits(page)
  if go_back and not has_splits and api.nvim_win_is_valid(page.back) then
    api.nvim_set_current_win(page.back)
  end
  page.on_closed()
  wipe(sides)
end

--- Closes both windows when the user closes one.
---@param page rat.DiffTabPage
local function close_together(page)
  api.nvim_create_autocmd("WinClosed", {
    pattern = { tostring(page.left), tostring(page.right) },
    once = true,
    desc = "rat: close both windows of a comparison together",
    callback = function()
      local go_back = page.is_here()
      -- No window can be closed during WinClosed.
      vim.schedule(function()
        close(page, go_back)
      end)
    end,
  })
end

--- Ends diff mode in the right window when the user closes the left one, to have more room. If they meant to close both and
--- Neovim has refused to close the right one, the left one comes back.
---@param page rat.DiffTabPage
local function watch_left(page)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(page.left),
    once = true,
    desc = "rat: end diff mode",
    callback = function()
      local last_error = vim.v.errmsg
      vim.v.errmsg = ""
      vim.schedule(function()
        local is_refused = vim.startswith(vim.v.errmsg, "E37:")
        vim.v.errmsg = vim.v.errmsg ~= "" and vim.v.errmsg or last_error
        if page.closed or not api.nvim_win_is_valid(page.right) then
          return
        elseif is_refused and page.sides then
          M.compare(page, page.sides.left, page.sides.right)
          return M.set_winbars(page, page.winbars.left, page.winbars.right)
        end
        api.nvim_win_call(page.right, vim.cmd.diffoff)
      end)
    end,
  })
end

--- Closes both windows when the user closes the last one with the text on the right, or lets go of that text.
---@param page rat.DiffTabPage
local function watch_right(page)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(page.right),
    once = true,
    desc = "rat: close both windows of a comparison together",
    callback = function()
      local go_back = page.is_here()
      local other = vim.iter(vim.fn.win_findbuf(page.sides.right)):find(function(win)
        return win ~= page.right
      end)
      if other then
        page.right = other
        return watch_right(page)
      end
      -- No window can be closed during WinClosed.
      vim.schedule(function()
        close(page, go_back)
      end)
    end,
  })
end

---@param page rat.DiffTabPage
---@param left integer
---@param right integer
local function set_sides(page, left, right)
  local old = page.sides
  if old and old.right == right then
    return
  end
  page.sides = { left = left, right = right }
  vim.bo[left].bufhidden = "hide"
  wipe(old)
  api.nvim_create_autocmd("BufUnload", {
    buffer = right,
    desc = "rat: close a comparison whose text is gone",
    callback = function()
      local go_back = page.is_here()
      vim.schedule(function()
        -- |:edit| loads it again.
        if page.sides.right == right and not api.nvim_buf_is_loaded(right) then
          close(page, go_back)
        end
      end)
    end,
  })
end

--- Opens a tab page with two empty windows and enters the right one.
---@param on_closed? fun() called once its windows are closed, by the user or by `close`
---@param is_editable? boolean whether the user may change the text on the right, so that it stays until they close that
---@return rat.DiffTabPage
function M.open(on_closed, is_editable)
  local back = api.nvim_get_current_win()
  vim.cmd.tabnew()
  local empty = api.nvim_get_current_buf()
  vim.bo[empty].bufhidden = "wipe"
  local right = api.nvim_get_current_win()
  ---@type rat.DiffTabPage
  local page = {
    is_editable = is_editable,
    is_here = own_tab.watch(api.nvim_get_current_tabpage()),
    left = api.nvim_open_win(empty, false, { split = "left", win = right }),
    right = right,
    tab = api.nvim_get_current_tabpage(),
    back = back,
    on_closed = on_closed or function() end,
  }
  if is_editable then
    watch_left(page)
    watch_right(page)
  else
    close_together(page)
  end
  return page
end

--- Shows two buffers in diff mode.
---@param page rat.DiffTabPage
---@param left integer
---@param right integer
function M.compare(page, left, right)
  if not api.nvim_win_is_valid(page.left) then
    page.left = api.nvim_open_win(left, false, { split = "left", win = page.right })
    watch_left(page)
  end
  for _, side in ipairs({ { page.left, left }, { page.right, right } }) do
    local win, buf = unpack(side)
    api.nvim_win_set_buf(win, buf)
    api.nvim_win_call(win, vim.cmd.diffthis)
  end
  if page.is_editable then
    set_sides(page, left, right)
  end
end

--- Sets the 'winbar' of each side.
---@param page rat.DiffTabPage
---@param left string escaped
---@param right string escaped
function M.set_winbars(page, left, right)
  page.winbars = { left = left, right = right }
  window_options.set(page.left, { winbar = left })
  window_options.set(page.right, { winbar = right })
end

--- Closes the tab page. If the user is in it, they return to the window they came from.
---@param page rat.DiffTabPage
function M.close(page)
  close(page, page.is_here())
end

--- Moves the cursor of the current window, which is in diff mode, to the first change.
function M.go_to_first_change()
  vim.cmd("silent! normal! gg")
  -- |]c| leaves the change that the cursor is in.
  if vim.fn.diff_hlID(1, 1) == 0 and vim.fn.diff_filler(1) == 0 then
    vim.cmd("silent! normal! ]c")
  end
end

return M
