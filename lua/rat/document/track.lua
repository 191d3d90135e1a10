--- Knows what happens to buffers: keeps what changed of late for those who hold an older text, and
--- tells the binary in order. It changes no buffer.

local M = {}

---A change as a buffer reports it: lines `first` to `last` (from 0, end exclusive) gave way to
---`lines`.
---@class (exact) rat.track.Change
---@field tick integer 'changedtick' after it
---@field first integer
---@field last integer
---@field lines string[]
---@field bytes integer

---@class (exact) rat.track.Log
---@field from integer the tick from which on every change is there
---@field changes rat.track.Change[]
---@field bytes integer

---What is told to the binary as the notification "buffer", in the order it happened.
---@class (exact) rat.track.Fact
---@field kind "read"|"saved"|"clean" read from its file, written to it, or unmodified in another way
---@field path string as the buffer is named

---More than this is not kept of one buffer; whoever is further behind reads it whole.
local MOST_BYTES = 256 * 1024

---@type table<integer, rat.track.Log>
local logs = {}
---By what a file is told from a later one: two writes within one tick of the disk's clock have one time.
---@class (exact) rat.track.Stamp
---@field sec integer time of last change
---@field nsec integer
---@field size integer

---What the file was when Neovim last read or wrote it.
---@type table<integer, rat.track.Stamp>
local stamps = {}
---What it was when Neovim was about to read it.
---@type table<integer, rat.track.Stamp>
local ahead = {}
---'changedtick' when Neovim last read or wrote it: it is unmodified then, and that is no news.
---@type table<integer, integer>
local clean_at = {}
---@type table<integer, boolean>
local ours = {}
local started = false

---@param buf integer
---@param kind "read"|"saved"|"clean"
local function tell(buf, kind)
  local path = vim.api.nvim_buf_get_name(buf)
  if path ~= "" then
    require("rat.rpc").notify("buffer", { kind = kind, path = path })
  end
end

---@param buf integer
---@param tick integer
local function forget(buf, tick)
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
  if bytes > MOST_BYTES then
    forget(buf, tick)
    return
  end
  local log = logs[buf]
  local lines = api.nvim_buf_get_lines(buf, first, new_last, false)
  bytes = bytes + 64
  log.changes[#log.changes + 1] =
    { tick = tick, first = first, last = last, lines = lines, bytes = bytes }
  log.bytes = log.bytes + bytes
  if log.bytes > MOST_BYTES then
    -- Half goes at once, so that moving the rest costs little for each change.
    local kept = {}
    for _, change in ipairs(log.changes) do
      if log.bytes > MOST_BYTES / 2 then
        log.bytes = log.bytes - change.bytes
        log.from = change.tick
      else
        kept[#kept + 1] = change
      end
    end
    log.changes = kept
  end
end

---@param buf integer
---@return rat.track.Stamp?
local function stamp_of(buf)
  local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return stat and { sec = stat.mtime.sec, nsec = stat.mtime.nsec, size = stat.size }
end

---Notes what the file of a buffer is, which Neovim has just read or written.
---@param buf integer
function M.note_stamp(buf)
  stamps[buf] = stamp_of(buf)
end

---What the file of a buffer was when Neovim last read or wrote it, as far as it was seen.
---@param buf integer
---@return rat.track.Stamp?
function M.stamp(buf)
  return stamps[buf]
end

---Notes that a buffer was written to its file.
---@param buf integer
function M.saved(buf)
  M.note_stamp(buf)
  clean_at[buf] = vim.api.nvim_buf_get_changedtick(buf)
  if not ours[buf] then
    tell(buf, "saved")
  end
end

---Follows a loaded buffer from now on. Again: nothing.
---@param buf integer
function M.attach(buf)
  if logs[buf] then
    return
  end
  if not started then
    M.start()
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  forget(buf, tick)
  if not stamps[buf] then
    M.note_stamp(buf)
  end
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, now, first, last, new_last)
      record(buf, now, first, last, new_last)
    end,
    on_reload = function()
      forget(buf, vim.api.nvim_buf_get_changedtick(buf))
    end,
    on_detach = function()
      logs[buf] = nil
      -- `:edit` detaches too, and the buffer is still there.
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_is_loaded(buf) then
          M.attach(buf)
        end
      end)
    end,
  })
end

---What changed after a tick, in order; nil if that is too long ago to know.
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

---Runs `fn`; a save of the buffer in it is made for an agent, and not told.
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

---Starts to note the times of files, and to tell of modified and saved buffers. Again: starts
---afresh.
function M.start()
  started = true
  require("rat.busy").start()
  require("rat.adopt").repair()
  local group = vim.api.nvim_create_augroup("rat_track", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      desc = "rat: what happens to buffers",
      callback = function(args)
        if vim.bo[args.buf].buftype == "" then
          callback(args.buf)
        end
      end,
    })
  end
  on("FileChangedShellPost", M.note_stamp)
  on("BufReadPre", function(buf)
    ahead[buf] = stamp_of(buf)
  end)
  on("BufReadPost", function(buf)
    -- Others may have taken their time since the text was read, and somebody may have written the file meanwhile.
    stamps[buf], ahead[buf] = ahead[buf] or stamp_of(buf), nil
    clean_at[buf] = vim.api.nvim_buf_get_changedtick(buf)
    tell(buf, "read")
  end)
  on("BufWritePost", M.saved)
  on("BufModifiedSet", function(buf)
    if not vim.bo[buf].modified then
      if clean_at[buf] ~= vim.api.nvim_buf_get_changedtick(buf) then
        tell(buf, "clean")
      end
    elseif vim.api.nvim_buf_get_name(buf) ~= "" then
      M.attach(buf)
    end
  end)
  on("BufWipeout", function(buf)
    stamps[buf], ahead[buf], clean_at[buf] = nil, nil, nil
  end)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local normal = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    if normal and vim.api.nvim_buf_get_name(buf) ~= "" and not stamps[buf] then
      M.note_stamp(buf)
    end
  end
end

---The files of all loaded buffers, as they are named.
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

---Stops what `start` started. Buffers that are followed stay so until they are unloaded.
function M.stop()
  started = false
  require("rat.busy").stop()
  pcall(vim.api.nvim_del_augroup_by_name, "rat_track")
end

return M
