--- The room windows have: takes what ours need from ours, gives the user's back what they had.
local M = {}

---@class rat.Room
---@field list integer[] the windows
---@field sizes string as |winrestcmd()| gives them
---@field views table<integer, table> as |winsaveview()| gives them, with the buffer
---@field editor integer[] columns and lines

--- The windows of a tab page that are part of its layout.
---@param tab integer
---@return integer[]
function M.tiled(tab)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == ""
  end, vim.api.nvim_tabpage_list_wins(tab))
end

--- Sizes and views of the user's windows, to be restored.
---@return rat.Room
function M.snapshot()
  local views = {}
  local list = M.tiled(0)
  for _, win in ipairs(list) do
    views[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    views[win].buf = vim.api.nvim_win_get_buf(win)
  end
  local editor = { vim.o.columns, vim.o.lines }
  return { list = list, sizes = vim.fn.winrestcmd(), views = views, editor = editor }
end

--- Gives the windows that were there before their sizes and views back, unless something else changed meanwhile.
---@param before rat.Room
function M.restore(before)
  if
    not vim.deep_equal(before.list, M.tiled(0))
    or not vim.deep_equal(before.editor, { vim.o.columns, vim.o.lines })
  then
    return
  end
  vim.cmd(before.sizes)
  for win, view in pairs(before.views) do
    local cursor = vim.api.nvim_win_get_cursor(win)
    local same = cursor[1] == view.lnum and cursor[2] == view.col
    if same and vim.api.nvim_win_get_buf(win) == view.buf then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

--- Opens a split without entering it. An autocommand of the user's that fails does not keep it from opening.
---@param buf integer
---@param place vim.api.keyset.win_config
---@return integer win
function M.open(buf, place)
  local before = vim.api.nvim_list_wins()
  local ok, win = pcall(vim.api.nvim_open_win, buf, false, place)
  if not ok then
    local problem = win
    win = vim.iter(vim.api.nvim_list_wins()):find(function(one)
      return not vim.list_contains(before, one)
    end)
    if not win then
      local no_room = tostring(problem):find("E36:", 1, true)
      error(no_room and "there is no room for another window: close one first" or problem, 0)
    end
    if vim.api.nvim_win_get_buf(win) ~= buf then
      M.show(win, buf)
    end
  end
  -- Neovim before 0.12 forgets the height of a split at the edge of the screen.
  if place.win == -1 and place.height then
    vim.api.nvim_win_set_height(win, place.height)
  end
  return win
end

--- Makes a window the current one, whatever the user's autocommands for that do.
---@param win integer
function M.enter(win)
  local ok, problem = pcall(vim.api.nvim_set_current_win, win)
  if not ok and vim.api.nvim_get_current_win() ~= win then
    error(problem, 0)
  end
end

--- Shows a buffer in a window, whatever the user's autocommands for that do.
---@param win integer
---@param buf integer
function M.show(win, buf)
  local ok, problem = pcall(vim.api.nvim_win_set_buf, win, buf)
  if not ok and vim.api.nvim_win_get_buf(win) ~= buf then
    error(problem, 0)
  end
end

--- The width and height of each window of the current tab page.
---@return table<integer, integer[]>
function M.sizes()
  local sizes = {}
  for _, win in ipairs(M.tiled(0)) do
    sizes[win] = { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
  end
  return sizes
end

--- Gives every window a size. Together they have to fill the screen.
---@param sizes table<integer, integer[]> width and height
function M.settle(sizes)
  local fixed = {}
  for _, win in ipairs(M.tiled(0)) do
    -- Room would never be taken from a fixed window, but from another one.
    fixed[win] = { vim.wo[win].winfixwidth, vim.wo[win].winfixheight }
    vim.wo[win][0].winfixwidth, vim.wo[win][0].winfixheight = false, false
  end
  -- The first round may find no room that the second one has, as in |winrestcmd()|.
  for _ = 1, 2 do
    for _, win in ipairs(M.tiled(0)) do
      if sizes[win] then
        vim.api.nvim_win_set_width(win, sizes[win][1])
        vim.api.nvim_win_set_height(win, sizes[win][2])
      end
    end
  end
  for win, was in pairs(fixed) do
    vim.wo[win][0].winfixwidth, vim.wo[win][0].winfixheight = was[1], was[2]
  end
end

return M
