--- Lets Neovim take note of a file that was changed on disk, once its text is in the buffer: no
--- reload, no question. It changes no text.

local keep = require("rat.keep")
local track = require("rat.track")

local api = vim.api
local M = {}

---By what a file is known again.
---@class (exact) rat.adopt.File
---@field sec integer time of last change
---@field nsec integer
---@field size integer
---@field inode integer

---@param path string
---@param file rat.adopt.File
---@return boolean
local function is_file(path, file)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil
    and stat.mtime.sec == file.sec
    and stat.mtime.nsec == file.nsec
    and stat.size == file.size
    and stat.ino == file.inode
end

---Sets the time of last change to the nanosecond, which `uv.fs_utime()` cannot.
---@param path string
---@param time {sec: integer, nsec: integer}
local function set_time(path, time)
  local has_ffi, ffi = pcall(require, "ffi")
  if not has_ffi then
    vim.uv.fs_utime(path, time.sec, time.sec + time.nsec / 1e9)
    return
  end
  -- Declared under a name of our own: another plugin may have declared it in its own way.
  pcall(ffi.cdef, 'int rat_utimensat(int, const char *, const long *, int) __asm__("utimensat");')
  local linux = ffi.os == "Linux"
  local here, omit = linux and -100 or -2, linux and 0x3ffffffe or -2
  ffi.C.rat_utimensat(here, path, ffi.new("long[4]", 0, omit, time.sec, time.nsec), 0)
end

---Where the time of a file is noted while it has an old one, so that it comes back if Neovim is
---killed just then.
---@return string
local function notes()
  return keep.folder("times", "")
end

---Gives files their times back that a Neovim which was killed had set back. Those of one that runs
---are its own matter.
function M.repair()
  for name in vim.fs.dir(notes()) do
    local pid = tonumber(name:match("^%d+"))
    if pid and pid ~= vim.fn.getpid() and vim.uv.kill(pid, 0) ~= 0 then
      local path = vim.fs.joinpath(notes(), name)
      local ok, note = pcall(vim.json.decode, keep.read(path) or "")
      if ok and type(note) == "table" and is_file(note.path, note.old) then
        set_time(note.path, note.file)
      end
      vim.uv.fs_unlink(path)
    end
  end
end

---Notes that a file is about to get an old time, until that is over.
---@param path string
---@param file rat.adopt.File
---@param old rat.adopt.File
---@return fun() over
local function note(path, file, old)
  local place = vim.fs.joinpath(notes(), ("%d-%d.json"):format(vim.fn.getpid(), file.inode))
  keep.replace(place, vim.json.encode({ path = path, file = file, old = old }))
  return function()
    vim.uv.fs_unlink(place)
  end
end

---At `:write` Neovim compares the file's time with the one it read, and asks if it differs. For a
---file whose text is in the buffer there is nothing to ask: for the moment of the write the file
---gets the old time back.
---@param buf integer
---@param file rat.adopt.File
local function keep_write_quiet(buf, file)
  local group = api.nvim_create_augroup("rat_adopted_" .. buf, {})
  local read = track.stamp(buf)
  if not read then
    return
  end
  api.nvim_create_autocmd("BufWritePre", {
    group = group,
    buffer = buf,
    desc = "rat: a file that was adopted is no surprise",
    callback = function()
      local path = api.nvim_buf_get_name(buf)
      if not is_file(path, file) then
        return
      end
      local old = { sec = read.sec, nsec = read.nsec, size = file.size, inode = file.inode }
      local over = note(path, file, old)
      set_time(path, read)
      vim.schedule(function()
        if is_file(path, old) then
          set_time(path, file) -- it was not written after all
        end
        over()
      end)
    end,
  })
  api.nvim_create_autocmd({ "BufWritePost", "BufReadPost" }, {
    group = group,
    buffer = buf,
    desc = "rat: the adopted file is written, or Neovim has read it itself",
    callback = function()
      pcall(api.nvim_del_augroup_by_id, group)
    end,
  })
end

---Has Neovim look at the file's time, with an answer ready for what it would ask.
---@param buf integer
---@return string? problem
local function check_time(buf)
  local group = api.nvim_create_augroup("rat_adopting", {})
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    buffer = buf,
    desc = "rat: the file's text is in the buffer",
    callback = function()
      vim.v.fcs_choice = ""
    end,
  })
  local bo = vim.bo[buf]
  local own, modified = bo.autoread, bo.modified -- the first is nil where the buffer has none of its own
  bo.autoread = false
  if not modified then
    -- Else Neovim reads the whole file to see whether the buffer has another text.
    bo.modified = true
  end
  local ok, problem = pcall(vim.cmd.checktime, { tostring(buf), mods = { silent = true } })
  bo.autoread = own
  if not modified then
    bo.modified = false
  end
  api.nvim_del_augroup_by_id(group)
  return not ok and tostring(problem) or nil
end

---The same as soon as it is possible: `:checktime` does not work in the command-line window.
---@param buf integer
---@param is_known fun(): boolean whether the file is still the one meant
---@return string? problem
local function check_time_soon(buf, is_known)
  if vim.fn.getcmdwintype() == "" then
    return check_time(buf)
  end
  api.nvim_create_autocmd("CmdwinLeave", {
    once = true,
    desc = "rat: take note of a file on disk",
    callback = vim.schedule_wrap(function()
      if api.nvim_buf_is_loaded(buf) and is_known() then
        check_time(buf)
      end
    end),
  })
end

---Lets Neovim take note of the file of a buffer, which holds its text.
---@param buf integer
---@param file rat.adopt.File as it was when its text was read
---@return string? problem
function M.acknowledge(buf, file)
  local function is_known()
    return is_file(api.nvim_buf_get_name(buf), file)
  end
  if not is_known() then
    return nil -- It has changed again: Neovim must not take that for known.
  end
  keep_write_quiet(buf, file)
  return check_time_soon(buf, is_known)
end

---Lets Neovim take note that the file of a buffer is gone, without a message.
---@param buf integer
---@return string? problem
function M.gone(buf)
  track.note_stamp(buf)
  return check_time_soon(buf, function()
    return vim.uv.fs_stat(api.nvim_buf_get_name(buf)) == nil
  end)
end

return M
