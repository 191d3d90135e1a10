--- The page of `:RatChats`: all chats, those that need the user first. It follows them while it is on the screen, and the cursor
--- stays on its chat.
local attention = require("rat.chats.attention")
local chat_life = require("rat.chat")
local chooser = require("rat.ask.chooser")
local groups = require("rat.view.groups")
local key_list = require("rat.view.key_list")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local page = require("rat.view.page")
local registry = require("rat.chat.registry")
local rows = require("rat.chats.rows")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local sessions = require("rat.chat.sessions")
local window = require("rat.view.window")
local worktrees = require("rat.config.worktrees")

local api = vim.api
local M = {}

local NAME = "rat://chats"

local EMPTY = { "No chat is open. :RatStart starts one." }

--- How long a change waits to be drawn with those that follow, and how long nothing is drawn without one, since the ages go
--- on; in milliseconds.
local SOON, AGES = 200, 5000

--- How often pending lines are counted at most, in milliseconds.
local COUNT_EVERY = 1000

--- The chats of the rows, from the first line on.
---@type rat.Chat[]
local listed = {}

--- Pending lines by the number of the chat.
---@type table<integer, rat.msg.PendingCount>
local pending = {}

---@type uv.uv_timer_t?
local timer

--- Whether the timer waits only because of the ages.
local is_idle = true

--- When the pending lines were last asked for, in milliseconds of |uv.now()|, and whether they may have changed since.
local asked_at, is_stale = -COUNT_EVERY, true

--- Returns the page, if it is on the screen.
---@return integer?
local function shown()
  local buf = scratch.find(NAME)
  return buf and vim.fn.bufwinid(buf) ~= -1 and buf or nil
end

---@param chat rat.Chat
---@return rat.ChatRow
local function row_of(chat)
  local counted = pending[chat.id]
  local prompt = chat.status.prompt and chat.status.prompt:match("%S[^\n]*")
  return {
    standing = attention.standing(chat),
    agent = chat.title,
    title = chat.status.session_title or prompt or "",
    age = sessions.age(attention.active_at(chat), os.time()),
    folder = worktrees.shown(chat.cwd),
    added = counted and counted.added or 0,
    removed = counted and counted.removed or 0,
  }
end

--- Returns the width of the narrowest window with the page.
---@param wins integer[]
---@return integer
local function width_of(wins)
  local width = math.huge
  for _, win in ipairs(wins) do
    width = math.min(width, api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff)
  end
  return width --[[@as integer]]
end

--- Whether rows must stay where they are: the user is selecting some.
---@return boolean
local function is_selecting()
  return api.nvim_buf_get_name(0) == NAME and api.nvim_get_mode().mode:find("^[vV\22]") ~= nil
end

--- Draws the rows. The cursor of each window stays on its chat.
---@param buf integer
local function draw(buf)
  local wins, old = vim.fn.win_findbuf(buf), listed
  listed = attention.sorted()
  ---@type table<rat.Chat, integer>
  local places = {}
  for at, chat in ipairs(listed) do
    places[chat] = at
  end
  ---@type table<integer, integer[]>
  local cursors = {}
  for _, win in ipairs(wins) do
    local cursor = api.nvim_win_get_cursor(win)
    cursors[win] =
      { places[old[cursor[1]]] or math.min(cursor[1], math.max(#listed, 1)), cursor[2] }
  end
  local lines, spans = rows.format(vim.tbl_map(row_of, listed), width_of(wins))
  scratch.update(buf, #lines > 0 and lines or EMPTY)
  scratch.highlight_spans(buf, spans)
  for win, cursor in pairs(cursors) do
    if api.nvim_win_get_cursor(win)[1] ~= cursor[1] then
      api.nvim_win_set_cursor(win, cursor)
    end
  end
  local counts = attention.summary()
  page.set_title(buf, counts == "" and "Chats" or "Chats: " .. counts)
end

--- Asks how many lines are pending, unless that was asked a moment ago.
local function count_pending()
  local now = vim.uv.now()
  if is_stale and now - asked_at >= COUNT_EVERY then
    asked_at, is_stale = now, false
    rpc.notify("list_changes", { scope = "all", count = true })
  end
end

---@param after integer milliseconds
local function draw_after(after)
  is_idle = after == AGES
  timer = timer or assert(vim.uv.new_timer())
  timer:start(
    after,
    0,
    vim.schedule_wrap(function()
      local buf = shown()
      if not buf then
        is_idle = true
      elseif is_selecting() then
        draw_after(SOON)
      else
        count_pending()
        -- Before it is drawn: if that fails, the page would stand still.
        draw_after(is_stale and SOON or AGES)
        draw(buf)
      end
    end)
  )
end

--- Draws the page soon, if it is on the screen.
local function follow()
  if is_idle and shown() then
    draw_after(SOON)
  end
end

attention.on_change(follow)

--- Handles the counts of pending lines.
---@param payload rat.msg.PendingCounts
function M.counted(payload)
  pending = {}
  for _, item in ipairs(payload.items) do
    pending[item.chat] = item
  end
end

--- Returns those of some chats that have not been closed.
---@param chats rat.Chat[]
---@return rat.Chat[]
local function still_open(chats)
  local all = registry.all()
  return vim.tbl_filter(function(chat)
    return vim.list_contains(all, chat)
  end, chats)
end

--- Returns the selected chats and ends the selection, or as many from the cursor on as the count says.
---@return rat.Chat[]
local function meant()
  local first, last = vim.fn.line("."), vim.fn.line("v")
  if api.nvim_get_mode().mode:find("^[vV\22]") then
    api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
    first, last = math.min(first, last), math.max(first, last)
  else
    last = first + vim.v.count1 - 1
  end
  return still_open(vim.list_slice(listed, first, last))
end

local function open()
  local chat = meant()[1]
  if chat then
    window.open(chat, "now")
  end
end

---@param chats rat.Chat[]
local function close_now(chats)
  vim.iter(still_open(chats)):each(chat_life.close)
end

--- Closes chats, after a question if that ends a turn.
local function close()
  local chats = meant()
  local working = vim.tbl_filter(function(chat)
    return vim.list_contains({ "running", "waiting", "cancelling" }, chat.status.state)
  end, chats)
  if #working == 0 then
    return close_now(chats)
  end
  local prompt = #chats == 1 and ("%s is still working. Close this chat?"):format(chats[1].title)
    or ("%d of %d agents are still working. Close these chats?"):format(#working, #chats)
  local answers = { "Keep open", "Close" }
  local opts = { prompt = prompt, careful = true, harmless = true, ignore_typeahead = true }
  chooser.open(answers, opts, function(_, index)
    if index == 2 then
      close_now(chats)
    end
  end)
end

local function cancel()
  for _, chat in ipairs(meant()) do
    if chat.id then
      rpc.notify("cancel", { chat = chat.id })
    end
  end
end

local function restart()
  vim.iter(meant()):each(launch.restart)
end

--- Moves the cursor to another chat that needs the user.
---@param step 1|-1
---@return fun()
local function go(step)
  return function()
    local line = vim.fn.line(".")
    for _ = 1, vim.v.count1 do
      local other = line + step
      while listed[other] and not attention.needs_user(listed[other]) do
        other = other + step
      end
      line = listed[other] and other or line
    end
    api.nvim_win_set_cursor(0, { line, 0 })
  end
end

local function redraw()
  is_stale = true
  draw_after(0)
end

---@type rat.PageKey[]
local KEYS = {
  { { "n" }, "<CR>", open, "open the chat" },
  { { "n" }, "dd", close, "close the chat, or as many as the count says" },
  { { "x" }, "d", close, "close the selected chats" },
  { { "n", "x" }, "x", close, "close the chat, or the selected ones" },
  { { "n", "x" }, "<C-c>", cancel, "cancel the turn" },
  { { "n", "x" }, "r", restart, "restart the agent" },
  { { "n" }, "]w", go(1), "next chat that needs you" },
  { { "n" }, "[w", go(-1), "previous chat that needs you" },
  { { "n" }, "R", redraw, "draw the page again" },
}

---@return integer buf
local function make()
  local buf = scratch.make(NAME, "ratchats")
  vim.bo[buf].bufhidden = "wipe"
  key_list.map(buf, KEYS, { { "q", "close the page" } })
  api.nvim_create_autocmd({ "BufWinEnter", "TabEnter", "WinResized" }, {
    group = api.nvim_create_augroup("rat_chats_page", {}),
    desc = "rat: draw the list of chats for another width",
    callback = follow,
  })
  api.nvim_create_autocmd("User", {
    group = "rat_chats_page",
    pattern = "RatReviewChanged",
    desc = "rat: count the pending lines again",
    callback = function()
      is_stale = true
      follow()
    end,
  })
  return buf
end

--- Opens the page, or goes to its window.
function M.open()
  groups.define()
  local buf = scratch.find(NAME) or make()
  page.open(buf, "Chats", { focus = true, wrap = false })
  is_stale = true
  draw(buf)
  draw_after(0)
end

--- Opens the chat that needs the user and follows the one on the screen.
function M.open_next()
  local here = window.visible()
  local chat = attention.next(here)
  if not chat then
    notify.info("No chat needs you")
  elseif chat == here then
    notify.info("No other chat needs you")
  else
    launch.show(chat)
  end
end

return M
