--- Defines the keys that answer permission requests from the buffers of a chat, and what is under the cursor there.
local line_format = require("rat.view.line_format")
local notify = require("rat.util.notify")
local permission = require("rat.ask.permission")
local question_list = require("rat.ask.question_list")
local registry = require("rat.chat.registry")
local request_list = require("rat.ask.request_list")
local ui = require("rat.view.ui")

local M = {}

--- Returns what <CR> does in the current line.
---@return table?
function M.current_action()
  if vim.fn.foldclosed(".") ~= -1 then
    return { kind = "fold" }
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  return ui.action(vim.api.nvim_get_current_buf(), row)
end

--- Returns the permission request of the card under the cursor.
---@return integer? id
function M.under_cursor()
  local action = M.current_action()
  if action and action.kind == "permission" then
    return action.id
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  return line_format.request(vim.api.nvim_get_current_buf(), row)
end

--- Returns the request that a key means: that of the card under the cursor, else the only one that waits. Tells the user if
--- there is none.
---@param chat rat.Chat
---@return rat.Request?
function M.meant(chat)
  local in_prompt = select(2, registry.of(vim.api.nvim_get_current_buf())) == "prompt"
  local id = not in_prompt and M.under_cursor() or request_list.single(chat)
  local request = id and request_list.get(chat, id)
  if not request then
    local several = #chat.status.permissions > 1
    notify.info(
      several and "Several requests are waiting. Put the cursor on one, or use :RatPermission."
        or question_list.count(chat) > 0 and "A question is waiting: :RatPermission shows it"
        or "No permission request is waiting"
    )
  end
  return request
end

---@param allow boolean
---@return fun(chat: rat.Chat)
local function decide_request(allow)
  return function(chat)
    if permission.answer_write(chat, allow) then
      return
    end
    local request = M.meant(chat)
    if request and permission.is_meant(request) then
      permission.decide(request, allow)
    end
  end
end

---@param chat rat.Chat
---@param lhs string
local function answer_request(chat, lhs)
  permission.press()
  local request, number = M.meant(chat), tonumber(lhs:sub(-1)) --[[@as integer]]
  if not request or not permission.is_meant(request) then
    return
  elseif not permission.choose_number(chat, request.permission.id, number) then
    notify.info(("The request has no option %d"):format(number))
  end
end

---@param chat rat.Chat
local function make_rule(chat)
  local request = M.meant(chat)
  if request then
    require("rat.ask.rule").suggest(request)
  end
end

---@type rat.Key[]
M.keys = {
  { modes = { "n" }, lhs = "ga", doc = "allow the request once", run = decide_request(true) },
  { modes = { "n" }, lhs = "gr", doc = "reject the request", run = decide_request(false) },
  { modes = { "n" }, lhs = "gA", doc = "make a rule of the request", run = make_rule },
}
for digit = 1, 9 do
  M.keys[digit + 3] = {
    modes = { "n" },
    lhs = "g" .. digit,
    doc = "answer the request with that option",
    run = answer_request,
  }
end

return M
