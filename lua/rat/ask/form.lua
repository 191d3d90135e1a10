--- Holds the elicitation requests of agents (forms to fill in and URLs to open), what the user has entered, and sends
--- the answers. `form_window` shows them; the binary checks what was entered.
local config_keys = require("rat.config.keys")
local auto_open = require("rat.ask.auto_open")
local config = require("rat.config")
local idle = require("rat.util.idle")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
-- `rat.ask.form_window` is loaded with the first form, since few agents send one.

local M = {}

local show

---@alias rat.Field rat.msg.Field

---@class rat.Form: rat.msg.ElicitationRequest
---@field values table<string, string|boolean|string[]> entered values, by key of the field
---@field drafts table<string, string> what was typed into fields and not taken, by key
---@field touched table<string, true> fields that the user has edited
---@field problems table<string, string> error messages of one line, by key of the field
---@field last_row? rat.Row that of the cursor when its window was closed
---@field has_warned? boolean whether the user was told of a draft that would not be sent
---@field tried? boolean whether the user has tried to answer it
---@field sent? "accept"|"decline"|"cancel" the answer that was sent and to which the binary has not replied
---@field window? rat.FormWindow while it is open
---@field wait? {close: fun()} while it waits to open by itself

--- In order of arrival.
---@type rat.Form[]
local forms = {}

--- Returns the requests that the user has not answered, the oldest first.
---@return rat.Form[]
function M.all()
  return vim.tbl_filter(function(form)
    return not form.sent
  end, forms)
end

---@param form rat.Form
---@param action "check"|"accept"|"decline"|"cancel"
local function send(form, action)
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
  if form.window then
    form.window.close()
    form.window = nil
  end
end

---@param form rat.Form
---@return rat.Field? # the first field with a draft
local function draft_of(form)
  return vim.iter(form.fields or {}):find(function(field)
    return form.drafts[field.key] ~= nil
  end)
end

--- Answers a request. An accepted one stays open until the binary has checked it. Drafts of fields are not sent, so the user
--- is warned of them first.
---@param form rat.Form
---@param action "accept"|"decline"|"cancel"
function M.answer(form, action)
  -- The user may decline, or cancel, while the binary still checks an answer.
  if form.sent and (action == "accept" or form.sent ~= "accept") then
    return
  end
  local draft = action == "accept" and not form.has_warned and draft_of(form)
  if draft then
    form.has_warned = true
    local text = '"%s" has a draft that would not be sent. %s opens it; %s again sends the form.'
    local open, send_it = config_keys.name("<CR>"), config_keys.name("ga")
    return notify.warn(text:format(draft.title, open, send_it))
  end
  form.tried = true
  form.sent = action
  send(form, action)
  if action ~= "accept" then
    close(form)
  end
end

--- Sets the value of a field and has the binary check the form.
---@param form rat.Form
---@param key string
---@param value? string|boolean|string[] nil to empty the field
function M.enter(form, key, value)
  form.values[key] = value
  form.touched[key] = true
  form.problems[key] = nil
  send(form, "check")
  if form.window then
    form.window.draw()
  end
end

--- Closes the window. The request keeps waiting, and what was entered is kept.
---@param form rat.Form
function M.hide(form)
  close(form)
  notify.info("The agent is still waiting. :RatForm opens this again.")
end

---@param form rat.Form
---@param by_itself? boolean whether the user has not just asked for it
function show(form, by_itself)
  if form.window then
    form.window.submit_edit()
  end
  close(form)
  local chat = registry.get(form.chat)
  form.window = require("rat.ask.form_window").open(form, chat and chat.title or "The agent", {
    enter = M.enter,
    answer = M.answer,
    hide = M.hide,
    reopen = function(again)
      if again.window then
        show(again)
      end
    end,
  }, by_itself)
end

---@param form rat.Form
local function open_by_itself(form)
  local policy = config.get().permission.open
  if policy == "never" then
    return
  end
  local wait = idle.when(function()
    local another_is_open = vim.iter(forms):any(function(other)
      return other.window ~= nil
    end)
    if another_is_open then
      return false
    end
    local chat = registry.get(form.chat)
    return chat ~= nil and auto_open.may_open(chat)
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

--- Handles a request of an agent: it opens by itself once the user is idle.
---@param payload rat.msg.ElicitationRequest
function M.asked(payload)
  local form = payload --[[@as rat.Form]]
  form.values, form.drafts, form.touched, form.problems = {}, {}, {}, {}
  for _, field in ipairs(form.fields or {}) do
    form.values[field.key] = field.value
  end
  forms[#forms + 1] = form
  open_by_itself(form)
  -- It may have been withdrawn already: the status, which lists what waits, arrives before this message.
  M.update()
end

---@param id integer
---@return rat.Form?
local function find(id)
  return vim.iter(forms):find(function(form)
    return form.id == id
  end)
end

--- Handles the binary's check of a form.
---@param payload rat.msg.FormProblems
function M.problems(payload)
  local form = find(payload.id)
  if not form then
    return
  end
  form.sent = form.sent ~= "accept" and form.sent or nil
  form.problems = {}
  for _, problem in ipairs(payload.problems) do
    -- No error is shown for a field that the user has not reached yet.
    if form.tried or form.touched[problem.key] then
      form.problems[problem.key] = problem.line
    end
  end
  if form.window then
    form.window.draw()
  end
end

--- Follows a change of a chat's status: removes the requests that no longer wait.
function M.update()
  local waiting = {}
  for _, chat in ipairs(registry.list()) do
    for _, elicitation in ipairs(chat.id and chat.status.elicitations or {}) do
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

--- Opens a request. Without an id, the oldest one in the chat the user is in, else the oldest in any chat.
---@param id? integer
function M.open(id)
  local here = registry.of(vim.api.nvim_get_current_buf())
  local all = M.all()
  local form = vim.iter(all):find(function(candidate)
    if id then
      return candidate.id == id
    end
    return here and candidate.chat == here.id
  end)
  form = form or (not id and all[1]) or nil
  if form then
    show(form)
  else
    notify.info("No form or URL is waiting")
  end
end

--- Opens a URL in the browser after the user has consented.
---@param payload rat.msg.Browse
function M.browse(payload)
  location.open_externally(payload.url)
end

return M
