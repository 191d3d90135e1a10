--- Shows queued prompts, and what goes with the next one, above the text of a prompt, as virtual lines.
local punctuation = require("rat.util.punctuation")
local attachment_list = require("rat.chat.attachment_list")
local buffers = require("rat.chat.buffers")
local chips = require("rat.chat.chips")
local config_keys = require("rat.config.keys")
local icons = require("rat.view.icons")
local text_of = require("rat.util.text")
local window = require("rat.view.window")

local M = {}

--- How many queued prompts are shown. If there are more, a further row says how many.
local QUEUED = 3

---@param chat rat.Chat
---@return string[][][] rows for `virt_lines` of an extmark
local function rows_of(chat)
  local rows, queued = {}, chat.status.queued or {}
  local icon = icons.get("queued") .. " "
  for i = 1, math.min(#queued, #queued == QUEUED + 1 and QUEUED + 1 or QUEUED) do
    rows[i] = { { icon .. text_of.first_line(queued[i]), "RatAttachment" } }
  end
  if #queued > #rows then
    rows[#rows + 1] =
      { { (icon .. punctuation.own("… %d more")):format(#queued - #rows), "RatAttachment" } }
  end
  for i, attachment in ipairs(chat.attachments) do
    local title = text_of.one_line(attachment_list.describe(attachment))
    rows[#rows + 1] = { { "+ " .. title, "RatAttachment" } }
    if i == #chat.attachments then
      local hints = vim.tbl_map(function(key)
        return ("  %s %s"):format(key[1], key[2])
      end, config_keys.current({ { "g+", "open" }, { "g-", "remove" } }))
      table.insert(rows[#rows], { table.concat(hints), "RatHint" })
    end
  end
  for _, chip in ipairs(chat.mentions) do
    local group = chip.found and chip.found.problem and "RatHint" or "RatAttachment"
    rows[#rows + 1] = { { "+ " .. text_of.one_line(chips.describe(chip)), group } }
  end
  return rows
end

---@type table<integer, integer> number of rows shown, by buffer
local shown = {}

--- Updates the rows of a chat.
---@param chat rat.Chat
function M.show(chat)
  local buf = buffers.get(chat, "prompt")
  local rows = rows_of(chat)
  if #rows == 0 and not shown[buf] then
    return
  end
  local namespace = vim.api.nvim_create_namespace("rat_prompt_header")
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  shown[buf] = #rows > 0 and #rows or nil
  if #rows > 0 then
    vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, {
      virt_lines = rows,
      virt_lines_above = true,
      right_gravity = false,
    })
  end
  window.fit(chat)
  M.uncover(chat)
end

--- Scrolls the windows of a prompt up to its virtual lines: Neovim hides those above the first line by default.
---@param chat rat.Chat
function M.uncover(chat)
  local buf = chat.buffers.prompt or -1
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
