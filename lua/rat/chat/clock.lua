--- Measures how long turns have been running, and calls a listener once a second while there is one.
local M = {}

--- The elapsed time is shown from here on.
local SHOWN_FROM_MS = 10000
local TICK_MS = 1000

---@type table<string, true>
local in_turn = { running = true, waiting = true, cancelling = true }

--- Start of each chat's turn, in milliseconds of |uv.now()|.
---@type table<rat.Chat, integer>
local started_at = setmetatable({}, { __mode = "k" })

---@type uv.uv_timer_t?
local timer

---@type fun(running: rat.Chat[])
local on_tick = function() end

--- Sets the listener that is called once a second while a turn is running.
---@param listener fun(running: rat.Chat[])
function M.on_tick(listener)
  on_tick = listener
end

local function tick()
  local running = {}
  for chat in pairs(started_at) do
    if not in_turn[chat.status.state] then
      started_at[chat] = nil
    else
      running[#running + 1] = chat
    end
  end
  if #running > 0 then
    on_tick(running)
  elseif timer then
    timer:stop()
  end
end

--- Starts or stops the clock of a chat by its state.
---@param chat rat.Chat
function M.update(chat)
  if not in_turn[chat.status.state] then
    started_at[chat] = nil
  elseif not started_at[chat] then
    started_at[chat] = vim.uv.now()
    timer = timer or assert(vim.uv.new_timer())
    if not timer:is_active() then
      timer:start(TICK_MS, TICK_MS, vim.schedule_wrap(tick))
    end
  end
end

--- Starts the clock again for a new turn. The state does not change between turns if the prompt was queued.
---@param chat rat.Chat
function M.restart(chat)
  started_at[chat] = nil
  M.update(chat)
end

--- Returns how long the turn of a chat has been running: `42s`, `3m 05s`, `1h 02m`.
---@param chat rat.Chat
---@return string? # nil before SHOWN_FROM_MS
function M.elapsed(chat)
  local start = started_at[chat]
  local elapsed = start and in_turn[chat.status.state] and vim.uv.now() - start
  if not elapsed or elapsed < SHOWN_FROM_MS then
    return nil
  end
  local seconds = math.floor(elapsed / 1000)
  local minutes, hours = math.floor(seconds / 60), math.floor(seconds / 3600)
  if hours > 0 then
    return ("%dh %02dm"):format(hours, minutes % 60)
  elseif minutes > 0 then
    return ("%dm %02ds"):format(minutes, seconds % 60)
  end
  return seconds .. "s"
end

return M
