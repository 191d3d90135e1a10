--- What agents ask the user to fill in or to open: which requests wait, what is entered, what is answered. How they look
--- is `fields`', what may be entered the binary knows.
local chat = require("rat.chat")
local rpc = require("rat.rpc")
local say = require("rat.say")

local M = {}

---@class rat.Field
---@field key string
---@field title string
---@field description? string
---@field required boolean
---@field kind "text"|"number"|"choice"|"boolean"|"several"|"unknown"
---@field allows string what may be entered, in words
---@field choices {value: string, name: string, description: string?}[]
---@field value? string|boolean|string[] what stands there at first

---@class rat.Form
---@field chat integer
---@field id integer
---@field mode "form"|"url"
---@field message string
---@field title? string
---@field description? string
---@field fields? rat.Field[]
---@field url? string
---@field host? string
---@field warnings? string[]
---@field values table<string, string|boolean|string[]> what is entered, by key
---@field touched table<string, true> fields the user has been in
---@field problems table<string, string> one line each, by key
---@field tried? boolean the user wanted to send it
---@field sent? boolean an answer is on its way
---@field pane? rat.Pane while it is open
---@field wait? {close: fun()} it opens once the user types nothing

---@type rat.Form[] in order of arrival
local forms = {}

--- Those the user has not answered, the oldest first.
---@return rat.Form[]
function M.all()
  return vim.tbl_filter(function(form)
    return not form.sent
  end, forms)
end

---@param form rat.Form
---@param action "check"|"accept"|"decline"|"cancel"
local function tell(form, action)
  local entered = {}
  for _, field in ipairs(form.fields or {}) do
    local value = form.values[field.key]
    if value ~= nil then
      entered[#entered + 1] = { key = field.key, value = value }
    end
  end
  local what = { chat = form.chat, id = form.id, action = action }
  if action == "check" or action == "accept" then
    what.entered = entered
  end
  rpc.notify("elicitation", what)
end

---@param form rat.Form
local function close(form)
  if form.wait then
    form.wait.close()
    form.wait = nil
  end
  if form.pane then
    form.pane.close()
    form.pane = nil
  end
end

--- Answers a request. One that is accepted stays open until the binary has looked at it.
---@param form rat.Form
---@param action "accept"|"decline"|"cancel"
function M.answer(form, action)
  if form.sent then
    return
  end
  form.tried = true
  form.sent = true
  tell(form, action)
  if action ~= "accept" then
    close(form)
  end
end

--- Something else is entered in a field.
---@param form rat.Form
---@param key string
---@param value? string|boolean|string[] nil where nothing is
function M.enter(form, key, value)
  form.values[key] = value
  form.touched[key] = true
  form.problems[key] = nil
  tell(form, "check")
  if form.pane then
    form.pane.draw()
  end
end

--- Closes the window; the request keeps waiting with what is entered.
---@param form rat.Form
function M.hide(form)
  close(form)
  say.info("the agent keeps waiting: `:RatForm` goes on")
end

---@param form rat.Form
---@param by_itself? boolean the user has not just asked for it
local function show(form, by_itself)
  if form.pane then
    form.pane.take()
  end
  close(form)
  local of = chat.get(form.chat)
  form.pane = require("rat.pane").open(form, of and of.title or "The agent", by_itself)
end

---@param form rat.Form
local function open_by_itself(form)
  local policy = require("rat.config").get().permission.open
  if policy == "never" then
    return
  end
  local idle = require("rat.idle")
  local wait = idle.when(function()
    local busy = vim.iter(forms):any(function(other)
      return other.pane ~= nil
    end)
    if busy then
      return false
    end
    local of = chat.get(form.chat)
    return of ~= nil and require("rat.attention").is_free(of)
  end, function()
    form.wait = nil
    show(form, true)
  end)
  form.wait = {
    close = function()
      idle.forget(wait)
    end,
  }
end

--- An agent asks.
---@param payload rat.Form
function M.asked(payload)
  local form = payload
  form.values, form.touched, form.problems = {}, {}, {}
  for _, field in ipairs(form.fields or {}) do
    form.values[field.key] = field.value
  end
  forms[#forms + 1] = form
  open_by_itself(form)
  -- The agent may have taken it back already: what waits was told just before.
  M.update()
end

---@param id integer
---@return rat.Form?
local function find(id)
  return vim.iter(forms):find(function(form)
    return form.id == id
  end)
end

--- The binary says what is wrong with what is entered.
---@param payload {id: integer, problems: {key: string, line: string}[]}
function M.problems(payload)
  local form = find(payload.id)
  if not form then
    return
  end
  form.sent = nil
  form.problems = {}
  for _, problem in ipairs(payload.problems) do
    -- What nobody has been in yet is not wrong yet.
    if form.tried or form.touched[problem.key] then
      form.problems[problem.key] = problem.line
    end
  end
  if form.pane then
    form.pane.draw()
  end
end

--- Compares what waits with what waited: what is answered or not wanted any more goes.
function M.update()
  local waiting = {}
  for _, one in ipairs(chat.list()) do
    for _, elicitation in ipairs(one.id and one.status.elicitations or {}) do
      waiting[elicitation.id] = true
    end
  end
  for _, form in ipairs(forms) do
    if not waiting[form.id] then
      close(form)
    end
  end
  forms = vim.tbl_filter(function(form)
    return waiting[form.id]
  end, forms)
end

--- Opens a request, without a number the oldest one: of the chat the user is in, else of all.
---@param id? integer
function M.open(id)
  local here = chat.of(vim.api.nvim_get_current_buf())
  local all = M.all()
  local form = vim.iter(all):find(function(one)
    if id then
      return one.id == id
    end
    return here and one.chat == here.id
  end)
  form = form or (not id and all[1]) or nil
  if form then
    show(form)
  else
    say.info("no agent asks you for anything")
  end
end

--- The user has consented: opens an address in the browser.
---@param payload {url: string}
function M.browse(payload)
  require("rat.location").hand_over(payload.url)
end

return M
