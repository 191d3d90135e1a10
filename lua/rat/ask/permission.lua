--- The permission requests that wait, over all chats: finds the one meant, asks the user, sends the answer.
local chat = require("rat.chat")
local config = require("rat.config")
local rpc = require("rat.rpc")
local say = require("rat.say")

local M = {}

---@class rat.Request
---@field chat rat.Chat
---@field permission rat.Permission

--- Order of arrival by chat and id; a request that is gone is forgotten.
---@type table<string, integer>
local arrival = {}
local arrived = 0

--- Requests that were answered and that the binary still lists, with their revision then: a second key is not meant for
--- them, unless they ask for something else now.
---@type table<string, integer>
local answered = {}

--- Choosers that are open or wait to open, with the revision of the request they show.
---@type table<string, {choice: rat.Choice, revision: integer, by_itself: boolean}>
local choosers = {}

local SHOW_DIFF = "Show the diff"

---@param request rat.Request
---@return string
local function key(request)
  return ("%d:%d"):format(request.chat.id, request.permission.id)
end

---@param of? rat.Chat only of this chat
---@return rat.Request[] as the binary has them, the oldest first
local function listed(of)
  local list = {}
  for _, one in ipairs(chat.list()) do
    local meant = one.id and (not of or of == one)
    for _, permission in ipairs(meant and one.status.permissions or {}) do
      list[#list + 1] = { chat = one, permission = permission }
    end
  end
  table.sort(list, function(a, b)
    local first, second = arrival[key(a)] or math.huge, arrival[key(b)] or math.huge
    return first < second or first == second and a.permission.id < b.permission.id
  end)
  return list
end

---@param of? rat.Chat only of this chat
---@return rat.Request[] those the user has not answered, the oldest first
local function waiting(of)
  return vim.tbl_filter(function(request)
    return answered[key(request)] ~= request.permission.revision
  end, listed(of))
end

--- The requests that wait in all chats, the oldest first.
---@return rat.Permission[]
function M.all()
  return vim.tbl_map(function(request)
    return request.permission
  end, waiting())
end

--- What has waited longest where the user is: in this chat, in the one on the screen, in this folder; else of all.
---@param questions? boolean a question of our own counts, too
---@return rat.Request?
---@return rat.Question?
---@return boolean elsewhere it is of none of these, and not the only one
local function oldest(questions)
  local function first(of)
    local request = waiting(of)[1]
    local question = questions and require("rat.question").oldest(of) or nil
    -- Both are numbered by the binary as they come.
    if request and question and question.id < request.permission.id then
      return nil, question
    end
    return request, not request and question or nil
  end
  local near = { chat.of(vim.api.nvim_get_current_buf()), require("rat.window").visible() }
  near = vim.list_extend(
    vim.tbl_values(near),
    vim.tbl_filter(function(one)
      return one.cwd == vim.fn.getcwd()
    end, chat.list())
  )
  for _, of in ipairs(near) do
    local request, question = first(of)
    if request or question then
      return request, question, false
    end
  end
  local request, question = first(nil)
  if not (request or question) then
    say.info("no permission request is waiting")
  end
  return request, question, #waiting() > 1
end

--- Answers a request with one of its options.
---@param request rat.Request
---@param option string its id
function M.choose(request, option)
  answered[key(request)] = request.permission.revision
  rpc.notify("permission", {
    chat = request.chat.id,
    id = request.permission.id,
    revision = request.permission.revision,
    option = option,
  })
end

--- The keys of the request's card, which the chooser covers.
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
  }
  for number = 1, math.min(#request.permission.options, 9) do
    keys["g" .. number] = function()
      M.pick(request.chat, request.permission.id, number)
    end
  end
  if request.permission.diffs > 0 then
    keys.gd = function()
      require("rat.diff").request(request.chat, request.permission.id)
    end
  end
  return keys
end

---@param request rat.Request
---@return any[] items
---@return rat.SelectOptions
---@return rat.OnChoice
local function question(request)
  local permission = request.permission
  local items = vim.list_slice(permission.options)
  if permission.diffs > 0 then
    items[#items + 1] = { name = SHOW_DIFF }
  end
  local opts = {
    prompt = ("%s: %s"):format(request.chat.title, permission.asks),
    careful = true,
    leaves = true,
    keys = card_keys(request),
    label = function(index)
      return index > #permission.options and "[gd] "
        or index <= 9 and ("[g%d] "):format(index)
        or ""
    end,
    format_item = function(item)
      return item.name
    end,
  }
  return items,
    opts,
    function(item)
      choosers[key(request)] = nil
      if item and item.id then
        M.choose(request, item.id)
      elseif item then
        require("rat.diff").request(request.chat, permission.id)
      end
    end
end

---@param request rat.Request
---@param by_itself boolean the user has not just asked for it
local function show(request, by_itself)
  local name, revision = key(request), request.permission.revision
  M.close(name)
  local items, opts, on_choice = question(request)
  local function opened(choice)
    choosers[name] = { choice = choice, revision = revision, by_itself = by_itself }
  end
  if by_itself then
    opened(require("rat.select").when_idle(items, opts, on_choice, function()
      return require("rat.attention").is_free(request.chat)
    end))
  else
    opts.opened = opened
    require("rat.select").open(items, opts, on_choice)
  end
end

--- Opens the chooser for a request, without one for what has waited longest: a request, or a question of our own.
---@param of? rat.Chat
---@param id? integer
function M.open(of, id)
  local request, asked = id and M.request(of, id) or nil, nil
  if not id then
    request, asked = oldest(true)
  end
  if asked then
    require("rat.question").open(asked)
  elseif request and #request.permission.options == 0 then
    say.info("the agent offers no answer to choose: :RatDeny turns it down")
  elseif request then
    show(request, false)
  end
end

--- A request that waits.
---@param of rat.Chat
---@param id integer
---@return rat.Request?
function M.request(of, id)
  return vim.iter(waiting(of)):find(function(request)
    return request.permission.id == id
  end)
end

---@param request rat.Request
---@return boolean
local function is_in_sight(request)
  return require("rat.window").visible() == request.chat
end

---@param request rat.Request
local function open_by_itself(request)
  local options = config.get()
  require("rat.notice").asked(request.chat, request.permission.title)
  if options.diff == "tab" and request.permission.diffs > 0 then
    return require("rat.diff").offer(request.chat, request.permission.id)
  elseif options.permission.open ~= "never" and #request.permission.options > 0 then
    show(request, true)
  end
end

---@param name string
function M.close(name)
  if choosers[name] then
    choosers[name].choice.close()
    choosers[name] = nil
  end
end

--- Compares what waits with what waited: opens for what is new, closes for what is decided.
function M.update()
  local seen = {}
  for _, request in ipairs(listed()) do
    local name = key(request)
    seen[name] = true
    if not arrival[name] then
      arrived = arrived + 1
      arrival[name] = arrived
      open_by_itself(request)
    elseif choosers[name] and choosers[name].revision ~= request.permission.revision then
      -- It asks for something else now.
      show(request, true)
    end
  end
  for name in pairs(arrival) do
    if not seen[name] then
      arrival[name], answered[name] = nil, nil
      M.close(name)
      require("rat.diff").decided(name)
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

--- Allows a request once or rejects it once. Where only lasting answers of that sort are offered, it shows them.
---@param request rat.Request
---@param allow boolean
---@param reason? string told to the agent with a rejection
---@return boolean decided; if not, the user was told why
function M.decide(request, allow, reason)
  local once, always = "reject_once", "reject_always"
  if allow then
    once, always = "allow_once", "allow_always"
  end
  if not offers(request, once) then
    if offers(request, always) then
      say.warn("only lasting answers are offered: choose one")
      show(request, false)
      return false
    elseif allow then
      say.warn("this request offers no way to allow it: see `:RatPermission`")
      return false
    end
  end
  answered[key(request)] = request.permission.revision
  rpc.notify("permission", {
    chat = request.chat.id,
    id = request.permission.id,
    revision = request.permission.revision,
    allow = allow,
    reason = reason,
  })
  return true
end

--- Allows the oldest request once, or rejects it; where several wait and none of them here, shows it.
---@param allow boolean
---@param reason? string told to the agent with a rejection
function M.answer(allow, reason)
  local request, _, elsewhere = oldest()
  if request and elsewhere then
    say.info("several requests wait elsewhere: this is the oldest")
    return show(request, false)
  end
  if request and M.decide(request, allow, reason) and not is_in_sight(request) then
    local word = allow and "allowed once" or "rejected"
    say.info(("%s: %s (%s)"):format(word, request.permission.title, chat.label(request.chat)))
  end
end

--- Answers with the option of that number.
---@param of rat.Chat
---@param id integer the request
---@param number integer
---@return boolean answered
function M.pick(of, id, number)
  local request = M.request(of, id)
  local option = request and request.permission.options[number]
  if not (request and option) then
    return false
  end
  M.choose(request, option.id)
  return true
end

--- The request of a chat, where only one waits.
---@param of rat.Chat
---@return integer? id
function M.only(of)
  local list = waiting(of)
  return #list == 1 and list[1].permission.id or nil
end

return M
