--- Knows when the user types nothing, so that something may open by itself. Waits on keys, never polls.
local M = {}

--- How long no key has to come before anything opens by itself, in milliseconds.
local QUIET_MS = 300

---@class rat.Wait
---@field ready fun(): boolean whether it may run, asked when the user is idle
---@field run fun()

---@type rat.Wait[]
local waits = {}
---@type uv.uv_timer_t?
local timer
local namespace

--- Whether the user is in Normal mode with nothing begun.
---@return boolean
function M.now()
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

local function wake()
  if not (timer and M.now()) then
    return
  end
  for _, wait in ipairs(waits) do
    if wait.ready() then
      M.forget(wait)
      -- What it opens has the user's eye; the next one waits for the keys after that.
      return require("rat.say").guard("a window that waited", wait.run)()
    end
  end
end

local function arm()
  if timer then
    timer:start(QUIET_MS, 0, vim.schedule_wrap(wake))
  end
end

local function watch()
  if timer then
    return
  end
  timer = assert(vim.uv.new_timer())
  namespace = vim.on_key(arm, namespace)
  vim.api.nvim_create_autocmd({ "ModeChanged", "WinEnter", "BufEnter" }, {
    group = vim.api.nvim_create_augroup("rat_idle", {}),
    callback = arm,
  })
end

--- Runs something once the user types nothing and it is ready.
---@param ready fun(): boolean
---@param run fun()
---@return rat.Wait wait to forget it by
function M.when(ready, run)
  local wait = { ready = ready, run = run }
  waits[#waits + 1] = wait
  watch()
  arm()
  return wait
end

--- Waits no longer.
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
