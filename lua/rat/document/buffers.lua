--- Takes texts out of buffers and puts changes into them, on behalf of the binary. It decides
--- nothing about what is written.

local busy = require("rat.busy")
local places = require("rat.places")
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
---@field format string 'fileformat', of 'binary' ones "unix"
---@field formats string 'fileformats': what Neovim would look for on reading the file again
---@field finds_encoding boolean whether it would look for the encoding, too
---@field encoding string 'fileencoding'
---@field bom boolean
---@field eol boolean whether the last line ends: in the file, or once unsaved changes are saved
---@field stamp? rat.track.Stamp of the file when Neovim last read or wrote it
---@field changes? [integer, integer, string[]][] what changed since the tick asked about

---@class (exact) rat.buffers.Lines
---@field text string joined by newlines
---@field count integer
---@field tick integer
---@field changes? [integer, integer, string[]][] what changed since the tick asked about
---@field facts? rat.buffers.Facts where the lines reach the end

---@type table<integer, boolean>
local changing = {}
---The real path by which a buffer was found.
---@type table<integer, string>
local file_of = {}

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
  -- Lengths are asked for by offset: a line may have megabytes.
  if lines == 1 and api.nvim_buf_get_offset(buf, 1) <= 1 then
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
    format = bo.binary and "unix" or bo.fileformat,
    formats = bo.binary and "" or vim.o.fileformats,
    finds_encoding = not bo.binary and vim.o.fileencodings ~= "",
    encoding = bo.fileencoding,
    bom = bo.bomb and not bo.binary,
    eol = bo.endofline or (bo.modified and bo.fixendofline and not bo.binary),
    stamp = track.stamp(buf),
    changes = since and track.since(buf, since) or nil,
  }
end

---Finds the loaded buffer of a file, by real path: `bufnr()` takes its argument for a pattern. The
---buffer is followed from now on. A buffer named before is looked at first, and told from its tick
---on.
---@param path string real path
---@param known? integer buffer found before
---@param since? integer its tick then
---@return rat.buffers.Facts?
function M.find(path, known, since)
  if known and api.nvim_buf_is_valid(known) and places.shows(known, path) then
    file_of[known] = path
    track.attach(known)
    return facts(known, since)
  end
  local buf = places.find(path)
  if buf then
    file_of[buf] = path
    track.attach(buf)
    return facts(buf)
  end
end

---Up to so many bytes a text costs no more as a whole than in part.
local FEW_BYTES = 64 * 1024

---The same, and of a buffer with unsaved changes some of its lines or, if it is small, all of them,
---unless nothing has changed since the tick.
---@param path string real path
---@param known? integer
---@param since? integer
---@param from integer from 0
---@param to integer end exclusive
---@return {facts: rat.buffers.Facts, part: rat.buffers.Lines?}?
function M.glance(path, known, since, from, to)
  local found = M.find(path, known, since)
  if not found then
    return nil
  end
  if not found.modified or (found.changes and #found.changes == 0) then
    return { facts = found }
  end
  if found.bytes <= FEW_BYTES then
    from, to = 0, found.lines
  end
  return { facts = found, part = M.lines(found.buf, from, to, found.tick) }
end

---Lines `from` to `to` (from 0, end exclusive), joined by newlines, with what changed since a tick,
---and at the end of the buffer with its facts. Past the end: fewer.
---@param buf integer
---@param from integer
---@param to integer
---@param since integer
---@return rat.buffers.Lines
function M.lines(buf, from, to, since)
  local lines = api.nvim_buf_get_lines(buf, from, to, false)
  local at_end = to >= api.nvim_buf_line_count(buf)
  return {
    text = table.concat(lines, "\n"),
    count = #lines,
    tick = api.nvim_buf_get_changedtick(buf),
    changes = track.since(buf, since),
    facts = at_end and facts(buf) or nil,
  }
end

---A snapshot is taken in slices, so that typing is never held up: tells where they end, each having
---about `bytes`, from a line on.
---@param buf integer
---@param from integer
---@param bytes integer
---@return {facts: rat.buffers.Facts, ends: integer[]}
function M.slices(buf, from, bytes)
  track.attach(buf)
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
  return { facts = facts(buf), ends = ends }
end

---Ends the undo block: what comes next is a step of its own. Setting 'undolevels' does, also to
---what it is.
---@param buf integer
local function break_undo(buf)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
end

---Runs a change of a buffer that is still at `tick`, as one undo step. Refused while another one
---runs (a formatter that waits lets requests in), while text is locked, and while a command of the
---user's holds line numbers.
---@param buf integer
---@param tick integer
---@param fn fun(): string?, integer? a problem, or how many changes since `tick` have been saved
---@return table
local function change(buf, tick, fn)
  if not places.shows(buf, file_of[buf]) then
    -- Unloaded, renamed, or a link on the way to its file leads elsewhere now.
    return { gone = true }
  elseif changing[buf] or busy.is_text_locked() or busy.holds_lines(buf) then
    return { busy = true }
  end
  local changes = track.since(buf, tick)
  if not changes or #changes > 0 then
    return { stale = true, facts = facts(buf, tick) }
  end
  changing[buf] = true
  break_undo(buf)
  local ok, result, saved = pcall(track.as_ours, buf, fn)
  break_undo(buf)
  changing[buf] = nil
  if not ok then
    return { failed = tostring(result), facts = facts(buf, tick) }
  end
  return { failed = result, saved = saved, facts = facts(buf, tick) }
end

---@param buf integer
---@return boolean
local function is_typed_in(buf)
  return api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:match("^[iR]") ~= nil
end

---Whether a buffer holds characters that its file cannot.
---@param buf integer
---@return string? problem
local function cannot_hold(buf)
  local encoding = vim.bo[buf].fileencoding
  if not require("rat.encoding").is_partial(encoding) then
    return nil
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
  local lacks = require("rat.encoding").lacks(text, encoding)
  return lacks and ("its 'fileencoding' %s has no %q"):format(encoding, lacks) or nil
end

---What Neovim says of a command that failed, without where it was called from.
---@param why string
---@return string
local function reason(why)
  why = why:gsub("%s*stack traceback:.*", ""):gsub("^.*Vim%(%w+%):", "")
  why = why:gsub("^Error executing lua: ", ""):gsub("^vim/_editor%.lua:%d+: ", "")
  return (why:gsub("^nvim_exec2%(%)[%[%]%d]*%.%.", ""):gsub("%s*\n%s*", " "))
end

---Writes the buffer to its file. No formatter while the user types in it, hence no autocommands
---then.
---@param buf integer
---@param tick integer before the edits
---@param eol boolean whether the last line gets its end
---@return string? problem
---@return integer? count how many changes since `tick` are in the file; there may be more by now
local function save(buf, tick, eol)
  local typed_in = is_typed_in(buf)
  local problem = (typed_in or vim.o.eventignore ~= "") and cannot_hold(buf) or nil
  if problem then
    return problem
  end
  local count = nil ---@type integer?
  local function note_text()
    local changes = track.since(buf, tick)
    count = changes and #changes
  end
  note_text()
  local group = api.nvim_create_augroup("rat_saving_" .. buf, {})
  api.nvim_create_autocmd("BufWritePre", {
    group = group,
    buffer = buf,
    desc = "rat: what a formatter has brought in may not be lost either",
    callback = function()
      problem = cannot_hold(buf)
      if problem then
        error(problem, 0)
      end
      note_text()
    end,
  })
  local fixeol, had_eol = vim.bo[buf].fixendofline, vim.bo[buf].endofline
  vim.bo[buf].endofline = eol
  if not eol then
    vim.bo[buf].fixendofline = false
  end
  vim.bo[buf].modified = true -- so that it tells whether the buffer was written
  local name = api.nvim_buf_get_name(buf)
  local stat = vim.uv.fs_stat(name)
  local ok, why = pcall(api.nvim_buf_call, buf, function()
    -- `!`: whether the file may be written, and is the one we know, has been looked at. Without it
    -- Neovim may ask the user, and stand still until there is an answer.
    -- `++p`: with the folders it needs.
    local mods = "silent lockmarks keepjumps" .. (typed_in and " noautocmd" or "")
    vim.cmd(mods .. " write!" .. (stat and "" or " ++p"))
  end)
  if api.nvim_buf_is_valid(buf) then
    vim.bo[buf].fixendofline = fixeol
  end
  api.nvim_del_augroup_by_id(group)
  if not ok and (not api.nvim_buf_is_valid(buf) or vim.bo[buf].modified) then
    if api.nvim_buf_is_valid(buf) then
      vim.bo[buf].endofline = had_eol
    end
    if not vim.deep_equal(vim.uv.fs_stat(name), stat) then
      track.note_stamp(buf) -- Neovim knows the file as its broken write has left it.
    end
    return problem or reason(tostring(why))
  elseif not ok or typed_in then
    track.saved(buf) -- Its autocommand did not run, or perhaps not: another one may have failed.
  end
  return nil, count
end

---Makes edits in a buffer that is still at `tick`, as one undo step.
---@param buf integer
---@param tick integer
---@param edits rat.edits.Edit[]
---@param unmodified boolean whether the text is then what the file says
---@return table
function M.apply(buf, tick, edits, unmodified)
  return change(buf, tick, function()
    require("rat.edits").make(buf, edits)
    if unmodified then
      vim.bo[buf].modified = false
    end
  end)
end

---Makes edits and saves the buffer; what a formatter adds is part of the same undo step. If saving
---fails, the edits stay, and the answer says why.
---@param buf integer
---@param tick integer
---@param edits rat.edits.Edit[]
---@param eol boolean whether the last line gets its end
---@return table
function M.write(buf, tick, edits, eol)
  return change(buf, tick, function()
    require("rat.edits").make(buf, edits)
    return save(buf, tick, eol)
  end)
end

---What a file has beside its lines.
---@class (exact) rat.buffers.Shape
---@field format string 'fileformat'
---@field bom boolean
---@field eol boolean
---@field encoding string 'fileencoding'

---@param buf integer
---@param shape rat.buffers.Shape of the file the buffer's text is from
---@param modified boolean
local function take_shape(buf, shape, modified)
  local bo, now = vim.bo[buf], facts(buf)
  local function take(option, is, becomes)
    if is ~= becomes then
      bo[option] = becomes
      bo.modified = false -- it counts as the file's from here on
    end
  end
  take("fileformat", now.format, shape.format)
  take("bomb", now.bom, shape.bom)
  take("fileencoding", now.encoding == "" and "utf-8" or now.encoding, shape.encoding)
  take("endofline", modified and now.eol or bo.endofline, shape.eol)
  if bo.modified ~= modified then
    bo.modified = modified
  end
end

---Runs `fn` on a buffer that may be 'readonly' or not 'modifiable': a file that has changed is
---followed there, too, as on a reload. The first change of a 'readonly' buffer makes Neovim warn and
---stand still for a second.
---@param buf integer
---@param fn fun()
local function unprotected(buf, fn)
  local bo = vim.bo[buf]
  local readonly, modifiable = bo.readonly, bo.modifiable
  if readonly or not modifiable then
    bo.readonly, bo.modifiable = false, true
  end
  local ok, why = pcall(fn)
  if readonly or not modifiable then
    bo.readonly, bo.modifiable = readonly, modifiable
  end
  if not ok then
    error(why, 0)
  end
end

---Brings a buffer up to a file that was changed on disk: the edits as one undo step, no reload, no
---question now or at the next `:write`.
---@param buf integer
---@param tick integer
---@param edits rat.edits.Edit[]
---@param file rat.adopt.File as it was when its text was read
---@param shape rat.buffers.Shape
---@param modified boolean whether the buffer then has text that the file has not
---@param kept rat.conflict.Kept[] lines that stay although the file has others
---@return table
function M.adopt(buf, tick, edits, file, shape, modified, kept)
  return change(buf, tick, function()
    require("rat.conflict").mark(buf, kept)
    unprotected(buf, function()
      if #edits > 0 then
        -- Neovim notes at each change whether undoing it leads back to what the file says: not here.
        vim.bo[buf].modified = true
      end
      require("rat.edits").make(buf, edits)
      take_shape(buf, shape, modified)
    end)
    return require("rat.adopt").acknowledge(buf, file)
  end)
end

---Marks a buffer that is still at `tick` as one with text that its file has not.
---@param buf integer
---@param tick integer
function M.mark_modified(buf, tick)
  if places.is_document(buf) and api.nvim_buf_get_changedtick(buf) == tick then
    vim.bo[buf].modified = true
  end
end

---Makes what an agent did to a file before it was opened a step that can be undone. Only for a
---buffer that is as it was read: still at `tick`, unmodified and without a past.
---@param buf integer
---@param tick integer
---@param back rat.edits.Edit[] to the text before the agent
---@param forth rat.edits.Edit[] from there to the text of now
function M.as_step(buf, tick, back, forth)
  change(buf, tick, function()
    local past = vim.fn.undotree(buf).seq_last
    if past > 0 or vim.bo[buf].modified or not vim.bo[buf].modifiable then
      return
    end
    local levels = vim.bo[buf].undolevels
    vim.bo[buf].undolevels = -1
    require("rat.edits").make(buf, back)
    vim.bo[buf].undolevels = levels
    -- Undone, the buffer has a text that the file has not.
    vim.bo[buf].modified = true
    require("rat.edits").make(buf, forth)
    vim.bo[buf].modified = false
  end)
end

---Lets Neovim take note that the file of a buffer is gone. Its text is nowhere else now: it counts
---as unsaved.
---@param buf integer
function M.file_gone(buf)
  if places.is_document(buf) then
    vim.bo[buf].modified = true
    require("rat.adopt").gone(buf)
  end
end

return M
