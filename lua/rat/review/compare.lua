--- Compares a file with its base, the text without what is pending, in native diff mode: |do| rejects a hunk, |dp| accepts
--- one.
local groups = require("rat.view.groups")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local splits = require("rat.view.splits")
local statusline_escape = require("rat.util.text").statusline_escape
local tab_page = require("rat.diff.tab_page")

local api = vim.api
local M = {}

--- The line that the user wants to see, by path.
---@type table<string, integer>
local wanted_line = {}

--- Asks for the base of a file, to compare the two.
---@param path string
---@param line integer from 1
function M.open(path, line)
  wanted_line[path] = line
  rpc.notify("compare", { path = path })
end

--- Returns the buffer of a file, loaded; an empty one for a file that does not exist.
---@param path string
---@return integer buf
local function file_buffer(path)
  local buf = location.buffer_of(path)
  vim.fn.bufload(buf)
  vim.bo[buf].buflisted = true
  return buf
end

---@param buf integer
---@param page rat.DiffTabPage
local function map_close(buf, page)
  vim.keymap.set("n", "q", function()
    tab_page.close(page)
  end, { buffer = buf, nowait = true, desc = "rat: close" })
end

--- Has a deleted file put back once its text is in the buffer again.
---@param buf integer
---@param path string
---@param base string[]
---@return integer autocmd
local function watch_deleted(buf, path, base)
  return api.nvim_create_autocmd("TextChanged", {
    buffer = buf,
    desc = "rat: put the file back that has its text again",
    callback = function()
      local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
      if not vim.uv.fs_stat(path) and vim.deep_equal(lines, base) then
        rpc.notify("put_back", { path = path })
      end
    end,
  })
end

--- Has |do| save a file that had no unsaved changes, as rejecting does elsewhere. Returns what takes that back.
---@param buf integer
---@return fun()
local function save_after_do(buf)
  local is_free = api.nvim_buf_call(buf, function()
    return vim.fn.maparg("do", "n", false, true).buffer ~= 1
  end)
  if not is_free then
    return function() end
  end
  vim.keymap.set("n", "do", function()
    local had_changes = vim.bo[buf].modified
    vim.cmd("normal! " .. (vim.v.count > 0 and vim.v.count or "") .. "do")
    if not had_changes and vim.bo[buf].modified then
      local ok, problem = pcall(api.nvim_command, "silent write")
      if not ok then
        notify.warn(("Rejected, but not saved: %s"):format(problem))
      end
    end
  end, { buffer = buf, desc = "rat: reject the hunk" })
  return function()
    pcall(vim.keymap.del, "n", "do", { buffer = buf })
  end
end

--- Shows a file beside its base.
---@param payload rat.msg.Compare
function M.arrived(payload)
  groups.define()
  local line = wanted_line[payload.path] or 1
  wanted_line[payload.path] = nil
  local file = file_buffer(payload.path)
  local base = scratch.side(payload.path, "base", payload.base, true)
  local tick = api.nvim_buf_get_changedtick(base)
  local undo ---@type fun()
  if vim.uv.fs_stat(payload.path) then
    undo = save_after_do(file)
  else
    local deleted = watch_deleted(file, payload.path, payload.base)
    undo = function()
      api.nvim_del_autocmd(deleted)
    end
  end
  local page = tab_page.open(undo)
  tab_page.compare(page, base, file)
  local name = statusline_escape(payload.name)
  tab_page.set_winbars(
    page,
    (" %%#RatBar#%%<%s%%* before the changes"):format(name),
    " %#RatKey#do%* reject  %#RatKey#dp%* accept  %#RatKey#]c%* next  %#RatKey#:q%* close%<"
  )
  map_close(base, page)
  api.nvim_create_autocmd("TextChanged", {
    buffer = base,
    desc = "rat: accept what the user has put into the base",
    callback = function()
      local now = api.nvim_buf_get_changedtick(base)
      if now ~= tick then
        tick = now
        vim.bo[base].modified = false
        local lines = api.nvim_buf_get_lines(base, 0, -1, true)
        rpc.notify("keep_as_base", { path = payload.path, lines = lines })
      end
    end,
  })
  splits.enter(page.right)
  local last = api.nvim_buf_line_count(file)
  api.nvim_win_set_cursor(page.right, { math.max(1, math.min(line, last)), 0 })
  vim.cmd("normal! zvzz")
end

return M
