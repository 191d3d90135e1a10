--- What goes with the next prompt: keeps it, shows it above the prompt, lets it be removed. Makes no attachments.
local chat = require("rat.chat")

local M = {}

--- Attached before there was a chat.
---@type rat.Attachment[]
local early = {}

---@param attachment rat.Attachment
---@return string
function M.title(attachment)
  local first, last = attachment.first, attachment.last
  if not first then
    return attachment.label
  end
  return first == last and ("%s:%d"):format(attachment.label, first)
    or ("%s:%d-%d"):format(attachment.label, first, last)
end

---@param of rat.Chat
local function show(of)
  local namespace = vim.api.nvim_create_namespace("rat_attached")
  local buf = chat.buffer(of, "prompt")
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local rows = {}
  for _, attachment in ipairs(of.attachments) do
    rows[#rows + 1] = { { "+ " .. M.title(attachment), "RatAttachment" } }
  end
  if #rows > 0 then
    rows[#rows][2] = { "  g- removes", "RatHint" }
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
  for _, win in ipairs(vim.fn.win_findbuf(of.buffers.prompt or -1)) do
    vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      if view.topline == 1 and view.topfill ~= #of.attachments then
        vim.fn.winrestview({ topline = 1, topfill = #of.attachments })
      end
    end)
  end
end

--- Attaches something to the next prompt; the same lines of the same file replace what was there.
---@param attachment rat.Attachment
---@return rat.Chat? of the chat it goes to, if there is one
function M.add(attachment)
  local of = chat.current()
  local list = of and of.attachments or early
  for i, other in ipairs(list) do
    if
      other.uri == attachment.uri
      and other.first == attachment.first
      and other.last == attachment.last
    then
      table.remove(list, i)
      break
    end
  end
  list[#list + 1] = attachment
  if of then
    show(of)
  end
  return of
end

--- Takes what is attached: it goes with one prompt and then is gone.
---@param of? rat.Chat
---@return rat.Attachment[]
function M.take(of)
  local taken = of and of.attachments or early
  if of then
    of.attachments = {}
    show(of)
  else
    early = {}
  end
  return taken
end

--- Gives what was attached before there was a chat to a new one.
---@param of rat.Chat
function M.settle(of)
  vim.list_extend(of.attachments, early)
  early = {}
  show(of)
end

--- Removes an attachment; of several the user chooses which.
---@param of rat.Chat
function M.remove(of)
  if #of.attachments <= 1 then
    M.take(of)
    return
  end
  local opts = { prompt = "Remove which attachment?", format_item = M.title }
  require("rat.select").open(of.attachments, opts, function(_, index)
    if index then
      table.remove(of.attachments, index)
      show(of)
    end
  end)
end

return M
