--- Opens and hides the windows of a chat and sets their winbars. It does not touch windows that it has not opened, and draws
--- nothing in the buffers.
local autoscroll = require("rat.view.autoscroll")
local buffers = require("rat.chat.buffers")
local config = require("rat.config")
local conflict = require("rat.document.conflict")
local groups = require("rat.view.groups")
local idle = require("rat.util.idle")
local layouts = require("rat.view.layouts")
local misplaced_buffer = require("rat.view.misplaced_buffer")
local registry = require("rat.chat.registry")
local restored = require("rat.view.restored")
local size = require("rat.view.size")
local splits = require("rat.view.splits")
local window_options = require("rat.view.window_options")
local winbar = require("rat.view.winbar")

local M = {}

--- The window of the last QuitPre.
---@type integer?
local quit_window

--- Where the user was when they asked for a chat. It takes the focus only if they are still there.
---@type {win: integer, buf: integer, tick: integer}?
local asked_from

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
    layouts.claim(
      layout,
      "chat",
      open_window(buf, { split = "above", win = prompt }, size.fixed_side())
    )
  elseif position == "right" or position == "left" then
    local columns, before = size.extent(layout.size), splits.sizes()
    local place = { split = position, win = -1, width = columns }
    layouts.claim(layout, "chat", open_window(buf, place, "winfixwidth"))
    size.set_columns(layout.windows, columns, before, true)
  else
    local side = position == "top" and "above" or "below"
    local place = { split = side, win = -1, height = size.extent(layout.size) }
    layouts.claim(layout, "chat", open_window(buf, place, "winfixheight"))
  end
end

---@param layout rat.Layout
local function open_prompt(layout)
  local buf = buffers.get(layout.chat, "prompt")
  local place = { split = "below", win = layout.windows.chat, height = size.PROMPT_MIN }
  layouts.claim(layout, "prompt", open_window(buf, place, "winfixheight"))
  layout.size.chosen_prompt = nil
end

--- Shows another chat in the windows of a layout.
---@param layout rat.Layout
---@param other rat.Chat
local function switch(layout, other)
  layout.chat = other
  for view, win in pairs(layout.windows) do
    layouts.claim(layout, view, win)
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
  local layout = { chat = chat, windows = {}, before = splits.snapshot(), size = size.new() }
  layouts.claim(layout, "chat", win)
  return layout
end

--- Whether the user is idle and still where they asked for the chat; a page of ours changes by itself. Clears that record.
---@return boolean
local function may_focus()
  local from = asked_from
  asked_from = nil
  return from ~= nil
    and from.win == vim.api.nvim_get_current_win()
    and from.buf == vim.api.nvim_get_current_buf()
    and (from.tick == vim.api.nvim_buf_get_changedtick(from.buf) or not vim.bo[from.buf].modifiable)
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
  local layout = layouts.of()
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
  if #splits.tiled(0) == 1 and #vim.api.nvim_list_tabpages() == 1 then
    layout.windows[view], layouts.claimed[win] = nil, nil
    return splits.give_to_user(win)
  end
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
  local layout = layouts.of()
  if layout and layout.windows[view] then
    return close_stacked(layout, view)
  end
  if layouts.is_empty(layout) or layout.chat ~= chat then
    M.open(chat)
    layout = assert(layouts.of())
  end
  ---@cast layout rat.Layout
  local above = layout.windows.chat or layout.windows.prompt
  local place = { split = "above", win = above, height = size.STACKED_MIN }
  layouts.claim(layout, view, open_window(buffers.get(chat, view), place, "winfixheight"))
  layout.size.user_sized[view] = nil
  size.fit_stacked(layout)
  size.remember(layout)
  M.refresh(chat)
end

--- Returns the chat that the current tab page shows.
---@return rat.Chat?
function M.visible()
  local layout = layouts.of()
  return not layouts.is_empty(layout) and layout.chat or nil
end

--- Closes the windows of the chat in the current tab page and restores the user's windows.
function M.hide()
  local layout = layouts.of()
  layouts.all[vim.api.nvim_get_current_tabpage()] = nil
  local here = registry.of(vim.api.nvim_get_current_buf())
  local chat = layout and not layouts.is_empty(layout) and layout.chat or here
  if not chat then
    return
  end
  -- Showing again shows the chat that was hidden last.
  registry.touch(chat)
  for _, win in ipairs(layouts.windows_of(chat, 0)) do
    if #splits.tiled(0) > 1 then
      vim.api.nvim_win_close(win, true)
    elseif #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose()
      return
    else
      layouts.claimed[win] = nil
      splits.give_to_user(win)
    end
  end
  if layout then
    splits.restore(layout.before)
  end
end

--- Closes the windows of a chat in a tab page.
---@param chat rat.Chat
---@param tab integer
local function close_in(chat, tab)
  if not vim.api.nvim_tabpage_is_valid(tab) then
    return
  elseif tab == vim.api.nvim_get_current_tabpage() then
    return M.visible() == chat and M.hide()
  end
  layouts.all[tab] = nil
  for _, win in ipairs(layouts.windows_of(chat, tab)) do
    pcall(vim.api.nvim_win_close, win, true)
  end
end

--- Closes the windows of a chat in all tab pages.
---@param chat rat.Chat
function M.close(chat)
  if M.visible() == chat or registry.of(vim.api.nvim_get_current_buf()) == chat then
    M.hide()
  end
  for tab, layout in pairs(layouts.all) do
    if layout.chat == chat then
      layouts.all[tab] = nil
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
  local layout = layouts.of()
  if layout and layout.chat == chat then
    size.fit(layout)
  end
end

--- Fits the heights of the plan and the tool calls of the current tab page to what is drawn in them.
---@param id integer number of the chat
function M.fit_stacked(id)
  local layout = layouts.of()
  if layout and layout.chat.id == id then
    size.fit_stacked(layout)
  end
end

--- Updates the winbars of a chat's windows.
---@param chat rat.Chat
function M.refresh(chat)
  for tab in pairs(layouts.all) do
    local layout = vim.api.nvim_tabpage_is_valid(tab) and layouts.of(tab)
    if not layout then
      layouts.all[tab] = nil
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
  for _, layout in pairs(layouts.all) do
    M.refresh(layout.chat)
  end
end

conflict.on_count(refresh_all)

--- Deals with a window of a chat that shows another buffer than it should.
---@param win integer
local function settle(win)
  local claim_of = layouts.claimed[win]
  if not claim_of or not vim.api.nvim_win_is_valid(win) then
    layouts.claimed[win] = nil
    return
  end
  local layout, view = claim_of.layout, claim_of.view
  local chat, tab = layout.chat, vim.api.nvim_win_get_tabpage(win)
  local own = chat.buffers[view]
  if not own or vim.api.nvim_win_get_buf(win) == own then
    return
  elseif misplaced_buffer.move(win, own) then
    layouts.all[tab] = layouts.all[tab] or layout
    if layouts.all[tab] == layout then
      layout.windows[view] = win
      -- Without the windows that were closed meanwhile.
      layouts.of(tab)
      if tab == vim.api.nvim_get_current_tabpage() then
        size.follow(layout)
      end
      M.refresh(chat)
    end
  elseif not vim.api.nvim_buf_is_loaded(own) then
    layouts.claimed[win] = nil
    misplaced_buffer.close_deleted(win, own)
    -- Without its transcript a chat is closed, as by |:bdelete|.
    if view == "chat" then
      close_in(chat, tab)
    end
  end
end

--- Handles a buffer that is shown in a window, or unloaded.
local function settle_later()
  local here = layouts.claimed[vim.api.nvim_get_current_win()]
  if here and vim.api.nvim_get_current_buf() == here.layout.chat.buffers[here.view] then
    return
  end
  -- Scheduled, since the code that showed it may still set the cursor or delete ours.
  vim.schedule(function()
    for win in pairs(layouts.claimed) do
      settle(win)
    end
  end)
end

--- Handles a change of sizes in the current tab page.
local function follow_sizes()
  local layout = layouts.of()
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
  local layout = layouts.all[tab]
  if layout and layouts.is_empty(layouts.of(tab)) then
    layouts.all[tab] = nil
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
  vim.api.nvim_create_autocmd("BufWinEnter", { group = group, callback = settle_later })
  vim.api.nvim_create_autocmd(
    "BufUnload",
    { group = group, pattern = "rat://*", callback = settle_later }
  )
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
      local layout = layouts.all[vim.api.nvim_get_current_tabpage()]
      local win = tonumber(event.match)
      local was_chat = layout ~= nil and layout.windows.chat == win
      local with_quit = quit_window == win
      -- The window still exists during WinClosed.
      vim.schedule(function()
        closed(was_chat, with_quit)
      end)
    end,
  })
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = group,
    pattern = { "*:[iR]*", "[iR]*:*" },
    desc = "rat: the bar of the prompt names the keys of the mode",
    callback = function(event)
      local chat, view = registry.of(event.buf)
      if chat and view == "prompt" then
        M.refresh(chat)
      end
    end,
  })
  vim.api.nvim_create_autocmd("QuitPre", {
    group = group,
    callback = function()
      quit_window = vim.api.nvim_get_current_win()
    end,
  })
end

--- Makes the windows of a chat that a session file has restored ours.
---@param chat rat.Chat
function M.apply_restored(chat)
  restored.adopt(chat)
  watch()
  M.refresh(chat)
end

--- Returns a layout for a chat in the current tab page. If chats get a tab page of their own, goes to the chat's or opens one.
---@param chat rat.Chat
---@return rat.Layout
local function layout_for(chat)
  local layout = layouts.of()
  if layout and not layouts.is_empty(layout) then
    if layout.chat ~= chat then
      switch(layout, chat)
    end
    return layout
  end
  local windows = layouts.existing(chat, 0)
  if next(windows) or config.get().layout.position ~= "tab" then
    return { chat = chat, windows = windows, before = splits.snapshot(), size = size.new() }
  end
  for tab, other in pairs(layouts.all) do
    if
      other.chat == chat
      and vim.api.nvim_tabpage_is_valid(tab)
      and not layouts.is_empty(layouts.of(tab))
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
  layouts.all[vim.api.nvim_get_current_tabpage()] = layout
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
