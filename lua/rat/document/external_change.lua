--- Makes Neovim accept that another program has changed or deleted a file whose buffer is already up to date, without a
--- reload and without a prompt. It changes no text.
local private_file = require("rat.util.private_file")
local track = require("rat.document.track")

local api = vim.api
local M = {}

--- Whether the file at a path is still the given one: same time, size and inode.
---@param path string
---@param file rat.call.File
---@return boolean
local function is_same_file(path, file)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil
    and stat.mtime.sec == file.sec
    and stat.mtime.nsec == file.nsec
    and stat.size == file.size
    and stat.ino == file.inode
end

--- Sets a file's modification time with nanosecond precision, which `uv.fs_utime()` does not have.
---@param path string
---@param time {sec: integer, nsec: integer}
local function set_mtime(path, time)
  local has_ffi, ffi = pcall(require, "ffi")
  if not has_ffi then
    vim.uv.fs_utime(path, time.sec, time.sec + time.nsec / 1e9)
    return
  end
  -- Declared under our own name: another plugin may have declared `utimensat` with other types.
  pcall(ffi.cdef, 'int rat_utimensat(int, const char *, const long *, int) __asm__("utimensat");')
  local linux = ffi.os == "Linux"
  local at_fdcwd, utime_omit = linux and -100 or -2, linux and 0x3ffffffe or -2
  ffi.C.rat_utimensat(at_fdcwd, path, ffi.new("long[4]", 0, utime_omit, time.sec, time.nsec), 0)
end

--- The folder where a file's real time is recorded while `allow_quiet_write` has set it back, so that it can be restored
--- if Neovim is killed meanwhile.
---@return string
local function times_folder()
  return private_file.folder("times", "")
end

--- Restores the times of files that a killed Neovim had set back. Records of a Neovim that still runs are left alone.
function M.repair()
  for name in vim.fs.dir(times_folder()) do
    local pid = tonumber(name:match("^%d+")) --[[@as integer?]]
    if pid and pid ~= vim.fn.getpid() and vim.uv.kill(pid, 0) ~= 0 then
      local path = vim.fs.joinpath(times_folder(), name)
      local ok, times = pcall(vim.json.decode, private_file.read(path) or "")
      if ok and type(times) == "table" and is_same_file(times.path, times.old) then
        set_mtime(times.path, times.file)
      end
      vim.uv.fs_unlink(path)
    end
  end
end

--- Records that a file's time is about to be set back.
---@param path string
---@param file rat.call.File with its real time
---@param old rat.call.File with the old time
---@return fun() forget removes the record
local function record_times(path, file, old)
  local place = vim.fs.joinpath(times_folder(), ("%d-%d.json"):format(vim.fn.getpid(), file.inode))
  private_file.replace(place, vim.json.encode({ path = path, file = file, old = old }))
  return function()
    vim.uv.fs_unlink(place)
  end
end

--- Lets the next `:write` replace the file without a prompt. Neovim compares the file's time with the one it read and asks
--- if they differ, although the buffer already has the file's text. So the file gets the old time for the duration of the
--- write.
---@param buf integer
---@param file rat.call.File
local function allow_quiet_write(buf, file)
  local group = api.nvim_create_augroup("rat_external_change_" .. buf, {})
  local read = track.read_stamp(buf)
  if not read then
    return
  end
  api.nvim_create_autocmd("BufWritePre", {
    group = group,
    buffer = buf,
    desc = "rat: write over an external change without a question",
    callback = function()
      local path = api.nvim_buf_get_name(buf)
      if not is_same_file(path, file) then
        return
      end
      local old = { sec = read.sec, nsec = read.nsec, size = file.size, inode = file.inode }
      local forget_times = record_times(path, file, old)
      set_mtime(path, read)
      vim.schedule(function()
        if is_same_file(path, old) then
          set_mtime(path, file) -- it was not written after all
        end
        forget_times()
      end)
    end,
  })
  api.nvim_create_autocmd({ "BufWritePost", "BufReadPost" }, {
    group = group,
    buffer = buf,
    desc = "rat: forget the external change",
    callback = function()
      pcall(api.nvim_del_augroup_by_id, group)
    end,
  })
end

--- Runs `:checktime` for a buffer and answers its prompt in advance.
---@param buf integer
---@return string? problem
local function check_time(buf)
  local group = api.nvim_create_augroup("rat_checktime", {})
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    buffer = buf,
    desc = "rat: keep the buffer, it has the file's text",
    callback = function()
      vim.v.fcs_choice = ""
    end,
  })
  local bo = vim.bo[buf]
  local autoread, modified = bo.autoread, bo.modified -- 'autoread' is nil if it has no local value
  bo.autoread = false
  if not modified then
    -- Otherwise Neovim reads the whole file to compare it with the buffer.
    bo.modified = true
  end
  local ok, problem = pcall(vim.cmd.checktime, { tostring(buf), mods = { silent = true } })
  bo.autoread = autoread
  if not modified then
    bo.modified = false
  end
  api.nvim_del_augroup_by_id(group)
  return not ok and tostring(problem) or nil
end

--- Runs `check_time` now, or after the command-line window has closed, where `:checktime` does not work.
---@param buf integer
---@param is_current fun(): boolean whether the file is still as it was when this was called
---@return string? problem
local function check_time_soon(buf, is_current)
  if vim.fn.getcmdwintype() == "" then
    return check_time(buf)
  end
  api.nvim_create_autocmd("CmdwinLeave", {
    once = true,
    desc = "rat: note the time of the file",
    callback = vim.schedule_wrap(function()
      if api.nvim_buf_is_loaded(buf) and is_current() then
        check_time(buf)
      end
    end),
  })
end

--- Makes Neovim take note of a changed file whose text the buffer already has.
---@param buf integer
---@param file rat.call.File identity of the file when its text was read
---@return string? problem
function M.acknowledge(buf, file)
  local function is_current()
    return is_same_file(api.nvim_buf_get_name(buf), file)
  end
  if not is_current() then
    return nil -- It has changed again, and Neovim must not consider that change known.
  end
  track.note_there(buf)
  allow_quiet_write(buf, file)
  return check_time_soon(buf, is_current)
end

--- Makes Neovim take note that the file of a buffer is gone, without a message.
---@param buf integer
---@return string? problem
function M.gone(buf)
  track.note_gone(buf)
  return check_time_soon(buf, function()
    return vim.uv.fs_stat(api.nvim_buf_get_name(buf)) == nil
  end)
end

return M
