--- Sets the sizes of a chat's windows: the chat gets a share of the screen, and the prompt, the plan and the tool calls are
--- as high as their text, unless the user has resized them. It opens and closes no window.
local columns = require("rat.view.columns")
local config = require("rat.config")
local splits = require("rat.view.splits")

local M = {}

---@class rat.Size
---@field screen integer[] value of `screen()` when we last set sizes
---@field all table<integer, integer[]> width and height of each window then
---@field extent? integer columns or lines of the chat that we last set
---@field share? number share of the screen that the user chose by resizing
---@field prompt? integer height of the prompt that we last set
---@field chosen_prompt? integer height of the prompt that the user chose
---@field stacked table<rat.View, integer> heights of the plan and the tool calls that we last set
---@field user_sized table<rat.View, true> those of them whose height the user chose

--- Views whose windows are above the transcript.
---@type rat.View[]
local STACKED = { "plan", "tools" }

M.PROMPT_MIN = 5
local PROMPT_MAX = 12
local WIDTH_MIN, HEIGHT_MIN = 40, 8
--- Stacked windows take at most a third of the room they share with the transcript, but may have this many lines.
M.STACKED_MIN = 3

---@return rat.Size
function M.new()
  return { screen = {}, all = {}, stacked = {}, user_sized = {} }
end

--- Returns everything that determines how much room the windows have. The columns come first.
---@return integer[]
local function screen()
  return vim.list_extend(splits.screen(), { #splits.tiled(0) })
end

--- Whether the chat is beside the user's windows, not above or below them.
---@return boolean
local function is_beside()
  local position = config.get().layout.position
  return position == "right" or position == "left"
end

--- The option that keeps the size of the transcript, beside which or above and below which the user's windows are.
---@return "winfixwidth"|"winfixheight"
function M.fixed_side()
  local position = config.get().layout.position
  return (position == "top" or position == "bottom") and "winfixheight" or "winfixwidth"
end

--- Returns the width or height of a chat: what the user wants, but it leaves them at least 20 columns or lines, and is
--- itself at least a usable minimum or half of the screen.
---@param size? rat.Size
---@return integer
function M.extent(size)
  local total = is_beside() and vim.o.columns or vim.o.lines
  local minimum = is_beside() and WIDTH_MIN or HEIGHT_MIN + M.PROMPT_MIN
  local share = size and size.share or config.get().layout.size
  local wanted = share < 1 and math.floor(total * share) or math.floor(share)
  return math.max(math.min(minimum, math.floor(total / 2)), math.min(wanted, total - 20))
end

--- Returns the columns that a chat's windows take, or their lines including the separators.
---@param windows table<rat.View, integer>
---@return integer
local function occupied(windows)
  local lines = -1
  for _, win in pairs(windows) do
    if is_beside() then
      return vim.api.nvim_win_get_width(win)
    end
    lines = lines + vim.api.nvim_win_get_height(win) + 1
  end
  return lines
end

--- Records the current sizes as the ones we have set.
---@param layout rat.Layout
function M.remember(layout)
  local size = layout.size
  size.screen, size.all = screen(), splits.sizes()
  if config.get().layout.position ~= "tab" and next(layout.windows) then
    size.extent = occupied(layout.windows)
  end
  size.prompt = layout.windows.prompt and vim.api.nvim_win_get_height(layout.windows.prompt)
  size.stacked = {}
  for _, view in ipairs(STACKED) do
    local win = layout.windows[view]
    size.stacked[view] = win and vim.api.nvim_win_get_height(win)
  end
end

--- Fits the heights of the plan and the tool calls to their text. Only the transcript gives or gets the room.
---@param layout rat.Layout
function M.fit_stacked(layout)
  for _, view in ipairs(STACKED) do
    local win, below = layout.windows[view], layout.windows.chat
    if win and below and not layout.size.user_sized[view] then
      local now = vim.api.nvim_win_get_height(win)
      local both = now + vim.api.nvim_win_get_height(below)
      local limit = math.max(M.STACKED_MIN, math.floor((both + 1) / 3))
      -- One more for the winbar.
      local height = math.min(vim.api.nvim_win_text_height(win, {}).all + 1, limit)
      if height ~= now then
        local sizes = splits.sizes()
        sizes[below][2], sizes[win][2] = both - height, height
        splits.set_sizes(sizes)
      end
      layout.size.stacked[view] = vim.api.nvim_win_get_height(win)
    end
  end
end

--- Fits the height of the prompt to its text. Only the transcript gives or gets the room.
---@param layout rat.Layout
---@param reapply? boolean whether to set a height that the user chose again; otherwise nothing is done then
function M.fit(layout, reapply)
  local win, above = layout.windows.prompt, layout.windows.chat
  if not (win and above) or (layout.size.chosen_prompt and not reapply) then
    return
  end
  local now = vim.api.nvim_win_get_height(win)
  local both = now + vim.api.nvim_win_get_height(above)
  local text = vim.api.nvim_win_text_height(win, {}).all + 1
  local wanted = layout.size.chosen_prompt or math.min(text, PROMPT_MAX)
  local height = math.max(M.PROMPT_MIN, math.min(wanted, math.floor(both / 2)))
  if height ~= now then
    local sizes = splits.sizes()
    sizes[above][2], sizes[win][2] = sizes[above][2] + now - height, height
    splits.set_sizes(sizes)
  end
  layout.size.prompt = vim.api.nvim_win_get_height(win)
end

--- Sets the columns of the chat's windows, and scales those of the user to the rest of the screen.
---@param windows table<rat.View, integer>
---@param wanted integer columns of the chat
---@param before table<integer, integer[]> see `splits.sizes`
---@param keep_narrow boolean see `columns.scale`
function M.set_columns(windows, wanted, before, keep_narrow)
  local ours = {}
  for _, win in pairs(windows) do
    ours[win] = wanted
  end
  columns.scale(before, ours, keep_narrow)
end

--- Sets the sizes again after the screen or the number of windows has changed.
---@param layout rat.Layout
local function apply(layout)
  local win = layout.windows.chat or layout.windows.prompt
  if win and layout.size.extent then
    local wanted = M.extent(layout.size)
    if not is_beside() then
      local height = vim.api.nvim_win_get_height(win) + wanted - occupied(layout.windows)
      splits.resize(function()
        vim.api.nvim_win_set_height(win, math.max(1, height))
      end)
    elseif layout.size.screen[1] ~= vim.o.columns then
      M.set_columns(layout.windows, wanted, layout.size.all, false)
    end
    if is_beside() then
      vim.api.nvim_win_set_width(win, wanted)
    end
  end
  M.fit(layout, true)
  M.fit_stacked(layout)
  M.remember(layout)
end

--- Whether Neovim decides how wide the chat is: a window of the user's gets the columns of 'winwidth' when it is entered,
--- whatever that leaves to the others.
---@param size rat.Size
---@return boolean
local function is_too_narrow(size)
  return is_beside() and vim.o.columns - M.extent(size) - 1 < vim.o.winwidth
end

--- Records sizes that differ from the ones we have set as chosen by the user.
---@param layout rat.Layout
local function learn_from_user(layout)
  local size, now = layout.size, occupied(layout.windows)
  if size.extent and now ~= size.extent and not is_too_narrow(size) then
    -- Half a cell more, so that rounding down in `extent` gives the same size.
    size.share = (now + 0.5) / (is_beside() and vim.o.columns or vim.o.lines)
  end
  local prompt = layout.windows.prompt
  local height = prompt and vim.api.nvim_win_get_height(prompt)
  if size.prompt and height and height ~= size.prompt and layout.windows.chat then
    size.chosen_prompt = height
  end
  for view, set in pairs(size.stacked) do
    local win = layout.windows[view]
    if win and layout.windows.chat and vim.api.nvim_win_get_height(win) ~= set then
      size.user_sized[view] = true
    end
  end
  M.remember(layout)
end

--- Handles a change of sizes in the current tab page. If the screen or the number of windows has changed, Neovim made it,
--- and our sizes are set again; otherwise the user made it, and their sizes are recorded.
---@param layout rat.Layout
function M.follow(layout)
  if next(layout.windows) == nil then
    return
  elseif not vim.deep_equal(layout.size.screen, screen()) then
    apply(layout)
  else
    learn_from_user(layout)
  end
end

return M
