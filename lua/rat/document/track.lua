--- Tracks the buffers of files: records their recent changes, so that the binary can bring an older copy up to date, and
--- reports when they are read, saved or become unmodified. It changes no buffer.
local busy = require("rat.document.busy")
local rpc = require("rat.rpc")

local M = {}

--- A change as |nvim_buf_attach()| reports it: `lines` replaced lines `first` to `last`.
---@class (exact) rat.track.Change
---@field tick integer 'changedtick' after it
---@field first integer from 0
---@field last integer end exclusive
---@field lines string[]
---@field bytes integer memory it takes, roughly
---@field wait? integer the number of the wait for a key before which an autocommand made it
---@field by_write? boolean an autocommand of a write made it

---@class (exact) rat.track.Log
---@field from integer every change after this tick is in the log
---@field changes rat.track.Change[]
---@field bytes integer sum over the changes

--- The notification "buffer" to the binary. They are sent in the order the events happen.
---@class (exact) rat.track.Fact
---@field kind "read"|"saved"|"clean" read from its file, written to it, or became unmodified in another way
---@field path string name of the buffer

--- Upper limit of one buffer's log. A copy that is further behind has to be read again.
local MAX_LOG_BYTES = 256 * 1024

---@type table<integer, rat.track.Log>
local logs = {}
--- Time and size of each buffer's file when Neovim last read or wrote it.
---@type table<integer, rat.call.Stamp>
local stamps = {}
--- The same of files that are gone: Neovim still compares with that time if the file comes back.
---@type table<integer, rat.call.Stamp>
local stamps_of_gone = {}
--- Time and size of each buffer's file when Neovim was about to read it.
---@type table<integer, rat.call.Stamp>
local stamps_before_read = {}
--- 'changedtick' when Neovim last read or wrote the buffer. It becomes unmodified then, which is not reported as "clean".
---@type table<integer, integer>
local clean_at = {}
--- Buffers that are being changed on behalf of an agent.
---@type table<integer, boolean>
local ours = {}
local started = false
--- Counts the waits for a key after something that depends on it.
local waits = 0
local awaits_key = false
--- Buffers whose write has begun since then.
---@type table<integer, boolean>
local writing = {}

--- Whether an autocommand is running. Outside of one this raises an error with 'verbose'.
---@return boolean
local function is_in_autocommand()
  local ok, file = pcall(vim.api.nvim_eval, "expand('<afile>')")
  return ok and file ~= ""
end

--- Counts the next wait for a key. An autocommand for each of them would cost more than all the rest of a turn that streams.
local function await_key()
  if awaits_key then
    return
  end
  awaits_key = true
  vim.api.nvim_create_autocmd("SafeState", {
    group = vim.api.nvim_create_augroup("rat_track_wait", {}),
    desc = "rat: tell typing from what autocommands do",
    once = true,
    callback = function()
      awaits_key, writing, waits = false, {}, waits + 1
    end,
  })
end

---@param buf integer
---@param kind "read"|"saved"|"clean"
local function notify_binary(buf, kind)
  local path = vim.api.nvim_buf_get_name(buf)
  if path ~= "" then
    rpc.notify("buffer", { kind = kind, path = path })
  end
end

---@param buf integer
---@param tick integer
local function reset_log(buf, tick)
  logs[buf] = { from = tick, changes = {}, bytes = 0 }
end

---@param buf integer
---@param tick integer
---@param first integer
---@param last integer
---@param new_last integer
local function record(buf, tick, first, last, new_last)
  local api = vim.api
  local bytes = api.nvim_buf_get_offset(buf, new_last) - api.nvim_buf_get_offset(buf, first)
  if bytes > MAX_LOG_BYTES then
    reset_log(buf, tick)
    return
  end
  local log = logs[buf]
  local lines = api.nvim_buf_get_lines(buf, first, new_last, false)
  bytes = bytes + 64 -- for the tables
  local is_auto = not ours[buf] and is_in_autocommand()
  if is_auto then
    await_key()
  end
  log.changes[#log.changes + 1] = {
    tick = tick,
    first = first,
    last = last,
    lines = lines,
    bytes = bytes,
    wait = is_auto and waits or nil,
    by_write = is_auto and writing[buf] or nil,
  }
  log.bytes = log.bytes + bytes
  if log.bytes > MAX_LOG_BYTES then
    -- Half of the log is dropped at once, so that copying the rest costs little per change.
    local newest = {}
    for _, change in ipairs(log.changes) do
      if log.bytes > MAX_LOG_BYTES / 2 then
        log.bytes = log.bytes - change.bytes
        log.from = change.tick
      else
        newest[#newest + 1] = change
      end
    end
    log.changes = newest
  end
end

---@param buf integer
---@return rat.call.Stamp?
local function stamp_of(buf)
  local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return stat and { sec = stat.mtime.sec, nsec = stat.mtime.nsec, size = stat.size }
end

--- Records time and size of a buffer's file, which Neovim has just read or written.
---@param buf integer
function M.note_stamp(buf)
  stamps[buf] = stamp_of(buf)
end

--- Returns time and size of a buffer's file when Neovim last read or wrote it; nil if that was not observed.
---@param buf integer
---@return rat.call.Stamp?
function M.stamp(buf)
  return stamps[buf]
end

--- Records that a buffer's file is gone.
---@param buf integer
function M.note_gone(buf)
  stamps[buf], stamps_of_gone[buf] = nil, M.read_stamp(buf)
end

--- Records that the file of a buffer is there again, or still.
---@param buf integer
function M.note_there(buf)
  stamps[buf], stamps_of_gone[buf] = M.read_stamp(buf), nil
end

--- Returns time and size of a buffer's file when Neovim last read or wrote it, also if it was gone since.
---@param buf integer
---@return rat.call.Stamp?
function M.read_stamp(buf)
  return stamps[buf] or stamps_of_gone[buf]
end

--- Records that a buffer was written to its file, and reports it unless it was written for an agent.
---@param buf integer
function M.saved(buf)
  M.note_stamp(buf)
  clean_at[buf] = vim.api.nvim_buf_get_changedtick(buf)
  if not ours[buf] then
    notify_binary(buf, "saved")
  end
end

--- Logs the changes of a loaded buffer from now on. Does nothing if it is already tracked.
---@param buf integer
function M.attach(buf)
  if logs[buf] then
    return
  end
  if not started then
    M.start()
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  reset_log(buf, tick)
  if not stamps[buf] then
    M.note_stamp(buf)
  end
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, now, first, last, new_last)
      record(buf, now, first, last, new_last)
    end,
    on_reload = function()
      reset_log(buf, vim.api.nvim_buf_get_changedtick(buf))
    end,
    on_detach = function()
      logs[buf] = nil
      -- `:edit` detaches, too, although the buffer stays loaded.
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_is_loaded(buf) then
          M.attach(buf)
        end
      end)
    end,
  })
end

--- Returns the changes after a tick, in order; nil if the log does not reach that far back.
---@param buf integer
---@param tick integer
---@return [integer, integer, string[]][]?
function M.since(buf, tick)
  local log = logs[buf]
  if not log or tick < log.from then
    return nil
  end
  local changes = {}
  for _, change in ipairs(log.changes) do
    if change.tick > tick then
      changes[#changes + 1] = { change.first, change.last, change.lines }
    end
  end
  return changes
end

--- Returns which of the changes after a tick autocommands of a write made: ranges of places in what `since` returns, from 0
--- and end exclusive; nil if none.
---@param buf integer
---@param tick integer
---@return [integer, integer][]?
function M.by_writes(buf, tick)
  local ranges, place = {}, 0 ---@type [integer, integer][], integer
  for _, change in ipairs((logs[buf] or { changes = {} }).changes) do
    if change.tick > tick then
      local range = ranges[#ranges]
      if change.by_write and range and range[2] == place then
        range[2] = place + 1
      elseif change.by_write then
        ranges[#ranges + 1] = { place, place + 1 }
      end
      place = place + 1
    end
  end
  return ranges[1] and ranges
end

--- A buffer is about to be written. Other autocommands of the write may have changed it already.
---@param buf integer
local function begins_write(buf)
  writing[buf] = true
  await_key()
  local changes = logs[buf] and logs[buf].changes or {}
  for at = #changes, 1, -1 do
    if changes[at].wait ~= waits then
      break
    end
    changes[at].by_write = true
  end
end

--- Runs `fn`, which changes a buffer on behalf of an agent. A save in it is not reported.
---@generic T, U
---@param buf integer
---@param fn fun(): T, U
---@return T
---@return U
function M.as_ours(buf, fn)
  local before = ours[buf]
  ours[buf] = true
  local ok, result, more = pcall(fn)
  ours[buf] = before
  if not ok then
    error(result, 0)
  end
  return result, more
end

--- Starts to record file times and to report read, saved and unmodified buffers. A second call starts over.
function M.start()
  started = true
  local group = vim.api.nvim_create_augroup("rat_track", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      desc = "rat: keep track of buffers",
      callback = function(args)
        if vim.bo[args.buf].buftype == "" then
          callback(args.buf)
        end
      end,
    })
  end
  on("FileChangedShellPost", M.note_stamp)
  on("BufReadPre", function(buf)
    stamps_before_read[buf] = stamp_of(buf)
  end)
  on("BufReadPost", function(buf)
    -- Other autocommands may have taken time since the text was read, and the file may have been written meanwhile.
    stamps[buf], stamps_before_read[buf] = stamps_before_read[buf] or stamp_of(buf), nil
    clean_at[buf] = vim.api.nvim_buf_get_changedtick(buf)
    notify_binary(buf, "read")
  end)
  on("BufWritePre", begins_write)
  on("BufWritePost", M.saved)
  on("BufModifiedSet", function(buf)
    if not vim.bo[buf].modified then
      if clean_at[buf] ~= vim.api.nvim_buf_get_changedtick(buf) then
        notify_binary(buf, "clean")
      end
    elseif vim.api.nvim_buf_get_name(buf) ~= "" then
      M.attach(buf)
    end
  end)
  on("BufWipeout", function(buf)
    stamps[buf], stamps_of_gone[buf], stamps_before_read[buf], clean_at[buf] = nil, nil, nil, nil
  end)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local normal = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    if normal and vim.api.nvim_buf_get_name(buf) ~= "" and not stamps[buf] then
      M.note_stamp(buf)
    end
  end
end

--- Returns the names of all documents.
---@param modified? boolean only of those with unsaved changes
---@return string[]
function M.files(modified)
  local files = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local normal = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    if name ~= "" and normal and (not modified or vim.bo[buf].modified) then
      files[#files + 1] = name
    end
  end
  return files
end

--- Stops what `start` started. The changes of tracked buffers are logged until they are unloaded.
function M.stop()
  started = false
  busy.stop()
  awaits_key = false
  pcall(vim.api.nvim_del_augroup_by_name, "rat_track")
  pcall(vim.api.nvim_del_augroup_by_name, "rat_track_wait")
end

return M
