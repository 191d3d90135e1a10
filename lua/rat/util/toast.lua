--- Shows a message that is too long for the command line in a floating window, which avoids the hit-enter prompt. The
--- window takes no focus and no key.
local punctuation = require("rat.util.punctuation")
local wrap = require("rat.util.text").wrap

local M = {}

--- How long the window stays if the user does nothing, in milliseconds.
local SHOWN_MS = 15000

---@type table<integer, string> highlight group by log level
local groups = {
  [vim.log.levels.INFO] = "Normal",
  [vim.log.levels.WARN] = "WarningMsg",
  [vim.log.levels.ERROR] = "ErrorMsg",
}

---@type integer?
local window
---@type fun()? closes the message that is shown
local finish_shown

--- Adds the text to |:messages|, one line at a time: several at once would cause the hit-enter prompt.
---@param lines string[]
---@param group string
local function add_to_messages(lines, group)
  if vim.v.echospace < 20 then
    return
  end
  for _, line in ipairs(lines) do
    vim.api.nvim_echo({ { line, group } }, true, {})
    vim.cmd.redraw()
  end
  vim.api.nvim_echo({}, false, {})
end

local function close()
  if window and vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_win_close(window, true)
  end
  window = nil
end

--- Closes the window when the user next types and moves, or after SHOWN_MS. A cursor that moves without a key does not
--- count: a window the message is about may just have closed.
local function close_later()
  local group = vim.api.nvim_create_augroup("rat_toast", {})
  local timer = assert(vim.uv.new_timer())
  local typed = false
  local keys = vim.on_key(function()
    typed = true
  end)
  local function finish()
    pcall(vim.api.nvim_del_augroup_by_id, group)
    vim.on_key(nil, keys)
    if not timer:is_closing() then
      timer:close()
      close()
    end
    finish_shown = nil
  end
  finish_shown = finish
  timer:start(SHOWN_MS, 0, vim.schedule_wrap(finish))
  vim.api.nvim_create_autocmd({ "CursorMoved", "InsertEnter", "CmdlineEnter", "TabLeave" }, {
    group = group,
    callback = function()
      if typed then
        vim.schedule(finish)
      end
    end,
  })
end

--- Shows a message in the upper right corner of the screen, away from the prompt in the lower one.
---@param text string
---@param level integer of |vim.log.levels|
function M.show(text, level)
  local group = groups[level] or "Normal"
  local lines = wrap(text, math.max(20, math.min(76, vim.o.columns - 6)))
  add_to_messages(wrap(text, math.max(20, vim.v.echospace)), group)
  if finish_shown then
    finish_shown()
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  local width = 1
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  window = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    anchor = "NE",
    row = 1,
    col = vim.o.columns,
    width = math.min(width, vim.o.columns - 2),
    height = math.min(#lines, math.max(1, vim.o.lines - 6)),
    style = "minimal",
    border = punctuation.border(),
    focusable = false,
    noautocmd = true,
    zindex = 70,
  })
  for name, value in pairs({ winhighlight = "Normal:" .. group, wrap = true }) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
  close_later()
end

return M
