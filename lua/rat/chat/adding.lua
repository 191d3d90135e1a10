--- Attaches what the user points at to the next prompt, and leaves them where they are.
local attachment = require("rat.context.attachment")
local attachment_list = require("rat.chat.attachment_list")
local explorer = require("rat.context.explorer")
local notify = require("rat.util.notify")
local places = require("rat.context.places")
local region = require("rat.context.region")
local resolve = require("rat.context.resolve")
local window = require("rat.view.window")

local M = {}

--- Attaches something to the next prompt. The user is told unless they see it there.
---@param attachments rat.Attachment[]
function M.attach(attachments)
  local chat
  for _, one in ipairs(attachments) do
    chat = attachment_list.add(one)
  end
  if #attachments > 0 and (not chat or window.visible() ~= chat) then
    local what = #attachments == 1 and attachment_list.title(attachments[1])
      or ("%d attachments"):format(#attachments)
    notify.info(("Attached %s to the next prompt"):format(what))
  end
end

--- Attaches context to the next prompt. The user is told in one line what cannot be attached.
---@param items rat.Context[]
function M.items(items)
  resolve.items(items, nil, function(attachments, problems)
    if #problems > 0 then
      local more = #problems > 1 and (" (and %d more)"):format(#problems - 1) or ""
      notify.error(problems[1] .. more)
    end
    M.attach(attachments)
  end)
end

--- Returns what a buffer that lists files or places stands for.
---@param first integer line
---@param last integer inclusive
---@return rat.Context[]? # nil if the current buffer lists none
local function listed(first, last)
  if vim.bo.buftype == "quickfix" then
    return places.of_quickfix(vim.api.nvim_get_current_win(), first, last)
  end
  return explorer.paths(first, last)
end

--- Attaches the range, a file, or the current buffer. In a window that lists files or places, a line stands for what it
--- lists.
---@param args vim.api.keyset.create_user_command.command_args
function M.command(args)
  local path, has_range = args.args, args.range > 0
  if path ~= "" and has_range then
    return notify.error(":RatAdd takes a range or a file, not both")
  elseif path ~= "" then
    return M.items({ path })
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = has_range and args.line1 or line, has_range and args.line2 or line
  local items = listed(first, last)
  local name = vim.api.nvim_buf_get_name(0)
  if items and #items == 0 then
    notify.warn("Nothing in these lines can be attached")
  elseif items then
    M.items(items)
  elseif has_range then
    M.attach({ attachment.lines(vim.api.nvim_get_current_buf(), first, last) })
  elseif name:match("^rat://") then
    notify.warn("This buffer belongs to a chat. Run :RatAdd in another buffer, or give it a file.")
  elseif attachment.media(name) then
    M.items({ name })
  else
    M.attach({ attachment.buffer(vim.api.nvim_get_current_buf()) })
  end
end

--- The 'operatorfunc' of <Plug>(rat-add-operator).
---@param kind "char"|"line"|"block"
function M.operatorfunc(kind)
  notify.guard("<Plug>(rat-add-operator)", function()
    M.attach({ region.operand(kind) })
  end)()
end

--- Attaches the image in the clipboard.
function M.image()
  require("rat.context.clipboard").image(function(path, problem)
    if path then
      M.items({ path })
    else
      notify.warn(problem --[[@as string]])
    end
  end)
end

return M
