--- Compares a file with its base, the text without what is pending, in native diff mode: |do| rejects a hunk, |dp| accepts
--- one.
local groups = require("rat.view.groups")
local location = require("rat.view.location")
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
  local buf = location.loaded_buffer(path) or vim.fn.bufadd(path)
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

--- Shows a file beside its base.
---@param payload rat.msg.Compare
function M.arrived(payload)
  groups.define()
  local line = wanted_line[payload.path] or 1
  wanted_line[payload.path] = nil
  local file = file_buffer(payload.path)
  local base = scratch.side(payload.path, "base", payload.base, true)
  local tick = api.nvim_buf_get_changedtick(base)
  local page = tab_page.open()
  tab_page.compare(page, base, file)
  local name = statusline_escape(vim.fn.fnamemodify((payload.path:gsub("%c", " ")), ":."))
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
