--- Runs actions once the user is idle in Normal mode, so that a window may open by itself without taking a key. It waits
--- for events and never polls.
local notify = require("rat.util.notify")

local M = {}

--- How long the user must have typed nothing, in milliseconds.
local IDLE_MS = 300

---@class rat.Wait
---@field ready fun(): boolean whether it may run; called when the user is idle
---@field run fun()

---@type rat.Wait[]
local waits = {}
---@type uv.uv_timer_t?
local timer
local namespace

--- Whether the user is in Normal mode with no command, macro, recording or typeahead in progress.
---@return boolean
function M.is_idle()
  local mode = vim.api.nvim_get_mode()
  return mode.mode == "n"
    and not mode.blocking
    and vim.fn.state("mo") == ""
    and vim.fn.getcmdwintype() == ""
    and vim.fn.reg_recording() == ""
    and vim.fn.reg_executing() == ""
    and vim.fn.getchar(1) == 0
end

local function stop()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
    vim.on_key(nil, namespace)
    vim.api.nvim_del_augroup_by_name("rat_idle")
  end
end

local function run_first_ready()
  if not (timer and M.is_idle()) then
    return
  end
  for _, wait in ipairs(waits) do
    if wait.ready() then
      M.forget(wait)
      -- Only one at a time: the user should deal with what it opens before anything else does.
      return notify.guard("a window that waited", wait.run)()
    end
  end
end

local function restart_timer()
  if timer then
    timer:start(IDLE_MS, 0, vim.schedule_wrap(run_first_ready))
  end
end

local function watch()
  if timer then
    return
  end
  timer = assert(vim.uv.new_timer())
  namespace = vim.on_key(restart_timer, namespace)
  vim.api.nvim_create_autocmd({ "ModeChanged", "WinEnter", "BufEnter" }, {
    group = vim.api.nvim_create_augroup("rat_idle", {}),
    callback = restart_timer,
  })
end

--- Runs an action once, as soon as the user is idle and `ready` returns true.
---@param ready fun(): boolean
---@param run fun()
---@return rat.Wait wait handle for `forget`
function M.when(ready, run)
  local wait = { ready = ready, run = run }
  waits[#waits + 1] = wait
  watch()
  restart_timer()
  return wait
end

--- Cancels a wait; does nothing for nil or one that has already run.
---@param wait rat.Wait?
function M.forget(wait)
  waits = vim.tbl_filter(function(other)
    return other ~= wait
  end, waits)
  if #waits == 0 then
    stop()
  end
end

return M
