--- Knows which chats need the user: those that wait for an answer, and those that have finished or failed since they were last
--- on the screen. Counts them once per message from the binary, for statuslines. It opens nothing.
local punctuation = require("rat.util.punctuation")
local notify = require("rat.util.notify")
local question_list = require("rat.ask.question_list")
local registry = require("rat.chat.registry")
local status = require("rat.chat.status")

local api = vim.api
local M = {}

---@alias rat.ChatStanding rat.msg.State|"done"

---@class rat.ChatCounts
---@field waiting integer chats that wait for an answer
---@field failed integer chats that have failed
---@field done integer chats that have finished a turn since they were last on the screen
---@field running integer chats with a running turn that waits for nobody

--- The order in which chats are listed, those that need the user first.
---@type table<rat.ChatStanding, integer>
local RANKS = {
  waiting = 1,
  failed = 2,
  done = 3,
  running = 4,
  cancelling = 5,
  starting = 6,
  ready = 7,
  stopped = 8,
}

--- Chats that have finished or failed since they were last on the screen, and which of the two.
---@type table<rat.Chat, "done"|"failed">
local unread = setmetatable({}, { __mode = "k" })

--- The last known state of each chat.
---@type table<rat.Chat, rat.msg.State>
local states = setmetatable({}, { __mode = "k" })

--- When something last happened in a chat, in seconds since 1970, by its number.
---@type table<integer, integer>
local active_at = {}

---@type rat.ChatCounts
local counts = { waiting = 0, failed = 0, done = 0, running = 0 }

--- The counts as text.
local summary = ""

local is_watching = false

---@type fun()
local on_change = function() end

--- Sets the listener that is called whenever a chat may stand otherwise than before.
---@param listener fun()
function M.on_change(listener)
  on_change = listener
end

--- Returns how a chat stands: its state, "waiting" also for forms and questions, or "done" if it has finished unseen. After a
--- turn that has failed unseen it is "failed", too.
---@param chat rat.Chat
---@return rat.ChatStanding
function M.standing(chat)
  local state = chat.status.state
  if #chat.status.permissions + #chat.status.elicitations + question_list.count(chat) > 0 then
    return "waiting"
  end
  return state == "ready" and unread[chat] or state
end

--- Whether a chat waits for an answer, or has finished or failed unseen.
---@param chat rat.Chat
---@return boolean
function M.needs_user(chat)
  local standing = M.standing(chat)
  return standing == "waiting" or standing == "done" or standing == "failed" and unread[chat] ~= nil
end

--- Returns all chats: those that need the user first, then in the order in which they were opened.
---@return rat.Chat[]
function M.sorted()
  local chats, place = registry.all(), {}
  for at, chat in ipairs(chats) do
    place[chat] = RANKS[M.standing(chat)] * (#chats + 1) + at
  end
  table.sort(chats, function(a, b)
    return place[a] < place[b]
  end)
  return chats
end

--- Returns the first chat that needs the user, of those opened after another one, then of those opened before it.
---@param chat rat.Chat? nil for the first in the order of the list
---@return rat.Chat?
function M.next(chat)
  if not chat then
    return vim.iter(M.sorted()):find(M.needs_user)
  end
  local other = chat
  repeat
    other = registry.neighbour(other, 1)
  until other == chat or M.needs_user(other)
  return M.needs_user(other) and other or nil
end

--- Records that something has happened in a chat.
---@param id integer
function M.touch(id)
  active_at[id] = os.time()
end

--- Returns when something last happened in a chat, in seconds since 1970.
---@param chat rat.Chat
---@return integer?
function M.active_at(chat)
  return active_at[chat.id]
end

--- Returns the number of chats in each state.
---@return rat.ChatCounts
function M.counts()
  return vim.deepcopy(counts)
end

--- Returns the counts as text, such as `1 waiting · 3 running`; empty if all are zero.
---@return string
function M.summary()
  return summary
end

--- Whether the current tab page shows a chat.
---@param chat rat.Chat
---@return boolean
local function is_on_screen(chat)
  for _, view in ipairs({ "chat", "prompt" }) do
    local buf = chat.buffers[view]
    if buf and api.nvim_buf_is_valid(buf) and vim.fn.bufwinid(buf) ~= -1 then
      return true
    end
  end
  return false
end

--- Notes which chats the user sees.
local function note_seen()
  for _, chat in ipairs(registry.all()) do
    if unread[chat] and is_on_screen(chat) then
      unread[chat] = nil
    end
  end
end

--- Looks for chats that come to the screen.
local function watch()
  if is_watching then
    return
  end
  is_watching = true
  api.nvim_create_autocmd({ "BufWinEnter", "WinEnter", "TabEnter" }, {
    group = api.nvim_create_augroup("rat_attention", {}),
    desc = "rat: a chat on the screen has been seen",
    callback = function()
      if next(unread) then
        note_seen()
        -- Windows may still be about to change, and statuslines are drawn at once.
        vim.schedule(M.refresh)
      end
    end,
  })
end

---@param chat rat.Chat
---@param how "done"|"failed"
local function set_unread(chat, how)
  watch()
  unread[chat] = how
end

--- Handles the end of a turn.
---@param chat rat.Chat
---@param reason string ACP stop reason, or "error"
---@param next? boolean whether a queued prompt was sent at once
function M.ended(chat, reason, next)
  -- The end of a change in place is told beside its lines.
  if reason ~= "cancelled" and not next and not chat.edit then
    set_unread(chat, reason == "error" and "failed" or "done")
  end
end

---@return rat.ChatCounts
local function count()
  local found = { waiting = 0, failed = 0, done = 0, running = 0 }
  for _, chat in ipairs(registry.all()) do
    local standing = M.standing(chat)
    standing = standing == "cancelling" and "running" or standing
    found[standing] = found[standing] and found[standing] + 1
  end
  return found
end

---@param found rat.ChatCounts
---@return string
local function describe(found)
  local parts = {}
  for _, standing in ipairs({ "waiting", "failed", "done", "running" }) do
    if found[standing] > 0 then
      parts[#parts + 1] = ("%d %s"):format(found[standing], standing)
    end
  end
  return punctuation.join(parts)
end

--- Looks at all chats again. Tells statuslines and `User RatChats` if the counts have changed.
function M.refresh()
  for _, chat in ipairs(registry.all()) do
    local state = chat.status.state
    if state == "failed" and states[chat] ~= "failed" then
      set_unread(chat, "failed")
    end
    states[chat] = state
  end
  note_seen()
  local found = count()
  if not vim.deep_equal(found, counts) then
    counts, summary = found, describe(found)
    status.redraw()
    notify.event("RatChats", M.counts())
  end
  on_change()
end

return M
