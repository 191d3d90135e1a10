--- Works with the splits of a tab page, the user's included: opens and enters them even if autocommands fail, and saves,
--- sets and restores their sizes.
local window_options = require("rat.view.window_options")

local M = {}

---@class rat.SavedSplits
---@field list integer[] windows
---@field sizes string result of |winrestcmd()|
---@field views table<integer, table> results of |winsaveview()| by window, with the buffer added
---@field editor integer[] what the room for windows depends on

--- Returns the windows of a tab page that are not floating.
---@param tab integer
---@return integer[]
function M.tiled(tab)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == ""
  end, vim.api.nvim_tabpage_list_wins(tab))
end

--- Returns everything that determines how much room windows have. The columns come first.
---@return integer[]
function M.screen()
  local tabs = vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() > 1
  local bars = { vim.o.cmdheight, vim.o.laststatus, vim.o.showtabline + (tabs and 1 or 0) }
  return { vim.o.columns, vim.o.lines, unpack(bars) }
end

--- Changes sizes. The lines of a window that has none beside it would be given to the command line, or taken from it.
---@param change fun()
function M.resize(change)
  local before = vim.o.cmdheight
  change()
  local after = vim.o.cmdheight
  if after ~= before then
    vim.o.cmdheight = before
  end
end

--- Records the sizes and views of the windows in the current tab page.
---@return rat.SavedSplits
function M.snapshot()
  local views = {}
  local list = M.tiled(0)
  for _, win in ipairs(list) do
    views[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    views[win].buf = vim.api.nvim_win_get_buf(win)
  end
  return { list = list, sizes = vim.fn.winrestcmd(), views = views, editor = M.screen() }
end

--- Restores sizes and views of windows, unless the windows or the screen have changed otherwise. The view of a window whose
--- cursor has moved is left alone.
---@param before rat.SavedSplits
function M.restore(before)
  if
    not vim.deep_equal(before.list, M.tiled(0)) or not vim.deep_equal(before.editor, M.screen())
  then
    return
  end
  M.resize(function()
    vim.cmd(before.sizes)
  end)
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

--- Opens a split without entering it, even if one of the user's autocommands fails meanwhile.
---@param buf integer
---@param place vim.api.keyset.win_config
---@return integer win
function M.open(buf, place)
  local before = vim.api.nvim_list_wins()
  local ok, win = pcall(vim.api.nvim_open_win, buf, false, place)
  if not ok then
    local problem = win
    win = vim.iter(vim.api.nvim_list_wins()):find(function(candidate)
      return not vim.list_contains(before, candidate)
    end)
    if not win then
      local no_room = tostring(problem):find("E36:", 1, true)
      error(no_room and "no room for another window, close one first" or problem, 0)
    end
    if vim.api.nvim_win_get_buf(win) ~= buf then
      M.show(win, buf)
    end
  end
  -- Neovim before 0.12 ignores the height of a split at the edge of the screen.
  if place.win == -1 and place.height then
    M.resize(function()
      vim.api.nvim_win_set_height(win, place.height)
    end)
  end
  return win
end

--- Enters a window, even if one of the user's autocommands fails meanwhile.
---@param win integer
function M.enter(win)
  local ok, problem = pcall(vim.api.nvim_set_current_win, win)
  if not ok and vim.api.nvim_get_current_win() ~= win then
    error(problem, 0)
  end
end

--- Shows a buffer in a window, even if one of the user's autocommands fails meanwhile.
---@param win integer
---@param buf integer
function M.show(win, buf)
  local ok, problem = pcall(vim.api.nvim_win_set_buf, win, buf)
  if not ok and vim.api.nvim_win_get_buf(win) ~= buf then
    error(problem, 0)
  end
end

--- Takes from a window what it has only as one of ours, whatever it shows.
---@param win integer
function M.release(win)
  window_options.set(win, { winfixwidth = false, winfixheight = false, winbar = "" })
end

--- Turns a window of ours that cannot be closed, since it is the last one, into one of the user's: it shows the alternate
--- buffer, else the listed buffer used last, else an empty one.
---@param win integer
function M.give_to_user(win)
  M.release(win)
  vim.api.nvim_win_call(win, function()
    local alternate = vim.fn.bufnr("#")
    local listed = vim.fn.getbufinfo({ buflisted = 1 })
    table.sort(listed, function(a, b)
      return a.lastused > b.lastused
    end)
    if alternate > 0 and vim.fn.buflisted(alternate) == 1 then
      vim.api.nvim_win_set_buf(win, alternate)
    elseif listed[1] then
      vim.api.nvim_win_set_buf(win, listed[1].bufnr)
    else
      vim.cmd.enew()
    end
  end)
end

--- Returns width and height of each window of the current tab page.
---@return table<integer, integer[]>
function M.sizes()
  local sizes = {}
  for _, win in ipairs(M.tiled(0)) do
    sizes[win] = { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
  end
  return sizes
end

--- Sets the sizes of the windows of the current tab page. Together they must fill the screen.
---@param sizes table<integer, integer[]> width and height
function M.set_sizes(sizes)
  local fixed = {}
  for _, win in ipairs(M.tiled(0)) do
    -- Neovim takes no room from a window with a fixed size, but from another one instead.
    fixed[win] = { vim.wo[win].winfixwidth, vim.wo[win].winfixheight }
    vim.wo[win][0].winfixwidth, vim.wo[win][0].winfixheight = false, false
  end
  M.resize(function()
    -- Two rounds, as in |winrestcmd()|: a window may get its room only after others have shrunk.
    for _ = 1, 2 do
      for _, win in ipairs(M.tiled(0)) do
        if sizes[win] then
          vim.api.nvim_win_set_width(win, sizes[win][1])
          vim.api.nvim_win_set_height(win, sizes[win][2])
        end
      end
    end
  end)
  for win, was in pairs(fixed) do
    vim.wo[win][0].winfixwidth, vim.wo[win][0].winfixheight = was[1], was[2]
  end
end

return M
