--- Reads, edits and saves the buffers of files on behalf of the binary, which calls these functions over RPC and decides
--- what is written.
local buffer_edits = require("rat.document.edits")
local busy = require("rat.document.busy")
local conflict = require("rat.document.conflict")
local encoding = require("rat.document.encoding")
local external_change = require("rat.document.external_change")
local paths = require("rat.document.paths")
local track = require("rat.document.track")

local api = vim.api
local M = {}

--- Buffers that `change` is working on.
---@type table<integer, boolean>
local changing = {}
--- The real path that each buffer was found by.
---@type table<integer, string>
local path_of = {}

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
---@return rat.call.Facts
local function facts(buf, since)
  local bo = vim.bo[buf]
  local lines = api.nvim_buf_line_count(buf)
  -- Line lengths come from offsets, since a line may have megabytes.
  local may_be_empty = lines == 1 and api.nvim_buf_get_offset(buf, 1) <= 1
  local undo, empty = unpack(api.nvim_buf_call(buf, function()
    return { vim.fn.changenr(), may_be_empty and vim.fn.wordcount().bytes == 0 }
  end))
  return {
    buf = buf,
    tick = api.nvim_buf_get_changedtick(buf),
    undo = undo,
    lines = lines,
    bytes = api.nvim_buf_get_offset(buf, lines),
    empty = empty,
    modified = bo.modified,
    locked = why_locked(buf),
    shape = {
      format = bo.binary and "unix" or bo.fileformat,
      encoding = bo.fileencoding,
      bom = bo.bomb and not bo.binary,
      eol = bo.endofline or (bo.modified and bo.fixendofline and not bo.binary),
    },
    formats = bo.binary and "" or vim.o.fileformats,
    finds_encoding = not bo.binary and vim.o.fileencodings ~= "",
    stamp = track.stamp(buf),
    changes = since and track.since(buf, since) or nil,
    by_writes = since and track.by_writes(buf, since) or nil,
  }
end

--- Finds the loaded buffer of a file and tracks its changes from now on. A buffer that was found before is tried first;
--- its facts include the changes since then.
---@param path string real path
---@param known? integer buffer found before
---@param since? integer its 'changedtick' then
---@return rat.call.Facts?
function M.find(path, known, since)
  if known and api.nvim_buf_is_valid(known) and paths.shows(known, path) then
    path_of[known] = path
    track.attach(known)
    return facts(known, since)
  end
  local buf = paths.find(path)
  if buf then
    path_of[buf] = path
    track.attach(buf)
    return facts(buf)
  end
end

--- Up to this size, sending a whole text costs no more than sending a part.
local SMALL_BYTES = 64 * 1024

--- Like `find`, with lines of the buffer if it has unsaved changes, unless nothing has changed since the tick. A buffer of
--- at most SMALL_BYTES is returned whole.
---@param path string real path
---@param known? integer
---@param since? integer
---@param from integer first line, from 0
---@param to integer end exclusive
---@return rat.call.Glanced?
function M.glance(path, known, since, from, to)
  local found = M.find(path, known, since)
  if not found then
    return nil
  end
  if not found.modified or (found.changes and #found.changes == 0) then
    return { facts = found }
  end
  if found.bytes <= SMALL_BYTES then
    from, to = 0, found.lines
  end
  return { facts = found, part = M.lines(found.buf, from, to, found.tick) }
end

--- Returns lines of a buffer joined by newlines, with the changes since a tick. A slice that reaches the end of the buffer
--- includes its facts; one that reaches past it has fewer lines.
---@param buf integer
---@param from integer first line, from 0
---@param to integer end exclusive
---@param since integer tick
---@return rat.call.Slice
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

--- Divides a buffer into slices of whole lines, so that a snapshot of it never holds up typing.
---@param buf integer
---@param from integer first line of the first slice, from 0
---@param bytes integer approximate size of a slice
---@return rat.call.SliceEnds
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

--- Closes the current undo block. Setting 'undolevels' does that, even to its own value.
---@param buf integer
local function break_undo(buf)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
end

--- Runs a change of a buffer that is still at `tick`, as one undo step. Refused as busy while another change runs (a
--- formatter that waits processes events, and so requests), while text is locked, and while a command of the user's holds
--- line numbers.
---@param buf integer
---@param tick integer
---@param fn fun(): string?, integer? returns a problem, or how many changes since `tick` have been saved
---@return rat.call.Outcome
local function change(buf, tick, fn)
  if not paths.shows(buf, path_of[buf]) then
    -- It was unloaded or renamed, or a symlink in its path has changed.
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
local function is_user_inserting(buf)
  return api.nvim_get_current_buf() == buf and api.nvim_get_mode().mode:match("^[iR]") ~= nil
end

--- Checks that the buffer's text can be encoded in its 'fileencoding'.
---@param buf integer
---@return string? problem
local function encoding_problem(buf)
  local name = vim.bo[buf].fileencoding
  if not encoding.is_partial(name) then
    return nil
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
  local lacks = encoding.lacks(text, name)
  return lacks and ("its 'fileencoding' %s has no %q"):format(name, lacks) or nil
end

--- Strips the position and traceback from the error message of a failed command.
---@param why string
---@return string
local function error_text(why)
  why = why:gsub("%s*stack traceback:.*", ""):gsub("^.*Vim%(%w+%):", "")
  why = why:gsub("^Error executing lua: ", ""):gsub("^vim/_editor%.lua:%d+: ", "")
  return (why:gsub("^nvim_exec2%(%)[%[%]%d]*%.%.", ""):gsub("%s*\n%s*", " "))
end

--- Writes the buffer to its file. While the user is typing in it autocommands are off, so that no formatter runs.
---@param buf integer
---@param tick integer before the edits
---@param eol boolean whether the last line gets a line end
---@return string? problem
---@return integer? count how many changes since `tick` were written; there may be more by now
local function save(buf, tick, eol)
  local inserting = is_user_inserting(buf)
  local problem = (inserting or vim.o.eventignore ~= "") and encoding_problem(buf) or nil
  if problem then
    return problem
  end
  local count = nil ---@type integer?
  local function count_changes()
    local changes = track.since(buf, tick)
    count = changes and #changes
  end
  count_changes()
  local group = api.nvim_create_augroup("rat_saving_" .. buf, {})
  api.nvim_create_autocmd("BufWritePre", {
    group = group,
    buffer = buf,
    desc = "rat: check and note the text that is written",
    callback = function()
      problem = encoding_problem(buf)
      if problem then
        error(problem, 0)
      end
      count_changes()
    end,
  })
  local fixeol, had_eol = vim.bo[buf].fixendofline, vim.bo[buf].endofline
  vim.bo[buf].endofline = eol
  if not eol then
    vim.bo[buf].fixendofline = false
  end
  vim.bo[buf].modified = true -- so that 'modified' shows afterwards whether it was written
  local name = api.nvim_buf_get_name(buf)
  local stat = vim.uv.fs_stat(name)
  local ok, why = pcall(api.nvim_buf_call, buf, function()
    -- `!`: it has been checked that the file may be written and has not changed. Without it Neovim may ask the user, and
    -- block until they answer.
    -- `++p` creates missing folders.
    local mods = "silent lockmarks keepjumps" .. (inserting and " noautocmd" or "")
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
      track.note_stamp(buf) -- the failed write has changed the file
    end
    return problem or error_text(tostring(why))
  elseif not ok or inserting then
    track.saved(buf) -- BufWritePost did not run, or may not have run because another autocommand failed
  end
  return nil, count
end

--- Makes edits in a buffer that is still at `tick`, as one undo step.
---@param buf integer
---@param tick integer
---@param edits rat.edits.Edit[]
---@param unmodified boolean whether the buffer then has the text of its file
---@return rat.call.Outcome
function M.apply(buf, tick, edits, unmodified)
  return change(buf, tick, function()
    buffer_edits.make(buf, edits)
    if unmodified then
      vim.bo[buf].modified = false
    end
  end)
end

--- Makes edits and saves the buffer. Changes made by a formatter are part of the same undo step. If saving fails, the edits
--- stay, and the result says why.
---@param buf integer
---@param tick integer
---@param edits rat.edits.Edit[]
---@param eol boolean whether the last line gets a line end
---@return rat.call.Outcome
function M.write(buf, tick, edits, eol)
  return change(buf, tick, function()
    buffer_edits.make(buf, edits)
    return save(buf, tick, eol)
  end)
end

--- Sets the options that describe the file: format, byte order mark, encoding and final line end.
---@param buf integer
---@param shape rat.call.Shape of the file that the buffer now follows
---@param modified boolean
local function set_file_options(buf, shape, modified)
  local bo, now = vim.bo[buf], facts(buf).shape
  local function set_option(option, is, becomes)
    if is ~= becomes then
      bo[option] = becomes
      bo.modified = false -- Neovim compares with the file's value as of now
    end
  end
  set_option("fileformat", now.format, shape.format)
  set_option("bomb", now.bom, shape.bom)
  set_option("fileencoding", now.encoding == "" and "utf-8" or now.encoding, shape.encoding)
  set_option("endofline", modified and now.eol or bo.endofline, shape.eol)
  if bo.modified ~= modified then
    bo.modified = modified
  end
end

--- Runs `fn`, which changes a buffer, even if it is 'readonly' or not 'modifiable': like a reload, following the disk
--- ignores both. The first change of a 'readonly' buffer would make Neovim warn and sleep for a second.
---@param buf integer
---@param fn fun()
local function without_protection(buf, fn)
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

--- Updates a buffer to its file, which was changed on disk: the edits are one undo step, without a reload, and without a
--- prompt now or at the next `:write`.
---@param buf integer
---@param tick integer
---@param edits rat.edits.Edit[]
---@param file rat.call.File identity of the file when its text was read
---@param shape rat.call.Shape
---@param modified boolean whether the buffer then differs from the file
---@param unresolved rat.conflict.Unresolved[] lines that stay although the file has others
---@param turn string the turn that has written the others
---@return table
function M.follow_disk(buf, tick, edits, file, shape, modified, unresolved, turn)
  return change(buf, tick, function()
    conflict.mark(buf, unresolved, turn)
    without_protection(buf, function()
      if #edits > 0 then
        -- Neovim records with each change whether undoing it restores the file's text. Undoing this one does not.
        vim.bo[buf].modified = true
      end
      buffer_edits.make(buf, edits)
      set_file_options(buf, shape, modified)
    end)
    return external_change.acknowledge(buf, file)
  end)
end

--- Sets 'modified' of a buffer that is still at `tick`: its text differs from its file.
---@param buf integer
---@param tick integer
function M.mark_modified(buf, tick)
  if paths.is_document(buf) and api.nvim_buf_get_changedtick(buf) == tick then
    vim.bo[buf].modified = true
  end
end

--- Makes what an agent did to a file before it was opened an undo step. Does so only if the buffer is as it was read: still
--- at `tick`, unmodified, and without undo history.
---@param buf integer
---@param tick integer
---@param back rat.edits.Edit[] from the current text to the one before the agent's changes
---@param forth rat.edits.Edit[] from there to the current text
function M.as_step(buf, tick, back, forth)
  change(buf, tick, function()
    local last_change = vim.fn.undotree(buf).seq_last
    if last_change > 0 or vim.bo[buf].modified or not vim.bo[buf].modifiable then
      return
    end
    -- The text is the same afterwards, so the user stays where they have gone.
    local views = {} ---@type table<integer, table>
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      views[win] = api.nvim_win_call(win, vim.fn.winsaveview)
    end
    local levels = vim.bo[buf].undolevels
    vim.bo[buf].undolevels = -1
    buffer_edits.make(buf, back)
    vim.bo[buf].undolevels = levels
    -- Neovim records this with the change: undoing it leaves a text that differs from the file.
    vim.bo[buf].modified = true
    buffer_edits.make(buf, forth)
    vim.bo[buf].modified = false
    for win, view in pairs(views) do
      api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end)
end

--- Handles the deletion of a buffer's file: Neovim takes note of it without a message, and the text counts as unsaved.
---@param buf integer
function M.file_gone(buf)
  if paths.is_document(buf) then
    vim.bo[buf].modified = true
    external_change.gone(buf)
  end
end

return M
