--- Takes texts out of buffers and puts changes into them, on behalf of the binary. It decides nothing about what
--- is written.

local track = require("rat.track")

local api = vim.api
local M = {}

---What the binary has to know of a buffer beside its lines.
---@class (exact) rat.buffers.Facts
---@field buf integer
---@field tick integer 'changedtick'
---@field lines integer
---@field bytes integer lines with one byte for each line end
---@field empty boolean whether there is no text, not even an empty line
---@field modified boolean
---@field locked? string why it cannot be changed or saved
---@field format string 'fileformat'
---@field encoding string 'fileencoding'
---@field bom boolean
---@field eol boolean whether the last line ends: in the file, or once unsaved changes are saved
---@field time? {sec: integer, nsec: integer} of the file when Neovim last read or wrote it, if that was seen
---@field changes? [integer, integer, string[]][] what changed since the tick asked about

---A change of whole lines, `{first, -1, last, -1, lines}`, or of a part, `{row, column, row, column, lines}`, as
---`nvim_buf_set_lines()` and `nvim_buf_set_text()` take them.
---@alias rat.buffers.Edit [integer, integer, integer, integer, string[]]

---@type table<integer, boolean>
local changing = {}

---@param buf integer
---@return boolean
local function is_document(buf)
  return api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ""
    and api.nvim_buf_get_name(buf) ~= ""
end

---@param name string
---@return string?
local function real_path(name)
  local real = vim.uv.fs_realpath(name)
  if real then
    return real
  end
  local folder = vim.uv.fs_realpath(vim.fs.dirname(name))
  return folder and vim.fs.joinpath(folder, vim.fs.basename(name)) or nil
end

---@param buf integer
---@param path string
---@return boolean
local function shows(buf, path)
  return is_document(buf) and real_path(api.nvim_buf_get_name(buf)) == path
end

---@param buf integer
---@return string?
local function why_locked(buf)
  if not vim.bo[buf].modifiable then
    return "the buffer is not 'modifiable'"
  elseif vim.bo[buf].readonly then
    return "the buffer is 'readonly'"
  end
  local name = api.nvim_buf_get_name(buf)
  if vim.uv.fs_stat(name) and not vim.uv.fs_access(name, "W") then
    return "the file is write-protected"
  end
end

---@param buf integer
---@param since? integer a tick
---@return rat.buffers.Facts
local function facts(buf, since)
  local bo = vim.bo[buf]
  local lines = api.nvim_buf_line_count(buf)
  local empty = false
  if lines == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == "" then
    empty = api.nvim_buf_call(buf, function()
      return vim.fn.wordcount().bytes == 0
    end)
  end
  return {
    buf = buf,
    tick = api.nvim_buf_get_changedtick(buf),
    lines = lines,
    bytes = api.nvim_buf_get_offset(buf, lines),
    empty = empty,
    modified = bo.modified,
    locked = why_locked(buf),
    format = bo.fileformat,
    encoding = bo.fileencoding,
    bom = bo.bomb,
    eol = bo.endofline or (bo.modified and bo.fixendofline and not bo.binary),
    time = track.time(buf),
    changes = since and track.since(buf, since) or nil,
  }
end

---Finds the loaded buffer of a file, by real path: `bufnr()` takes its argument for a pattern. The buffer is followed
---from now on. A buffer named before is looked at first, and told from its tick on.
---@param path string real path
---@param known? integer buffer found before
---@param since? integer its tick then
---@return rat.buffers.Facts?
function M.find(path, known, since)
  if known and api.nvim_buf_is_valid(known) and shows(known, path) then
    track.attach(known)
    return facts(known, since)
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if shows(buf, path) then
      track.attach(buf)
      return facts(buf)
    end
  end
end

---The facts of a buffer, with what changed since a tick.
---@param buf integer
---@param since? integer
---@return rat.buffers.Facts
function M.facts(buf, since)
  return facts(buf, since)
end

---Lines `from` to `to` (from 0, end exclusive), joined by newlines, with what changed since a tick. Past the end: fewer.
---@param buf integer
---@param from integer
---@param to integer
---@param since integer
---@return {text: string, count: integer, total: integer, tick: integer, changes?: [integer, integer, string[]][]}
function M.lines(buf, from, to, since)
  local lines = api.nvim_buf_get_lines(buf, from, to, false)
  return {
    text = table.concat(lines, "\n"),
    count = #lines,
    total = api.nvim_buf_line_count(buf),
    tick = api.nvim_buf_get_changedtick(buf),
    changes = track.since(buf, since),
  }
end

---A snapshot is taken in slices, so that typing is never held up: how many lines make one of about `bytes`.
---@param buf integer
---@param from integer
---@param bytes integer
---@return integer[] the line after each slice, the last one being the number of lines
function M.slices(buf, from, bytes)
  local count = api.nvim_buf_line_count(buf)
  local ends = {}
  while from < count do
    local target = api.nvim_buf_get_offset(buf, from) + bytes
    local low, high = from + 1, count
    while low < high do
      local middle = math.floor((low + high) / 2)
      if api.nvim_buf_get_offset(buf, middle) < target then
        low = middle + 1
      else
        high = middle
      end
    end
    ends[#ends + 1] = low
    from = low
  end
  return ends
end

---Ends the undo block: what comes next is a step of its own. Setting 'undolevels' does, also to what it is.
---@param buf integer
local function break_undo(buf)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
end

---@param buf integer
---@param edits rat.buffers.Edit[] in order, without overlap
local function make(buf, edits)
  for i = #edits, 1, -1 do
    local row, column, last_row, last_column, lines = unpack(edits[i])
    if column < 0 then
      api.nvim_buf_set_lines(buf, row, last_row, true, lines)
    else
      api.nvim_buf_set_text(buf, row, column, last_row, last_column, lines)
    end
  end
end

---Runs a change of a buffer that is still at `tick`, as one undo step. Refused while another one runs: a formatter
---that waits lets requests in.
---@param buf integer
---@param tick integer
---@param fn fun(): table?
---@return table result of `fn`, or the facts with `stale`, or with `busy`
local function change(buf, tick, fn)
  if not is_document(buf) then
    return { gone = true }
  elseif changing[buf] then
    return { busy = true }
  end
  local changes = track.since(buf, tick)
  if not changes or #changes > 0 then
    return { stale = true, facts = facts(buf, tick) }
  end
  changing[buf] = true
  break_undo(buf)
  local ok, result = pcall(track.as_ours, buf, fn)
  break_undo(buf)
  changing[buf] = nil
  if not ok then
    return { failed = tostring(result), facts = facts(buf, tick) }
  end
  return { failed = result, facts = facts(buf, tick) }
end

---@param buf integer
---@return boolean
local function is_typed_in(buf)
  return api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:match("^[iR]") ~= nil
end

---Writes the buffer to its file. No formatter while the user types in it, hence no autocommands then.
---@param buf integer
---@param eol boolean whether the last line gets its end
---@return string? problem
local function save(buf, eol)
  local written = false
  local seen = api.nvim_create_autocmd("BufWritePost", {
    buffer = buf,
    callback = function()
      written = true
    end,
  })
  local fixeol = vim.bo[buf].fixendofline
  vim.bo[buf].endofline = eol
  if not eol then
    vim.bo[buf].fixendofline = false
  end
  local ok, problem = pcall(api.nvim_buf_call, buf, function()
    -- `!`: whether the file may be written, and is the one we know, has been looked at; no question can be asked.
    vim.cmd.write({
      bang = true,
      mods = {
        silent = true,
        lockmarks = true,
        keepjumps = true,
        noautocmd = is_typed_in(buf),
      },
    })
  end)
  if api.nvim_buf_is_valid(buf) then
    vim.bo[buf].fixendofline = fixeol
    pcall(api.nvim_del_autocmd, seen)
  end
  if ok or written then
    track.note_time(buf)
    return nil
  end
  return (tostring(problem):gsub("^.-Vim%(%w+%):", ""))
end

---Makes edits in a buffer that is still at `tick`, as one undo step.
---@param buf integer
---@param tick integer
---@param edits rat.buffers.Edit[]
---@param unmodified boolean whether the text is then what the file says
---@return table
function M.apply(buf, tick, edits, unmodified)
  return change(buf, tick, function()
    make(buf, edits)
    if unmodified then
      vim.bo[buf].modified = false
    end
  end)
end

---Makes edits and saves the buffer; what a formatter adds is part of the same undo step. If saving fails, the edits
---stay, and the answer says why.
---@param buf integer
---@param tick integer
---@param edits rat.buffers.Edit[]
---@param eol boolean whether the last line gets its end
---@return table
function M.write(buf, tick, edits, eol)
  return change(buf, tick, function()
    make(buf, edits)
    return save(buf, eol)
  end)
end

---@class (exact) rat.buffers.File
---@field sec integer time of last change
---@field nsec integer
---@field size integer
---@field inode integer

---@param path string
---@param file rat.buffers.File
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
  pcall(ffi.cdef, 'int rat_utimensat(int, const char *, const long *, int) __asm__("utimensat");')
  local linux = ffi.os == "Linux"
  local here, omit = linux and -100 or -2, linux and 0x3ffffffe or -2
  ffi.C.rat_utimensat(here, path, ffi.new("long[4]", 0, omit, time.sec, time.nsec), 0)
end

---At `:write` Neovim compares the file's time with the one it read, and asks if it differs. For a file whose text
---is in the buffer there is nothing to ask: for the moment of the write the file gets the old time back.
---@param buf integer
---@param file rat.buffers.File
local function keep_write_quiet(buf, file)
  local group = api.nvim_create_augroup("rat_adopted_" .. buf, {})
  local read = track.time(buf)
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
      set_time(path, read)
      vim.schedule(function()
        local old = { sec = read.sec, nsec = read.nsec, size = file.size, inode = file.inode }
        if is_file(path, old) then
          set_time(path, file) -- it was not written after all
        end
      end)
    end,
  })
  api.nvim_create_autocmd("BufWritePost", {
    group = group,
    buffer = buf,
    callback = function()
      pcall(api.nvim_del_augroup_by_id, group)
    end,
  })
end

---Lets Neovim take note of the file as it is now, without a reload and without a question.
---@param buf integer
---@return string? problem
local function take_note(buf)
  local group = api.nvim_create_augroup("rat_adopting", {})
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    buffer = buf,
    callback = function()
      vim.v.fcs_choice = ""
    end,
  })
  local own = api.nvim_get_option_value("autoread", { buf = buf, scope = "local" })
  vim.bo[buf].autoread = false
  local ok, problem = pcall(vim.cmd.checktime, { tostring(buf), mods = { silent = true } })
  vim.bo[buf].autoread = own
  api.nvim_del_augroup_by_id(group)
  return not ok and tostring(problem) or nil
end

---Brings a buffer up to a file that was changed on disk: the edits as one undo step, no reload, no question now or at
---the next `:write`. A buffer that was unmodified stays so.
---@param buf integer
---@param tick integer
---@param edits rat.buffers.Edit[]
---@param file rat.buffers.File as it was when its text was read
---@param eol boolean whether its last line has its end
---@return table
function M.adopt(buf, tick, edits, file, eol)
  return change(buf, tick, function()
    local modified = vim.bo[buf].modified
    make(buf, edits)
    if not modified then
      vim.bo[buf].endofline = eol
      vim.bo[buf].modified = false
    end
    if not is_file(api.nvim_buf_get_name(buf), file) then
      return nil -- Changed again; Neovim must not take that for known.
    end
    keep_write_quiet(buf, file)
    return take_note(buf)
  end)
end

---Marks a buffer as one with text that its file does not have.
---@param buf integer
function M.mark_modified(buf)
  if is_document(buf) then
    vim.bo[buf].modified = true
  end
end

return M
