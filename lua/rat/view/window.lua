--- The windows of a chat: opens, hides and dresses them. Touches no window it did not open, draws nothing in them.
local chat = require("rat.chat")
local config = require("rat.config")
local dress = require("rat.dress")
local room = require("rat.room")
local size = require("rat.size")
local status = require("rat.status")

local M = {}

---@class rat.Layout
---@field chat rat.Chat
---@field windows table<rat.View, integer> those that are open
---@field before rat.Room how the user's windows were
---@field size rat.Size

---@type table<integer, rat.Layout> by tab page
local layouts = {}

--- Where the user was when a chat was asked for; focus goes to it only from there.
---@type {win: integer, buf: integer, tick: integer}?
local asked

--- The layout of a tab page, without windows the user closed or gave another buffer.
---@param tab? integer
---@return rat.Layout?
local function layout_of(tab)
  tab = tab or vim.api.nvim_get_current_tabpage()
  local layout = layouts[tab]
  if not layout then
    return nil
  end
  for view, win in pairs(layout.windows) do
    local shown = vim.api.nvim_win_is_valid(win)
      and vim.api.nvim_win_get_tabpage(win) == tab
      and vim.api.nvim_win_get_buf(win)
    if shown ~= layout.chat.buffers[view] then
      layout.windows[view] = nil
    end
  end
  return layout
end

---@param layout rat.Layout?
---@return boolean
local function empty(layout)
  return not layout or next(layout.windows) == nil
end

---@param buf integer
---@param place vim.api.keyset.win_config
---@param fixed string winfixwidth or winfixheight
---@return integer win
local function open_window(buf, place, fixed)
  local beside = place.win > 0 and place.win or nil
  local before = beside and room.sizes()
  local win = room.open(buf, place)
  if beside and before then
    local taken = place.height or vim.api.nvim_win_get_height(win)
    before[win] = { before[beside][1], taken }
    before[beside][2] = before[beside][2] - taken - 1
    room.settle(before)
  end
  dress.set(win, { winfixheight = false, winfixwidth = false })
  dress.set(win, { [fixed] = true })
  return win
end

---@param layout rat.Layout
local function open_transcript(layout)
  local buf = chat.buffer(layout.chat, "chat")
  local position = config.get().layout.position
  local prompt = layout.windows.prompt
  if prompt then
    layout.windows.chat = open_window(buf, { split = "above", win = prompt }, "winfixwidth")
  elseif position == "right" or position == "left" then
    local place = { split = position, win = -1, width = size.extent(layout.size) }
    layout.windows.chat = open_window(buf, place, "winfixwidth")
  else
    local side = position == "top" and "above" or "below"
    local place = { split = side, win = -1, height = size.extent(layout.size) }
    layout.windows.chat = open_window(buf, place, "winfixheight")
  end
end

---@param layout rat.Layout
local function open_prompt(layout)
  local buf = chat.buffer(layout.chat, "prompt")
  local place = { split = "below", win = layout.windows.chat, height = size.PROMPT_MIN }
  layout.windows.prompt = open_window(buf, place, "winfixheight")
  layout.size.chosen = nil
end

--- Puts another chat into the windows of a layout.
---@param layout rat.Layout
---@param other rat.Chat
local function switch(layout, other)
  layout.chat = other
  for view, win in pairs(layout.windows) do
    room.show(win, chat.buffer(other, view))
    dress.put_on(win, view)
  end
end

--- A tab page of its own: its first window becomes the transcript.
---@param shown rat.Chat
---@return rat.Layout
local function new_tab(shown)
  vim.cmd.tabnew()
  local blank = vim.api.nvim_get_current_buf()
  local win = vim.api.nvim_get_current_win()
  room.show(win, chat.buffer(shown, "chat"))
  vim.api.nvim_buf_delete(blank, {})
  return { chat = shown, windows = { chat = win }, before = room.snapshot(), size = size.new() }
end

--- Whether the user is still where the chat was asked for, and types nothing.
---@return boolean
local function may_focus()
  local from = asked
  asked = nil
  return from ~= nil
    and from.win == vim.api.nvim_get_current_win()
    and from.buf == vim.api.nvim_get_current_buf()
    and from.tick == vim.api.nvim_buf_get_changedtick(from.buf)
    and require("rat.idle").now()
end

--- Notes that the user asked for a chat that is still to come: it may take the focus from here.
function M.expect()
  local buf = vim.api.nvim_get_current_buf()
  asked = {
    win = vim.api.nvim_get_current_win(),
    buf = buf,
    tick = vim.api.nvim_buf_get_changedtick(buf),
  }
end

--- Puts the user into the prompt of the current tab page.
function M.enter_prompt()
  local layout = layout_of()
  if layout and layout.windows.chat and not layout.windows.prompt then
    open_prompt(layout)
    size.note(layout)
  end
  if layout and layout.windows.prompt then
    room.enter(layout.windows.prompt)
  end
end

--- Closes a window that stands on the transcript, which takes its room.
---@param layout rat.Layout
---@param view rat.View
local function close_stacked(layout, view)
  local win, below = layout.windows[view], layout.windows.chat
  local before = room.sizes()
  if below then
    before[below][2] = before[below][2] + before[win][2] + 1
  end
  vim.api.nvim_win_close(win, true)
  if below then
    room.settle(before)
  end
  layout.windows[view] = nil
  size.note(layout)
end

--- Shows or hides the plan or the tool calls above the transcript.
---@param shown rat.Chat
---@param view "plan"|"tools"
function M.toggle_view(shown, view)
  local layout = layout_of()
  if layout and layout.windows[view] then
    return close_stacked(layout, view)
  end
  if empty(layout) or layout.chat ~= shown then
    M.open(shown)
    layout = assert(layout_of())
  end
  local above = assert(layout.windows.chat or layout.windows.prompt)
  local height = math.max(3, math.floor(vim.api.nvim_win_get_height(above) / 3))
  local place = { split = "above", win = above, height = height }
  layout.windows[view] = open_window(chat.buffer(shown, view), place, "winfixheight")
  size.note(layout)
  M.refresh(shown)
end

--- Leaves a window of ours that is the last one to the user.
---@param win integer
local function hand_over(win)
  dress.set(win, { winfixwidth = false, winfixheight = false, winbar = "" })
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

--- Whether the current tab page shows a chat.
---@return rat.Chat?
function M.visible()
  local layout = layout_of()
  return not empty(layout) and layout.chat or nil
end

--- Closes what was opened in the current tab page and restores what was there.
function M.hide()
  local layout = layout_of()
  layouts[vim.api.nvim_get_current_tabpage()] = nil
  if empty(layout) then
    return
  end
  for _, win in pairs(layout.windows) do
    if #room.tiled(0) > 1 then
      vim.api.nvim_win_close(win, true)
    elseif #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose()
      return
    else
      hand_over(win)
    end
  end
  room.restore(layout.before)
end

--- Lets the prompt window of the current tab page grow and shrink with its text.
---@param shown rat.Chat
function M.fit(shown)
  local layout = layout_of()
  if layout and layout.chat == shown then
    size.fit(layout)
  end
end

---@type table<rat.View, fun(shown: rat.Chat, width: integer): string>
local bars = {
  chat = status.transcript_bar,
  prompt = status.prompt_bar,
  plan = function(shown)
    local plan = shown.status.plan
    return plan and ("%%#RatBar# Plan %%*%d of %d"):format(plan.done, plan.total)
      or "%#RatBar# Plan %*"
  end,
  tools = function()
    return "%#RatBar# Tool calls %*"
  end,
}

--- Shows how a chat stands in the winbars of its windows.
---@param shown rat.Chat
function M.refresh(shown)
  for tab in pairs(layouts) do
    local layout = vim.api.nvim_tabpage_is_valid(tab) and layout_of(tab)
    if not layout then
      layouts[tab] = nil
    elseif layout.chat == shown then
      for view, win in pairs(layout.windows) do
        local bar = bars[view](shown, vim.api.nvim_win_get_width(win))
        if vim.wo[win].winbar ~= bar then
          dress.set(win, { winbar = bar })
        end
      end
    end
  end
end

--- Moves a buffer that was opened in a window of the chat to a window of the user's.
local function turn_away()
  local layout, win = layouts[vim.api.nvim_get_current_tabpage()], vim.api.nvim_get_current_win()
  for view, of in pairs(layout and layout.windows or {}) do
    local own = layout.chat.buffers[view]
    if of == win and own and vim.api.nvim_win_get_buf(win) ~= own then
      -- Whoever opened it may still move the cursor.
      vim.schedule(function()
        if require("rat.guest").move(win, own) then
          layout.windows[view] = win
          size.follow(layout)
          M.refresh(layout.chat)
        end
      end)
    end
  end
end

--- Applies the chat's sizes in the current tab page.
local function follow_sizes()
  local layout = layout_of()
  if layout then
    size.follow(layout)
  end
end

--- Keeps sizes and winbars fitting, and restores the user's windows once the last of ours is closed with `:q`.
local function watch()
  require("rat.groups").define()
  local group = vim.api.nvim_create_augroup("rat_window", {})
  vim.api.nvim_create_autocmd("BufWinEnter", { group = group, callback = turn_away })
  vim.api.nvim_create_autocmd(
    { "VimResized", "TabEnter" },
    { group = group, callback = follow_sizes }
  )
  vim.api.nvim_create_autocmd("WinResized", {
    group = group,
    callback = function()
      follow_sizes()
      for _, layout in pairs(layouts) do
        M.refresh(layout.chat)
      end
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    -- The window is still there while it is being closed.
    callback = vim.schedule_wrap(function()
      local tab = vim.api.nvim_get_current_tabpage()
      local layout = layouts[tab]
      if layout and empty(layout_of(tab)) then
        layouts[tab] = nil
        room.restore(layout.before)
      end
    end),
  })
end

--- Windows of the current tab page that show a chat already, from a session file or opened by hand.
---@param shown rat.Chat
---@return table<rat.View, integer>
local function adopted(shown)
  local found = {}
  for _, win in ipairs(room.tiled(0)) do
    local of, view = chat.of(vim.api.nvim_win_get_buf(win))
    if of == shown and view and not found[view] then
      found[view] = win
    end
  end
  return found
end

--- The layout of the current tab page with this chat in it; with a tab page of its own that one.
---@param shown rat.Chat
---@return rat.Layout
local function layout_for(shown)
  local layout = layout_of()
  if layout and not empty(layout) then
    if layout.chat ~= shown then
      switch(layout, shown)
    end
    return layout
  end
  local windows = adopted(shown)
  if next(windows) or config.get().layout.position ~= "tab" then
    return { chat = shown, windows = windows, before = room.snapshot(), size = size.new() }
  end
  for tab, other in pairs(layouts) do
    if other.chat == shown and vim.api.nvim_tabpage_is_valid(tab) and not empty(layout_of(tab)) then
      vim.api.nvim_set_current_tabpage(tab)
      return other
    end
  end
  return new_tab(shown)
end

--- Shows a chat in the current tab page.
---@param shown rat.Chat
---@param focus? boolean put the user into the prompt, if still where the chat was asked for
function M.open(shown, focus)
  if vim.fn.getcmdwintype() ~= "" then
    -- No window can be opened beside the command-line window.
    local later = vim.schedule_wrap(function()
      M.open(shown)
    end)
    vim.api.nvim_create_autocmd("CmdwinLeave", { once = true, callback = later })
    return
  end
  local enter = focus and may_focus()
  local back = vim.api.nvim_get_current_win()
  local layout = layout_for(shown)
  layouts[vim.api.nvim_get_current_tabpage()] = layout
  watch()
  if not layout.windows.chat then
    open_transcript(layout)
  end
  if not layout.windows.prompt then
    open_prompt(layout)
  end
  size.fit(layout)
  size.note(layout)
  M.refresh(shown)
  chat.touch(shown)
  if enter then
    M.enter_prompt()
  elseif vim.api.nvim_win_is_valid(back) and vim.api.nvim_get_current_win() ~= back then
    room.enter(back)
  end
end

return M
