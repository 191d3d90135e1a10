--- Opens and hides the windows of a chat and sets their winbars. It does not touch windows that it has not opened, and draws
--- nothing in the buffers.
local autoscroll = require("rat.view.autoscroll")
local buffers = require("rat.chat.buffers")
local config = require("rat.config")
local conflict = require("rat.document.conflict")
local groups = require("rat.view.groups")
local idle = require("rat.util.idle")
local misplaced_buffer = require("rat.view.misplaced_buffer")
local registry = require("rat.chat.registry")
local size = require("rat.view.size")
local splits = require("rat.view.splits")
local window_options = require("rat.view.window_options")
local winbar = require("rat.view.winbar")

local M = {}

---@class rat.Layout
---@field chat rat.Chat
---@field windows table<rat.View, integer> the open ones
---@field before rat.SavedSplits the user's windows before the chat opened
---@field size rat.Size

--- Layouts by tab page.
---@type table<integer, rat.Layout>
local layouts = {}

--- The window of the last QuitPre.
---@type integer?
local quit_window

--- Where the user was when they asked for a chat. It takes the focus only if they are still there.
---@type {win: integer, buf: integer, tick: integer}?
local asked_from

--- Returns a window of a tab page that shows a buffer, such as one that the user has split off.
---@param tab integer
---@param buf? integer
---@return integer?
local function other_window(tab, buf)
  return vim.iter(buf and splits.tiled(tab) or {}):find(function(win)
    return vim.api.nvim_win_get_buf(win) == buf
  end)
end

--- Returns the layout of a tab page after removing windows that the user has closed or that show another buffer.
---@param tab? integer
---@return rat.Layout?
local function layout_of(tab)
  tab = tab or vim.api.nvim_get_current_tabpage()
  local layout = layouts[tab]
  if not layout then
    return nil
  end
  for view, win in pairs(layout.windows) do
    local buf = vim.api.nvim_win_is_valid(win)
      and vim.api.nvim_win_get_tabpage(win) == tab
      and vim.api.nvim_win_get_buf(win)
    local own = layout.chat.buffers[view]
    if buf ~= own then
      layout.windows[view] = other_window(tab, own)
    end
  end
  return layout
end

---@param layout rat.Layout?
---@return boolean
local function is_empty(layout)
  return not layout or next(layout.windows) == nil
end

--- Opens a split without entering it. One next to another window takes its room from that window alone.
---@param buf integer
---@param place vim.api.keyset.win_config
---@param fixed string "winfixwidth" or "winfixheight"
---@return integer win
local function open_window(buf, place, fixed)
  local beside = place.win > 0 and place.win or nil
  local before = beside and splits.sizes()
  local win = splits.open(buf, place)
  window_options.apply_if_missing(win)
  if beside and before then
    local taken = place.height or vim.api.nvim_win_get_height(win)
    before[win] = { before[beside][1], taken }
    before[beside][2] = before[beside][2] - taken - 1
    splits.set_sizes(before)
  end
  window_options.set(win, { winfixheight = false, winfixwidth = false })
  window_options.set(win, { [fixed] = true })
  return win
end

---@param layout rat.Layout
local function open_transcript(layout)
  local buf = buffers.get(layout.chat, "chat")
  local position = config.get().layout.position
  local prompt = layout.windows.prompt
  if prompt then
    layout.windows.chat = open_window(buf, { split = "above", win = prompt }, "winfixwidth")
  elseif position == "right" or position == "left" then
    local columns, before = size.extent(layout.size), splits.sizes()
    local place = { split = position, win = -1, width = columns }
    layout.windows.chat = open_window(buf, place, "winfixwidth")
    size.set_columns(layout.windows, columns, before, true)
  else
    local side = position == "top" and "above" or "below"
    local place = { split = side, win = -1, height = size.extent(layout.size) }
    layout.windows.chat = open_window(buf, place, "winfixheight")
  end
end

---@param layout rat.Layout
local function open_prompt(layout)
  local buf = buffers.get(layout.chat, "prompt")
  local place = { split = "below", win = layout.windows.chat, height = size.PROMPT_MIN }
  layout.windows.prompt = open_window(buf, place, "winfixheight")
  layout.size.chosen_prompt = nil
end

--- Shows another chat in the windows of a layout.
---@param layout rat.Layout
---@param other rat.Chat
local function switch(layout, other)
  layout.chat = other
  for view, win in pairs(layout.windows) do
    splits.show(win, buffers.get(other, view))
    window_options.apply(win, view)
  end
end

--- Opens a tab page whose only window shows the transcript.
---@param chat rat.Chat
---@return rat.Layout
local function new_tab(chat)
  vim.cmd.tabnew()
  local blank = vim.api.nvim_get_current_buf()
  local win = vim.api.nvim_get_current_win()
  splits.show(win, buffers.get(chat, "chat"))
  window_options.apply_if_missing(win)
  vim.api.nvim_buf_delete(blank, {})
  return { chat = chat, windows = { chat = win }, before = splits.snapshot(), size = size.new() }
end

--- Whether the user is idle and still where they asked for the chat. Clears that record.
---@return boolean
local function may_focus()
  local from = asked_from
  asked_from = nil
  return from ~= nil
    and from.win == vim.api.nvim_get_current_win()
    and from.buf == vim.api.nvim_get_current_buf()
    and from.tick == vim.api.nvim_buf_get_changedtick(from.buf)
    and idle.is_idle()
end

--- Records that the user has asked for a chat that is not open yet: it may take the focus if they are still here then.
function M.expect_focus()
  local buf = vim.api.nvim_get_current_buf()
  asked_from = {
    win = vim.api.nvim_get_current_win(),
    buf = buf,
    tick = vim.api.nvim_buf_get_changedtick(buf),
  }
end

--- Enters the prompt of the current tab page, and opens its window if it was closed.
function M.enter_prompt()
  local layout = layout_of()
  if layout and layout.windows.chat and not layout.windows.prompt then
    open_prompt(layout)
    size.remember(layout)
  end
  if layout and layout.windows.prompt then
    splits.enter(layout.windows.prompt)
    if config.get().start_insert then
      vim.cmd("startinsert!")
    end
  end
end

--- Closes the window of the plan or the tool calls, and gives its room to the transcript below.
---@param layout rat.Layout
---@param view rat.View
local function close_stacked(layout, view)
  local win, below = layout.windows[view], layout.windows.chat
  local before = splits.sizes()
  if below then
    before[below][2] = before[below][2] + before[win][2] + 1
  end
  local here = vim.api.nvim_get_current_win() == win
  vim.api.nvim_win_close(win, true)
  if below then
    splits.set_sizes(before)
  end
  if here and below then
    splits.enter(below)
  end
  layout.windows[view] = nil
  size.remember(layout)
end

--- Shows or hides the plan or the tool calls above the transcript.
---@param chat rat.Chat
---@param view "plan"|"tools"
function M.toggle_view(chat, view)
  local layout = layout_of()
  if layout and layout.windows[view] then
    return close_stacked(layout, view)
  end
  if is_empty(layout) or layout.chat ~= chat then
    M.open(chat)
    layout = assert(layout_of())
  end
  ---@cast layout rat.Layout
  local above = layout.windows.chat or layout.windows.prompt
  local place = { split = "above", win = above, height = size.STACKED_MIN }
  layout.windows[view] = open_window(buffers.get(chat, view), place, "winfixheight")
  layout.size.user_sized[view] = nil
  size.fit_stacked(layout)
  size.remember(layout)
  M.refresh(chat)
end

--- Returns the chat that the current tab page shows.
---@return rat.Chat?
function M.visible()
  local layout = layout_of()
  return not is_empty(layout) and layout.chat or nil
end

--- Returns the windows of the current tab page that show a chat, including those that the user has split off.
---@param chat rat.Chat
---@return integer[]
local function windows_of(chat)
  return vim.tbl_filter(function(win)
    return registry.of(vim.api.nvim_win_get_buf(win)) == chat
  end, splits.tiled(0))
end

--- Closes the windows of the chat in the current tab page and restores the user's windows.
function M.hide()
  local layout = layout_of()
  layouts[vim.api.nvim_get_current_tabpage()] = nil
  local here = registry.of(vim.api.nvim_get_current_buf())
  local chat = layout and not is_empty(layout) and layout.chat or here
  if not chat then
    return
  end
  -- Showing again shows the chat that was hidden last.
  registry.touch(chat)
  for _, win in ipairs(windows_of(chat)) do
    if #splits.tiled(0) > 1 then
      vim.api.nvim_win_close(win, true)
    elseif #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose()
      return
    else
      splits.give_to_user(win)
    end
  end
  if layout then
    splits.restore(layout.before)
  end
end

--- Closes the windows of a chat in all tab pages.
---@param chat rat.Chat
function M.close(chat)
  if M.visible() == chat or registry.of(vim.api.nvim_get_current_buf()) == chat then
    M.hide()
  end
  for tab, layout in pairs(layouts) do
    if layout.chat == chat then
      layouts[tab] = nil
    end
  end
  for _, buf in pairs(chat.buffers) do
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      -- The last window of Neovim stays.
      pcall(vim.api.nvim_win_close, win, true)
    end
  end
end

--- Fits the height of the prompt window of the current tab page to its text.
---@param chat rat.Chat
function M.fit(chat)
  local layout = layout_of()
  if layout and layout.chat == chat then
    size.fit(layout)
  end
end

--- Fits the heights of the plan and the tool calls of the current tab page to what is drawn in them.
---@param id integer number of the chat
function M.fit_stacked(id)
  local layout = layout_of()
  if layout and layout.chat.id == id then
    size.fit_stacked(layout)
  end
end

--- Updates the winbars of a chat's windows.
---@param chat rat.Chat
function M.refresh(chat)
  for tab in pairs(layouts) do
    local layout = vim.api.nvim_tabpage_is_valid(tab) and layout_of(tab)
    if not layout then
      layouts[tab] = nil
    elseif layout.chat == chat then
      for view, win in pairs(layout.windows) do
        local bar = winbar.text(chat, view, vim.api.nvim_win_get_width(win))
        if vim.wo[win].winbar ~= bar then
          window_options.set(win, { winbar = bar })
        end
      end
    end
  end
end

local function refresh_all()
  for _, layout in pairs(layouts) do
    M.refresh(layout.chat)
  end
end

conflict.on_count(refresh_all)

--- Sets options and winbars of windows that a session file has restored: they belong to no layout, and the file may
--- contain other values.
---@param chat rat.Chat
function M.apply_restored(chat)
  for view, buf in pairs(chat.buffers) do
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      window_options.apply(win, view)
      window_options.set(win, { winbar = winbar.text(chat, view, vim.api.nvim_win_get_width(win)) })
    end
  end
end

--- Moves a buffer that was opened in a window of the chat to a window of the user's.
local function move_misplaced()
  local layout, win = layouts[vim.api.nvim_get_current_tabpage()], vim.api.nvim_get_current_win()
  for view, view_win in pairs(layout and layout.windows or {}) do
    local own = layout.chat.buffers[view]
    if view_win == win and own and vim.api.nvim_win_get_buf(win) ~= own then
      -- Scheduled, since the code that opened it may still set the cursor.
      vim.schedule(function()
        if misplaced_buffer.move(win, own) then
          layout.windows[view] = win
          size.follow(layout)
          M.refresh(layout.chat)
        end
      end)
    end
  end
end

--- Handles a change of sizes in the current tab page.
local function follow_sizes()
  local layout = layout_of()
  if layout then
    size.follow(layout)
    autoscroll.fill_windows({ layout.windows.chat })
  end
end

--- Handles the closing of a window of the current tab page.
---@param was_chat boolean whether it showed the transcript
---@param with_quit boolean whether it was closed by `:q`, not by `:only` in another window
local function closed(was_chat, with_quit)
  local tab = vim.api.nvim_get_current_tabpage()
  local layout = layouts[tab]
  if layout and is_empty(layout_of(tab)) then
    layouts[tab] = nil
    splits.restore(layout.before)
  elseif layout and was_chat and not layout.windows.chat then
    -- A prompt without its transcript is of little use, so it closes, too, except after `:only` in it.
    if with_quit or #splits.tiled(0) > vim.tbl_count(layout.windows) then
      M.hide()
    end
  end
end

--- Sets the autocommands that keep sizes and winbars up to date, and that restore the user's windows once the last window
--- of ours is closed.
local function watch()
  groups.define()
  local group = vim.api.nvim_create_augroup("rat_window", {})
  vim.api.nvim_create_autocmd("BufWinEnter", { group = group, callback = move_misplaced })
  vim.api.nvim_create_autocmd(
    { "VimResized", "TabEnter" },
    { group = group, callback = follow_sizes }
  )
  vim.api.nvim_create_autocmd("WinResized", {
    group = group,
    callback = function()
      follow_sizes()
      refresh_all()
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    callback = function(event)
      local layout = layouts[vim.api.nvim_get_current_tabpage()]
      local win = tonumber(event.match)
      local was_chat = layout ~= nil and layout.windows.chat == win
      local with_quit = quit_window == win
      -- The window still exists during WinClosed.
      vim.schedule(function()
        closed(was_chat, with_quit)
      end)
    end,
  })
  vim.api.nvim_create_autocmd("QuitPre", {
    group = group,
    callback = function()
      quit_window = vim.api.nvim_get_current_win()
    end,
  })
end

--- Returns the windows of the current tab page that already show a chat, restored from a session file or opened by hand.
---@param chat rat.Chat
---@return table<rat.View, integer>
local function existing_windows(chat)
  local found = {}
  for _, win in ipairs(splits.tiled(0)) do
    local owner, view = registry.of(vim.api.nvim_win_get_buf(win))
    if owner == chat and view and not found[view] then
      found[view] = win
    end
  end
  return found
end

--- Returns a layout for a chat in the current tab page. If chats get a tab page of their own, goes to the chat's or opens one.
---@param chat rat.Chat
---@return rat.Layout
local function layout_for(chat)
  local layout = layout_of()
  if layout and not is_empty(layout) then
    if layout.chat ~= chat then
      switch(layout, chat)
    end
    return layout
  end
  local windows = existing_windows(chat)
  if next(windows) or config.get().layout.position ~= "tab" then
    return { chat = chat, windows = windows, before = splits.snapshot(), size = size.new() }
  end
  for tab, other in pairs(layouts) do
    if
      other.chat == chat
      and vim.api.nvim_tabpage_is_valid(tab)
      and not is_empty(layout_of(tab))
    then
      vim.api.nvim_set_current_tabpage(tab)
      return other
    end
  end
  return new_tab(chat)
end

--- Shows a chat in the current tab page.
---@param chat rat.Chat
---@param focus? boolean|"now" whether to enter the prompt: true does so only if the user is still where they asked for it
function M.open(chat, focus)
  if vim.fn.getcmdwintype() ~= "" then
    -- No window can be opened while the command-line window is open.
    local later = vim.schedule_wrap(function()
      M.open(chat)
    end)
    vim.api.nvim_create_autocmd("CmdwinLeave", { once = true, callback = later })
    return
  end
  local enter = focus == "now" or focus and may_focus()
  local back = vim.api.nvim_get_current_win()
  local layout = layout_for(chat)
  layouts[vim.api.nvim_get_current_tabpage()] = layout
  watch()
  if not layout.windows.chat then
    open_transcript(layout)
  end
  if not layout.windows.prompt then
    open_prompt(layout)
  end
  size.fit(layout)
  size.remember(layout)
  M.refresh(chat)
  registry.touch(chat)
  if enter then
    M.enter_prompt()
  elseif vim.api.nvim_win_is_valid(back) and vim.api.nvim_get_current_win() ~= back then
    splits.enter(back)
  end
end

return M
