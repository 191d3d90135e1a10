--- The rows above what the user types: prompts that wait for the end of the turn, and what goes with the next one.
--- Virtual lines only; it keeps neither.
local M = {}

--- Queued prompts shown; of more, how many.
local QUEUED = 3

---@param of rat.Chat
---@return string[][][] rows as 'virt_lines' has them
local function rows_of(of)
  local rows, queued = {}, of.status.queued or {}
  for i = 1, math.min(#queued, #queued == QUEUED + 1 and QUEUED + 1 or QUEUED) do
    rows[i] = { { "» " .. require("rat.prompt").first_line(queued[i]), "RatAttachment" } }
  end
  if #queued > #rows then
    rows[#rows + 1] = { { ("» … %d more"):format(#queued - #rows), "RatAttachment" } }
  end
  for i, attachment in ipairs(of.attachments) do
    local title = require("rat.text").one_line(require("rat.attached").title(attachment))
    rows[#rows + 1] = { { "+ " .. title, "RatAttachment" } }
    if i == #of.attachments then
      table.insert(rows[#rows], { "  g- removes", "RatHint" })
    end
  end
  return rows
end

---@type table<integer, integer> rows shown, by buffer
local shown = {}

--- Shows the rows of a chat as they are now.
---@param of rat.Chat
function M.show(of)
  local buf = require("rat.chat").buffer(of, "prompt")
  local rows = rows_of(of)
  if #rows == 0 and not shown[buf] then
    return
  end
  local namespace = vim.api.nvim_create_namespace("rat_above")
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  shown[buf] = #rows > 0 and #rows or nil
  if #rows > 0 then
    vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, {
      virt_lines = rows,
      virt_lines_above = true,
      right_gravity = false,
    })
  end
  require("rat.window").fit(of)
  M.uncover(of)
end

--- Lines above the first line are hidden unless the window is scrolled up to them.
---@param of rat.Chat
function M.uncover(of)
  local buf = of.buffers.prompt or -1
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      local fill = shown[buf] or 0
      if view.topline == 1 and view.topfill ~= fill then
        vim.fn.winrestview({ topline = 1, topfill = fill })
      end
    end)
  end
end

return M
