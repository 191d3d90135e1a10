--- The sizes of a chat's windows: a share of the screen, and a prompt as high as its text, unless the user resized them.
--- Opens and closes none.
local config = require("rat.config")
local room = require("rat.room")

local M = {}

---@class rat.Size
---@field screen integer[] what there was of it when ours last got their sizes
---@field all table<integer, integer[]> the width and height of each window then
---@field extent? integer columns or lines of the chat as we set them
---@field share? number of the screen, where the user chose another one
---@field prompt? integer lines of the prompt as we set them
---@field chosen? integer lines of the prompt, where the user chose them

M.PROMPT_MIN = 5
local PROMPT_MAX = 12
local WIDTH_MIN, HEIGHT_MIN = 40, 8

---@return rat.Size
function M.new()
  return { screen = {}, all = {} }
end

--- What decides how much room there is for all windows, columns first.
---@return integer[]
local function screen()
  local tabs = vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() > 1
  local bars = { vim.o.cmdheight, vim.o.laststatus, vim.o.showtabline + (tabs and 1 or 0) }
  return { vim.o.columns, vim.o.lines, #room.tiled(0), unpack(bars) }
end

--- Whether the chat stands beside the user's windows; else above or below them.
---@return boolean
local function is_beside()
  local position = config.get().layout.position
  return position == "right" or position == "left"
end

--- The width or height of a chat. Leaves the user's windows at least half, unless they chose otherwise.
---@param size? rat.Size
---@return integer
function M.extent(size)
  local total = is_beside() and vim.o.columns or vim.o.lines
  local least = is_beside() and WIDTH_MIN or HEIGHT_MIN + M.PROMPT_MIN
  local share = size and size.share or config.get().layout.size
  local wanted = share < 1 and math.floor(total * share) or math.floor(share)
  return math.max(math.min(least, math.floor(total / 2)), math.min(wanted, total - 20))
end

--- The columns that a chat's windows take, or their lines with the separators between them.
---@param windows table<rat.View, integer>
---@return integer
local function taken(windows)
  local lines = -1
  for _, win in pairs(windows) do
    if is_beside() then
      return vim.api.nvim_win_get_width(win)
    end
    lines = lines + vim.api.nvim_win_get_height(win) + 1
  end
  return lines
end

--- Remembers the current sizes as set by us.
---@param layout rat.Layout
function M.note(layout)
  local size = layout.size
  size.screen, size.all = screen(), room.sizes()
  if config.get().layout.position ~= "tab" and next(layout.windows) then
    size.extent = taken(layout.windows)
  end
  size.prompt = layout.windows.prompt and vim.api.nvim_win_get_height(layout.windows.prompt)
end

--- Lets the prompt grow and shrink with its text, at the cost of the transcript alone.
---@param layout rat.Layout
---@param anew? boolean although the user chose a height
function M.fit(layout, anew)
  local win, above = layout.windows.prompt, layout.windows.chat
  if not (win and above) or (layout.size.chosen and not anew) then
    return
  end
  local now = vim.api.nvim_win_get_height(win)
  local both = now + vim.api.nvim_win_get_height(above)
  local text = vim.api.nvim_win_text_height(win, {}).all + 1
  local wanted = layout.size.chosen or math.min(text, PROMPT_MAX)
  local height = math.max(M.PROMPT_MIN, math.min(wanted, math.floor(both / 2)))
  if height ~= now then
    local sizes = room.sizes()
    sizes[above][2], sizes[win][2] = sizes[above][2] + now - height, height
    room.settle(sizes)
  end
  layout.size.prompt = vim.api.nvim_win_get_height(win)
end

--- Gives the chat its columns and scales the user's windows to what is left.
---@param layout rat.Layout
---@param columns integer of the chat
local function share_out(layout, columns)
  local ours, sizes, was = vim.tbl_values(layout.windows), room.sizes(), layout.size
  local left, left_before = vim.o.columns - columns - 1, was.screen[1] - was.extent - 1
  for win, size in pairs(sizes) do
    local before = was.all[win]
    if vim.list_contains(ours, win) then
      size[1] = columns
    elseif before and not vim.wo[win].winfixwidth then
      size[1] = math.floor(before[1] * left / left_before + 0.5)
    end
  end
  room.settle(sizes)
end

--- Gives the chat its share again after the screen or the number of windows has changed.
---@param layout rat.Layout
local function place(layout)
  local win = layout.windows.chat or layout.windows.prompt
  if win and layout.size.extent then
    local wanted = M.extent(layout.size)
    if not is_beside() then
      local height = vim.api.nvim_win_get_height(win) + wanted - taken(layout.windows)
      vim.api.nvim_win_set_height(win, math.max(1, height))
    elseif layout.size.screen[1] ~= vim.o.columns then
      share_out(layout, wanted)
    end
    if is_beside() then
      vim.api.nvim_win_set_width(win, wanted)
    end
  end
  M.fit(layout, true)
  M.note(layout)
end

--- Remembers sizes that the user has set.
---@param layout rat.Layout
local function learn(layout)
  local size, now = layout.size, taken(layout.windows)
  if size.extent and now ~= size.extent then
    -- Half a cell more, so that it comes out the same.
    size.share = (now + 0.5) / (is_beside() and vim.o.columns or vim.o.lines)
  end
  local prompt = layout.windows.prompt
  local height = prompt and vim.api.nvim_win_get_height(prompt)
  if size.prompt and height and height ~= size.prompt and layout.windows.chat then
    size.chosen = height
  end
  M.note(layout)
end

--- Follows a change of sizes in the current tab page. With another screen or another number of windows Neovim made it,
--- otherwise the user.
---@param layout rat.Layout
function M.follow(layout)
  if next(layout.windows) == nil then
    return
  elseif not vim.deep_equal(layout.size.screen, screen()) then
    place(layout)
  else
    learn(layout)
  end
end

return M
