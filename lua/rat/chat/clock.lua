--- How long a turn has been running. Updates the bars that show it once a second while a turn runs.
local M = {}

--- Shorter turns need no clock.
local SHOWN_FROM_MS = 10000
local TICK_MS = 1000

---@type table<string, true>
local in_turn = { running = true, waiting = true, cancelling = true }

---@type table<rat.Chat, integer> when its turn began, in |uv.now()|'s milliseconds
local began = setmetatable({}, { __mode = "k" })

---@type uv.uv_timer_t?
local timer

local function tick()
  local is_running = false
  for chat in pairs(began) do
    if not in_turn[chat.status.state] then
      began[chat] = nil
    else
      is_running = true
      require("rat.window").refresh(chat)
    end
  end
  if is_running then
    vim.cmd.redrawstatus({ bang = true })
  elseif timer then
    timer:stop()
  end
end

--- Takes note of how a chat stands now.
---@param chat rat.Chat
function M.note(chat)
  if not in_turn[chat.status.state] then
    began[chat] = nil
  elseif not began[chat] then
    began[chat] = vim.uv.now()
    timer = timer or assert(vim.uv.new_timer())
    if not timer:is_active() then
      timer:start(TICK_MS, TICK_MS, vim.schedule_wrap(tick))
    end
  end
end

--- How long the turn of a chat has been running, once that is worth showing: `42s`, `3m 05s`, `1h 02m`.
---@param chat rat.Chat
---@return string?
function M.elapsed(chat)
  local since = began[chat] and in_turn[chat.status.state] and vim.uv.now() - began[chat]
  if not since or since < SHOWN_FROM_MS then
    return nil
  end
  local seconds = math.floor(since / 1000)
  local minutes, hours = math.floor(seconds / 60), math.floor(seconds / 3600)
  if hours > 0 then
    return ("%dh %02dm"):format(hours, minutes % 60)
  elseif minutes > 0 then
    return ("%dm %02ds"):format(minutes, seconds % 60)
  end
  return seconds .. "s"
end

return M
