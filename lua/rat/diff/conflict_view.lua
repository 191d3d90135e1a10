--- Shows the conflicts of a file in native diff mode on a tab page of their own: the lines on disk on the left, the file's
--- buffer on the right. `do` takes those on disk and `dp` those of the user; `u` undoes either.

local buffer_keys = require("rat.diff.buffer_keys")
local chooser = require("rat.ask.chooser")
local conflict = require("rat.document.conflict")
local notify = require("rat.util.notify")
local scratch = require("rat.view.scratch")
local tab_page = require("rat.diff.tab_page")

local api = vim.api
local M = {}

local NONE = "No conflicts to resolve"

--- Returns the text of a buffer with the agent's lines in place of the user's at each undecided conflict.
---@param buf integer
---@param conflicts rat.Conflict[] sorted by line
---@return string[] lines
---@return integer[][] places first and last row of the agent's lines, from 0, end exclusive
local function other_side(buf, conflicts)
  local lines, places, at = {}, {}, 0
  for _, one in ipairs(conflicts) do
    local ours, first = conflict.lines(buf, one.region)
    vim.list_extend(lines, api.nvim_buf_get_lines(buf, at, first, false))
    places[#places + 1] = { #lines, #lines + #one.other }
    vim.list_extend(lines, one.other)
    at = first + #ours
  end
  vim.list_extend(lines, api.nvim_buf_get_lines(buf, at, -1, false))
  return lines, places
end

--- Maps |u| in the file's buffer so that it undoes what the user has put into the agent's side, if that was the last thing
--- done. Neovim's own would undo a change of the file instead, which may be the agent's.
---@param buf integer the file
---@param side integer buffer
---@return fun() put to be called when the agent's side has changed
---@return fun() unmap
local function undo_both(buf, side)
  local tick ---@type integer? 'changedtick' of the file when the agent's side changed last
  local function undo()
    local is_put = tick == api.nvim_buf_get_changedtick(buf) and api.nvim_buf_is_valid(side)
    local target = is_put and vim.fn.undotree(side).seq_cur > 0 and side or buf
    local keys = ("normal! %du"):format(vim.v.count1)
    if target == buf then
      return vim.cmd(keys)
    end
    api.nvim_buf_call(side, function()
      vim.cmd("silent " .. keys)
    end)
    vim.cmd.diffupdate()
  end
  local unmap = buffer_keys.map(buf, { u = undo })
  return function()
    tick = api.nvim_buf_get_changedtick(buf)
  end, unmap
end

--- Updates the conflicts whenever the user changes the agent's side.
---@param side integer buffer
---@param conflicts rat.Conflict[]
---@param places integer[][]
---@param put fun() called at each change
local function watch_side(side, conflicts, places, put)
  local regions = {}
  for i, place in ipairs(places) do
    regions[i] = conflict.region(side, place[1], place[2])
  end
  local update = vim.schedule_wrap(function()
    if not api.nvim_buf_is_valid(side) then
      return
    end
    for i, one in ipairs(conflicts) do
      one.other = conflict.lines(side, regions[i])
    end
    conflict.refresh(conflicts[1].buf)
  end)
  api.nvim_buf_attach(side, false, {
    on_lines = function()
      put()
      update()
    end,
  })
end

---@param buf integer
local function show(buf)
  local conflicts = conflict.list(buf)
  if #conflicts == 0 then
    return notify.info("This conflict is already resolved")
  end
  local lines, places = other_side(buf, conflicts)
  local side = scratch.side(api.nvim_buf_get_name(buf), "agent", lines, true)
  local put, unmap = undo_both(buf, side)
  local page = tab_page.open(unmap)
  tab_page.compare(page, side, buf)
  watch_side(side, conflicts, places, put)
  local _, first = conflict.lines(buf, conflicts[1].region)
  api.nvim_win_set_cursor(page.right, { math.min(first + 1, api.nvim_buf_line_count(buf)), 0 })
  tab_page.set_winbars(
    page,
    " %#RatBar#on disk%*",
    " %#RatKey#do%* take it  %#RatKey#dp%* keep yours  %#RatKey#]c%* next  %#RatKey#:q%* done%<"
  )
end

--- Opens the conflicts of the current buffer, else of the only file with conflicts, else of a file the user chooses.
function M.open()
  local here = api.nvim_get_current_buf()
  if #conflict.list(here) > 0 then
    return show(here)
  end
  local buffers = {}
  for _, one in ipairs(conflict.list()) do
    if buffers[#buffers] ~= one.buf then
      buffers[#buffers + 1] = one.buf
    end
  end
  if #buffers == 0 then
    return notify.info(NONE)
  elseif #buffers == 1 then
    return show(buffers[1])
  end
  chooser.open(buffers, {
    prompt = "Resolve conflicts in which file?",
    format_item = function(buf)
      return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":.")
    end,
  }, function(buf)
    return buf and show(buf)
  end)
end

--- Lists all conflicts in the quickfix window. Where there are none, the list stays as it is.
function M.list()
  local entries = conflict.entries()
  if #entries == 0 then
    return notify.info(NONE)
  end
  vim.fn.setqflist({}, " ", { title = "Conflicts with files on disk", items = entries })
  vim.cmd("botright copen")
end

return M
