--- Compares a file with its base, the text without what is pending, in native diff mode: |do| rejects a hunk, |dp| accepts
--- one. The binary carries both out, as in the review.
local buffer_keys = require("rat.diff.buffer_keys")
local decisions = require("rat.review.decisions")
local groups = require("rat.view.groups")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local paths = require("rat.document.paths")
local pending = require("rat.review.pending")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local splits = require("rat.view.splits")
local statusline_escape = require("rat.util.text").statusline_escape
local tab_page = require("rat.diff.tab_page")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

---@class rat.Comparison
---@field path string
---@field from? string the path before, if the file was moved
---@field page rat.DiffTabPage
---@field base integer buffer
---@field is_updating? boolean whether its lines are being replaced by us
---@field is_changed? boolean whether the user has changed it, of which the binary does not know yet
---@field hunks integer[] five numbers for each hunk: the first row and how many rows in the base and in the file; which one it is
---@field right rat.ComparedSide
---@field accepted? integer 'changedtick' of the file when a hunk was accepted last
---@field asked? boolean whether an update has been asked for
---@field stale? boolean whether something has changed since then

--- The side that shows the file.
---@class rat.ComparedSide
---@field buf integer the file; an empty one that cannot be changed stands for a deleted file
---@field is_deleted boolean
---@field is_ours boolean whether the file was not loaded before
---@field unmap fun()

--- Those that are shown, by path.
---@type table<string, rat.Comparison>
local comparisons = {}

--- The line that the user wants to see, by path.
---@type table<string, integer>
local wanted_line = {}

--- Asks for the base of a file, to compare the two.
---@param path string
---@param from string? the path before, if the file was moved
---@param line integer from 1
function M.open(path, from, line)
  wanted_line[path] = line
  rpc.notify("compare", { path = path, from = from })
end

--- Returns which hunks are at a row: those that have lines there, or else those that have removed or added lines above it, or
--- else below it.
---@param hunks integer[]
---@param side 1|3 the place of the first row of the side among the numbers of a hunk
---@param row integer
---@return integer[] ids
local function hunks_at(hunks, side, row)
  local here, above, below = {}, {}, {}
  for at = 0, #hunks - 1, 5 do
    local start, count, id = hunks[at + side], hunks[at + side + 1], hunks[at + 5]
    if start <= row and row < start + count then
      here[#here + 1] = id
    elseif count == 0 and start == row then
      above[#above + 1] = id
    elseif count == 0 and start == row + 1 then
      below[#below + 1] = id
    end
  end
  return #here > 0 and here or #above > 0 and above or below
end

--- Decides on the hunk at the cursor, in whichever window that is.
---@param path string
---@param keep boolean
local function decide(path, keep)
  local comparison = comparisons[path]
  if comparison.from then
    return notify.info(
      "A moved file is accepted or rejected as a whole, with a or r in :RatReview."
    )
  end
  local row, right = api.nvim_win_get_cursor(0)[1] - 1, comparison.right
  local ids ---@type integer[]?
  if api.nvim_get_current_buf() == comparison.base then
    ids = hunks_at(comparison.hunks, 1, row)
  elseif not right.is_deleted then
    ids = pending.ids(right.buf, row, row) or hunks_at(comparison.hunks, 3, row)
  end
  if ids and #ids == 0 then
    return notify.info("No pending change here. ]c and [c go to the others.")
  end
  ---@type rat.notify.Review
  local payload = {
    keep = keep,
    path = path,
    scope = "all",
    part = "lines",
    hunks = ids,
    decision = decisions.next_number(),
  }
  rpc.notify("review", payload)
  comparison.accepted = keep and api.nvim_buf_get_changedtick(right.buf) or nil
end

--- Takes the acceptance back if that was the last thing the user did here, since it has changed nothing that |u| could undo.
---@param path string
local function undo(path)
  local comparison = comparisons[path]
  if comparison.accepted ~= api.nvim_buf_get_changedtick(comparison.right.buf) then
    return vim.cmd("normal! " .. vim.v.count1 .. "u")
  end
  comparison.accepted = nil
  decisions.take_back(1)
end

--- Makes the side that shows the file as it is now.
---@param path string
---@return rat.ComparedSide
local function file_side(path)
  local loaded = paths.find(path)
  local is_deleted = not loaded and not vim.uv.fs_stat(path)
  local keys = {
    ["do"] = function()
      decide(path, false)
    end,
    dp = function()
      decide(path, true)
    end,
    u = function()
      undo(path)
    end,
  }
  local buf ---@type integer
  if is_deleted then
    buf = scratch.side(path, "deleted", {}, false)
    keys.q = function()
      tab_page.close(comparisons[path].page)
    end
  else
    buf = location.buffer_of(path)
    vim.fn.bufload(buf)
    vim.bo[buf].buflisted = true
  end
  return {
    buf = buf,
    is_deleted = is_deleted,
    is_ours = not loaded,
    unmap = buffer_keys.map(buf, keys),
  }
end

--- Unloads the buffer of a file that is gone, and that the user neither had loaded before nor changed.
---@param side rat.ComparedSide
---@param path string
local function forget(side, path)
  local buf = side.buf
  local is_unused = api.nvim_buf_is_valid(buf) and #vim.fn.win_findbuf(buf) == 0
  if is_unused and side.is_ours and not vim.bo[buf].modified and not vim.uv.fs_stat(path) then
    api.nvim_buf_delete(buf, {})
  end
end

---@param comparison rat.Comparison
local function attach_base(comparison)
  local base, page = comparison.base, comparison.page
  buffer_keys.map(base, {
    q = function()
      tab_page.close(page)
    end,
    -- From here, the other side is the file.
    ["do"] = function()
      decide(comparison.path, true)
    end,
    dp = function()
      decide(comparison.path, false)
    end,
  })
  -- Accepts what the user puts into the base, with |:diffput| for instance.
  local function send()
    if comparison.is_changed then
      comparison.is_changed = false
      vim.bo[base].modified = false
      local lines = api.nvim_buf_get_lines(base, 0, -1, true)
      rpc.notify("keep_as_base", { path = comparison.path, lines = lines })
    end
  end
  api.nvim_create_autocmd("BufUnload", {
    buffer = base,
    desc = "rat: accept what the user has put into the base at last",
    callback = send,
  })
  api.nvim_buf_attach(base, false, {
    on_lines = function()
      if not comparison.is_updating and not comparison.is_changed then
        comparison.is_changed = true
        vim.schedule(send)
      end
    end,
  })
end

---@param comparison rat.Comparison
---@param name string of the base
local function set_winbars(comparison, name)
  local left = (" %%#RatBar#%%<%s%%* before the changes"):format(statusline_escape(name))
  local action = comparison.right.is_deleted and "put back" or "reject"
  local keys = (" %%#RatKey#do%%* %s  %%#RatKey#dp%%* accept"):format(action)
  local what = (comparison.from and " moved" or "")
    .. (comparison.right.is_deleted and " deleted" or "")
  local moves = "%#RatKey#]c%* next  %#RatKey#:q%* close%<"
  local right = what .. (comparison.from and "" or keys) .. "  " .. moves
  tab_page.set_winbars(comparison.page, left, right)
end

---@param payload rat.msg.Compare
local function open(payload)
  local path, from = payload.path, payload.from
  local base = scratch.side(path, "base", payload.base or {}, not from)
  local right = file_side(path)
  local page = tab_page.open(function()
    local closed = comparisons[path]
    comparisons[path] = nil
    closed.right.unmap()
    forget(closed.right, path)
  end)
  ---@type rat.Comparison
  local comparison = {
    path = path,
    from = from,
    page = page,
    base = base,
    hunks = payload.hunks,
    right = right,
  }
  comparisons[path] = comparison
  tab_page.compare(page, base, right.buf)
  set_winbars(comparison, payload.name)
  attach_base(comparison)
end

--- Shows what has become of a comparison.
---@param comparison rat.Comparison
---@param payload rat.msg.Compare
local function update(comparison, payload)
  comparison.hunks = payload.hunks
  local exists = vim.uv.fs_stat(comparison.path) ~= nil
  local is_gone = not payload.base and not exists and not vim.bo[comparison.right.buf].modified
  if is_gone or payload.too_large then
    return tab_page.close(comparison.page)
  elseif exists and comparison.right.is_deleted then
    comparison.right = file_side(comparison.path)
    tab_page.compare(comparison.page, comparison.base, comparison.right.buf)
    set_winbars(comparison, payload.name)
  end
  if comparison.from and not payload.base then
    -- The move has been accepted, so from now on this is about the file alone.
    comparison.from = nil
    set_winbars(comparison, payload.name)
  end
  if not comparison.is_changed then
    local present = api.nvim_buf_get_lines(comparison.right.buf, 0, -1, true)
    comparison.is_updating = true
    scratch.update(comparison.base, payload.base or present)
    comparison.is_updating = false
  end
end

---@param comparison rat.Comparison
local function ask_for_update(comparison)
  comparison.stale = comparison.asked
  if not comparison.asked then
    comparison.asked = true
    local path, from = comparison.path, comparison.from
    rpc.notify("compare", { path = path, from = from, update = true })
  end
end

--- Goes to the line that the user wants to see; of a deleted file, to the beginning of what it was.
---@param comparison rat.Comparison
local function go_to_wanted_line(comparison)
  local page = comparison.page
  local line, last =
    wanted_line[comparison.path] or 1, api.nvim_buf_line_count(comparison.right.buf)
  wanted_line[comparison.path] = nil
  splits.enter(page.right)
  api.nvim_win_set_cursor(page.right, { math.max(1, math.min(line, last)), 0 })
  if comparison.right.is_deleted then
    -- Bound to a window without lines, the other one would show its end.
    for _, win in ipairs({ page.left, page.right }) do
      window_options.set(win, { scrollbind = false, cursorbind = false })
    end
    api.nvim_win_set_cursor(page.left, { 1, 0 })
  else
    vim.cmd(#comparison.hunks > 0 and "normal! zvzz" or "normal! zz")
  end
end

--- Shows a file beside its base, or what has become of that.
---@param payload rat.msg.Compare
function M.arrived(payload)
  groups.define()
  local comparison = comparisons[payload.path]
  if comparison then
    update(comparison, payload)
    comparison.asked = comparison.asked and not payload.update
    if comparison.stale and not comparison.asked then
      ask_for_update(comparison)
    end
  elseif not payload.update then
    open(payload)
  end
  comparison = comparisons[payload.path]
  if not payload.update and comparison then
    go_to_wanted_line(comparison)
  end
end

--- Returns the file that a buffer of a comparison stands for.
---@param buf integer
---@param is_whole boolean whether it is about the whole file: the lines of a base are not those of the file
---@return string? path
function M.path_of(buf, is_whole)
  for path, comparison in pairs(comparisons) do
    local right = comparison.right
    if right.is_deleted and right.buf == buf or is_whole and comparison.base == buf then
      return path
    end
  end
end

api.nvim_create_autocmd("User", {
  pattern = "RatReviewChanged",
  group = api.nvim_create_augroup("rat_compare", {}),
  desc = "rat: update comparisons",
  callback = function()
    vim.iter(vim.tbl_values(comparisons)):each(ask_for_update)
  end,
})

return M
