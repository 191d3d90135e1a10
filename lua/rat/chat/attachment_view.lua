--- Shows what goes with the next prompt: files where they are, other texts on a page.
local attachment_list = require("rat.chat.attachment_list")
local location = require("rat.view.location")
local names = require("rat.chat.names")
local notify = require("rat.util.notify")
local page = require("rat.view.page")
local picture = require("rat.view.picture")
local scratch = require("rat.view.scratch")
-- `rat.ask.chooser` is loaded on first use.

local M = {}

---@param chat rat.Chat
---@param attachment rat.Attachment
local function open_page(chat, attachment)
  local lines = vim.split(attachment.text or "", "\n", { plain = true })
  if lines[#lines] == "" then
    table.remove(lines)
  end
  local buf = scratch.make(names.page(chat, "attachment"), "")
  vim.bo[buf].bufhidden = "wipe"
  -- Not 'filetype', so that no filetype plugin runs on it.
  vim.bo[buf].syntax = (attachment.mime or ""):match("^text/x%-(%w+)$") or ""
  scratch.fill(buf, lines)
  page.open(buf, attachment_list.title(attachment), { focus = true, wrap = false })
end

---@param chat rat.Chat
---@param attachment rat.Attachment
local function open(chat, attachment)
  local is_file = vim.startswith(attachment.uri, "file://")
  local path = attachment.path or is_file and vim.uri_to_fname(attachment.uri) or nil
  if not path or not vim.uv.fs_stat(path) then
    return open_page(chat, attachment)
  elseif (attachment.mime or ""):match("^image/") and picture.is_available() then
    return picture.show(path)
  end
  location.open({ path = path, line = attachment.first })
end

--- Opens what goes with the next prompt: what is attached, and what providers that it mentions would attach. If there are
--- several, the user chooses one.
---@param chat rat.Chat
function M.pick(chat)
  local items = vim.list_slice(chat.attachments)
  for _, chip in ipairs(chat.mentions) do
    vim.list_extend(items, chip.found and chip.found.attachments or {})
  end
  if #items == 0 then
    return notify.info("Nothing is attached")
  elseif #items == 1 then
    return open(chat, items[1])
  end
  local opts = { prompt = "Open which?", format_item = attachment_list.describe }
  require("rat.ask.chooser").open(items, opts, function(item)
    if item then
      open(chat, item)
    end
  end)
end

return M
