--- Handles the waiting permission requests of all chats: finds the one a command means, asks the user, and sends the answer.
local alert = require("rat.chat.alert")
local auto_open = require("rat.ask.auto_open")
local config = require("rat.config")
local current_chat = require("rat.chat.current")
local repeated_keys = require("rat.ask.repeated_keys")
local notify = require("rat.util.notify")
local provider = require("rat.ask.provider")
local question = require("rat.ask.question")
local question_list = require("rat.ask.question_list")
local registry = require("rat.chat.registry")
local request_diff = require("rat.diff.request")
local request_list = require("rat.ask.request_list")
local rpc = require("rat.rpc")
local window = require("rat.view.window")
-- `rat.ask.chooser` is loaded on first use, since a chat often starts without a request.

local M = {}

-- The tables below are keyed by `request_list.key`.

--- Choosers that are open or wait to open, with the revision of the request they show.
---@type table<string, {handle: rat.ChooserHandle, revision: integer}>
local choosers = {}

--- The revisions of the listed requests when their last change was offered to the provider or the user.
---@type table<string, integer>
local seen_revision = {}

--- Requests that the user was asked about.
---@type table<string, true>
local told_user = {}

---@type fun(name: string)[]
local decision_listeners = {}

--- Calls a listener with the key of a request (see `request_list.key`) once the binary no longer lists it.
---@param listener fun(key: string)
function M.on_decided(listener)
  decision_listeners[#decision_listeners + 1] = listener
end

local SHOW_DIFF = "Show the diff"

--- Returns the waiting requests of all chats, the oldest first.
---@return rat.Permission[]
function M.all()
  return vim.tbl_map(function(request)
    return request.permission
  end, request_list.list())
end

--- Finds the request or question that has waited longest: in the chat the user is in, else in the visible one, else in a
--- chat of this folder, else in any chat. Tells the user if nothing waits.
---@param questions fun(chat?: rat.Chat): rat.Question[] those of the binary's own questions that count, too
---@return rat.Request?
---@return rat.Question?
---@return boolean elsewhere whether it was found in none of the first three while several requests wait
local function oldest(questions)
  local function first(chat)
    local request = request_list.list(chat)[1]
    local asked = questions(chat)[1]
    -- The binary numbers requests and questions in one sequence.
    if request and asked and asked.id < request.permission.id then
      return nil, asked
    end
    return request, not request and asked or nil
  end
  ---@type rat.Chat[]
  local near = {}
  near[1] = registry.of(vim.api.nvim_get_current_buf())
  near[#near + 1] = window.visible()
  near = vim.list_extend(
    near,
    vim.tbl_filter(function(chat)
      return chat.cwd == vim.fn.getcwd()
    end, registry.list())
  )
  for _, chat in ipairs(near) do
    local request, asked = first(chat)
    if request or asked then
      return request, asked, false
    end
  end
  local request, asked = first(nil)
  if not (request or asked) then
    notify.info(
      question_list.count() > 0 and "A question is waiting: :RatPermission shows it"
        or "No permission request is waiting"
    )
  end
  return request, asked, #request_list.list() + #questions() > 1
end

--- Records that the user presses a key that answers.
function M.press()
  local newest = 0
  for _, request in ipairs(request_list.list()) do
    newest = math.max(newest, request.permission.id)
  end
  for _, asked in ipairs(question_list.list()) do
    newest = math.max(newest, asked.id)
  end
  repeated_keys.press(newest)
end

--- Returns whether the key just pressed can be meant for a request. Tells the user if not.
---@param request rat.Request
---@return boolean
function M.is_meant(request)
  return repeated_keys.is_meant(request.permission.id)
end

--- Answers a request with one of its options.
---@param request rat.Request
---@param option string id of the option
---@param automatic? boolean whether the user's provider answers
function M.choose(request, option, automatic)
  if not automatic then
    M.press()
  end
  request_list.set_answered(request)
  rpc.notify("permission", {
    chat = request.chat.id,
    id = request.permission.id,
    revision = request.permission.revision,
    option = option,
    automatic = automatic,
  })
end

--- Returns the keys of the request's card for the chooser, which may cover the card.
---@param request rat.Request
---@return table<string, fun()>
local function card_keys(request)
  local keys = {
    ga = function()
      M.decide(request, true)
    end,
    gr = function()
      M.decide(request, false)
    end,
    gA = function()
      require("rat.ask.rule").suggest(request)
    end,
  }
  for number = 1, math.min(#request.permission.options, 9) do
    keys["g" .. number] = function()
      M.choose_number(request.chat, request.permission.id, number)
    end
  end
  if request.permission.diffs > 0 then
    keys.gd = function()
      request_diff.open(request.chat, request.permission.id)
    end
  end
  return keys
end

--- Lets no other request of a chat that waits already open its chooser by itself: the user has just closed one, and is about
--- to type something else.
---@param chat rat.Chat
local function put_off(chat)
  for _, request in ipairs(request_list.list(chat)) do
    M.close(request_list.key(request))
  end
end

---@param request rat.Request
---@return any[] items
---@return rat.SelectOptions
---@return rat.OnChoice
local function chooser_for(request)
  local permission = request.permission
  ---@type (rat.msg.PermissionOption|{name: string})[]
  local items = vim.list_slice(permission.options)
  if permission.diffs > 0 then
    items[#items + 1] = { name = SHOW_DIFF }
  end
  local opts = {
    prompt = ("%s: %s"):format(request.chat.title, permission.asks),
    careful = true,
    insert_closes = true,
    keys = card_keys(request),
    label = function(index)
      return index > #permission.options and "[gd] " or ("[g%d] "):format(index)
    end,
    format_item = function(item)
      return item.name
    end,
  }
  return items,
    opts,
    function(item)
      choosers[request_list.key(request)] = nil
      if item and item.id then
        M.choose(request, item.id)
      elseif item then
        request_diff.open(request.chat, permission.id)
      else
        put_off(request.chat)
      end
    end
end

---@param request rat.Request
---@param by_itself boolean whether the user has not just asked for it
---@param typed? integer the first digit of an option, which is selected
local function show(request, by_itself, typed)
  local name, revision = request_list.key(request), request.permission.revision
  M.close(name)
  local items, opts, on_choice = chooser_for(request)
  opts.typed = typed
  local function opened(handle)
    choosers[name] = { handle = handle, revision = revision }
  end
  if by_itself then
    opened(require("rat.ask.chooser").when_idle(items, opts, on_choice, function()
      return auto_open.may_open(request.chat)
    end))
  else
    opts.opened = opened
    require("rat.ask.chooser").open(items, opts, on_choice)
  end
end

--- Opens the chooser for a request. Without arguments, for the request or question that has waited longest.
---@param chat? rat.Chat
---@param id? integer number of the request
function M.open(chat, id)
  local request, asked = id and request_list.get(chat --[[@as rat.Chat]], id) or nil, nil
  if not id then
    request, asked = oldest(question_list.list)
  end
  if asked then
    question.open(asked)
  elseif request and #request.permission.options == 0 then
    notify.info("This request has no options. :RatDeny turns it down.")
  elseif request then
    show(request, false)
  end
end

---@param request rat.Request
local function open_by_itself(request)
  local options = config.get()
  alert.asked(request.chat, request.permission.title)
  if options.diff == "tab" and request.permission.diffs > 0 then
    return request_diff.offer(request.chat, request.permission.id)
  elseif options.permission.open ~= "never" and #request.permission.options > 0 then
    show(request, true)
  end
end

--- Asks the user's provider about a request, and the user if there is none or it wants that.
---@param request rat.Request
local function offer(request)
  local name, permission = request_list.key(request), request.permission
  local function ask_user()
    if not told_user[name] then
      told_user[name] = true
      open_by_itself(request)
    elseif choosers[name] and choosers[name].revision ~= permission.revision then
      -- The request has changed while its chooser was open.
      show(request, true)
    end
  end
  seen_revision[name] = permission.revision
  if permission.for_user then
    return ask_user()
  end
  local is_asked = provider.ask(request.chat, permission, {
    is_waiting = function()
      local now = request_list.get(request.chat, permission.id)
      return now ~= nil and now.permission.revision == permission.revision
    end,
    choose = function(option)
      M.choose(request, option, true)
    end,
    reject = function(reason)
      M.decide(request, false, reason, true)
    end,
    ask_user = ask_user,
  })
  if not is_asked then
    ask_user()
  end
end

--- Closes the chooser of a request.
---@param name string see `request_list.key`
function M.close(name)
  if choosers[name] then
    choosers[name].handle.close()
    choosers[name] = nil
  end
end

--- Follows a change of a chat's status: offers new requests to the user and cleans up after those that are gone.
function M.update()
  local present, gone = request_list.update()
  for _, request in ipairs(present) do
    if seen_revision[request_list.key(request)] ~= request.permission.revision then
      offer(request)
    end
  end
  for _, name in ipairs(gone) do
    seen_revision[name], told_user[name] = nil, nil
    M.close(name)
    request_diff.forget(name)
    for _, listener in ipairs(decision_listeners) do
      listener(name)
    end
  end
end

---@param request rat.Request
---@param kind string
---@return boolean
local function offers(request, kind)
  return vim.iter(request.permission.options):any(function(option)
    return option.kind == kind
  end)
end

--- Allows or rejects a request once. If it offers only lasting answers of that kind, its chooser opens instead.
---@param request rat.Request
---@param allow boolean
---@param reason? string sent to the agent with a rejection
---@param automatic? boolean whether the user's provider answers
---@return boolean decided if false, the user was told why
function M.decide(request, allow, reason, automatic)
  if not automatic then
    M.press()
  end
  local once, always = "reject_once", "reject_always"
  if allow then
    once, always = "allow_once", "allow_always"
  end
  if not offers(request, once) then
    if offers(request, always) then
      notify.warn("This request offers only lasting answers. Choose one.")
      show(request, false)
      return false
    elseif allow then
      notify.warn("This request has no option to allow it. See :RatPermission.")
      return false
    end
  end
  request_list.set_answered(request)
  rpc.notify("permission", {
    chat = request.chat.id,
    id = request.permission.id,
    revision = request.permission.revision,
    allow = allow,
    reason = reason,
    automatic = automatic,
  })
  return true
end

--- Allows or rejects the oldest request once, or the oldest write that waits for the user. If it is not clear that the user
--- means that one, it is shown instead.
---@param allow boolean
---@param reason? string sent to the agent with a rejection
function M.answer(allow, reason)
  local request, asked, elsewhere = oldest(question_list.writes)
  local chat = request and request.chat or asked and registry.get(asked.chat)
  M.press()
  if not chat then
    return
  end
  local is_visible = window.visible() == chat or asked ~= nil and asked.decide ~= nil
  local why ---@type string?
  if elsewhere then
    why = "Several requests are waiting in other chats. This is the oldest."
  elseif not is_visible and chat ~= current_chat.get() then
    -- The user works with another chat and has not seen this request.
    why = ("%s is waiting. This is its request."):format(registry.label(chat))
  end
  if why then
    notify.info(why)
    if asked then
      return question.open(asked)
    end
    return show(request --[[@as rat.Request]], false)
  end
  local id = asked and asked.id or request.permission.id
  if not repeated_keys.is_meant(id) then
    return
  elseif asked then
    question.decide(asked, allow, reason)
  elseif
    not M.decide(request --[[@as rat.Request]], allow, reason)
  then
    return
  end
  if not is_visible then
    local word = asked and (allow and "Written" or "Rejected")
      or (allow and "Allowed once" or "Rejected")
    local title = asked and asked.title or request.permission.title
    notify.info(("%s: %s (%s)"):format(word, title, registry.label(chat)))
  end
end

--- Answers the oldest write of a chat that waits for the user.
---@param chat rat.Chat
---@param allow boolean
---@return boolean answered
function M.answer_write(chat, allow)
  M.press()
  local asked = #request_list.list(chat) == 0 and question_list.writes(chat)[1] or nil
  if asked and repeated_keys.is_meant(asked.id) then
    question.decide(asked, allow)
  end
  return asked ~= nil
end

--- Answers a request with the option of the given number, or opens the chooser where that may be only its first digit.
---@param chat rat.Chat
---@param id integer the request
---@param number integer
---@return boolean answered
function M.choose_number(chat, id, number)
  local request = request_list.get(chat, id)
  local option = request and request.permission.options[number]
  if not (request and option) then
    return false
  elseif M.is_first_digit(request, number) then
    show(request, false, number)
  else
    M.choose(request, option.id)
  end
  return true
end

--- Whether another digit may follow: of twelve options, `1` may be the beginning of `12`.
---@param request rat.Request
---@param digit integer
---@return boolean
function M.is_first_digit(request, digit)
  return digit * 10 <= #request.permission.options
end

return M
