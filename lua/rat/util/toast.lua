--- Shows a message too long for the command line without stopping at the hit-enter prompt. Takes no focus and no key.
local wrap = require("rat.text").wrap

local M = {}

--- How long it stays where nothing is typed, in milliseconds.
local STAY_MS = 15000

---@type table<integer, string> highlight by level
local groups = {
  [vim.log.levels.INFO] = "Normal",
  [vim.log.levels.WARN] = "WarningMsg",
  [vim.log.levels.ERROR] = "ErrorMsg",
}

---@type integer?
local window

--- Keeps the text for |:messages|, a line at a time: several at once would stop at the prompt.
---@param lines string[]
---@param group string
local function remember(lines, group)
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

--- Closes with the user's next step, or by itself.
local function close_later()
  local group = vim.api.nvim_create_augroup("rat_toast", {})
  local timer = assert(vim.uv.new_timer())
  local function finish()
    pcall(vim.api.nvim_del_augroup_by_id, group)
    if not timer:is_closing() then
      timer:close()
      close()
    end
  end
  timer:start(STAY_MS, 0, vim.schedule_wrap(finish))
  vim.api.nvim_create_autocmd({ "CursorMoved", "InsertEnter", "CmdlineEnter", "TabLeave" }, {
    group = group,
    callback = vim.schedule_wrap(finish),
  })
end

--- Shows a message in the lower right corner.
---@param text string
---@param level integer of |vim.log.levels|
function M.show(text, level)
  local group = groups[level] or "Normal"
  local lines = wrap(text, math.max(20, math.min(76, vim.o.columns - 6)))
  remember(wrap(text, math.max(20, vim.v.echospace)), group)
  close()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  require("rat.scratch").fill(buf, lines)
  local width = 1
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  window = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    anchor = "SE",
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = vim.o.columns,
    width = math.min(width, vim.o.columns - 2),
    height = math.min(#lines, math.max(1, vim.o.lines - 6)),
    style = "minimal",
    border = "rounded",
    focusable = false,
    noautocmd = true,
    zindex = 70,
  })
  require("rat.dress").set(window, { winhighlight = "Normal:" .. group, wrap = true })
  close_later()
end

return M
