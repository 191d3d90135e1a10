--- Decides conflicts in native diff mode, on a tab page of its own: the agent's lines on the left, the file's buffer on
--- the right. `do` takes the agent's, `dp` keeps the user's; either is undone with `u` where it was made.

local conflict = require("rat.conflict")
local say = require("rat.say")
local scratch = require("rat.scratch")

local api = vim.api
local M = {}

---The text of a buffer with the agent's lines wherever that is not decided.
---@param buf integer
---@param conflicts rat.Conflict[] in order
---@return string[] lines
---@return integer[][] places of the agent's lines in them, from 0, end exclusive
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

---Has the conflicts follow what the user makes of the agent's side.
---@param side integer buffer
---@param conflicts rat.Conflict[]
---@param places integer[][]
local function follow(side, conflicts, places)
  local regions = {}
  for i, place in ipairs(places) do
    regions[i] = conflict.region(side, place[1], place[2])
  end
  api.nvim_buf_attach(side, false, {
    on_lines = vim.schedule_wrap(function()
      if not api.nvim_buf_is_valid(side) then
        return
      end
      for i, one in ipairs(conflicts) do
        one.other = conflict.lines(side, regions[i])
      end
      conflict.refresh(conflicts[1].buf)
    end),
  })
end

---Closes the tab page once one of its windows is closed, and goes back to where the user came from.
---@param windows integer[]
---@param back integer
local function close_together(windows, back)
  api.nvim_create_autocmd("WinClosed", {
    pattern = { tostring(windows[1]), tostring(windows[2]) },
    once = true,
    desc = "rat: both sides of a decision close together",
    -- Windows cannot be closed while one is being closed.
    callback = vim.schedule_wrap(function()
      for _, win in ipairs(windows) do
        if api.nvim_win_is_valid(win) then
          api.nvim_win_close(win, true)
        end
      end
      if api.nvim_win_is_valid(back) then
        api.nvim_set_current_win(back)
      end
    end),
  })
end

---@param buf integer
local function show(buf)
  local conflicts = conflict.list(buf)
  if #conflicts == 0 then
    return say.info("this conflict is decided")
  end
  local back = api.nvim_get_current_win()
  local lines, places = other_side(buf, conflicts)
  local path = api.nvim_buf_get_name(buf)
  local side = scratch.side(path, "agent", lines, true)
  vim.cmd.tabnew()
  vim.bo.bufhidden = "wipe"
  local right = api.nvim_get_current_win()
  api.nvim_win_set_buf(right, buf)
  local left = api.nvim_open_win(side, false, { split = "left", win = right })
  follow(side, conflicts, places)
  local _, first = conflict.lines(buf, conflicts[1].region)
  api.nvim_win_set_cursor(right, { math.min(first + 1, api.nvim_buf_line_count(buf)), 0 })
  for _, win in ipairs({ left, right }) do
    api.nvim_win_call(win, vim.cmd.diffthis)
  end
  local set = require("rat.dress").set
  set(left, { winbar = " %#RatBar#the agent's%*" })
  set(right, {
    winbar = " %#RatKey#do%* agent's  %#RatKey#dp%* yours  %#RatKey#]c%* next"
      .. "  %#RatKey#:q%* end%<",
  })
  close_together({ left, right }, back)
end

---Opens the conflicts of the current buffer, else of a file the user chooses.
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
  if #buffers <= 1 then
    return buffers[1] and show(buffers[1]) or say.info("no conflicts: nothing is to be decided")
  end
  require("rat.select").open(buffers, {
    prompt = "Conflicts of which file?",
    format_item = function(buf)
      return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":.")
    end,
  }, function(buf)
    return buf and show(buf)
  end)
end

---Lists all conflicts in the quickfix window.
function M.list()
  vim.fn.setqflist({}, " ", { title = "Conflicts with agents", items = conflict.entries() })
  vim.cmd("botright copen")
end

return M
