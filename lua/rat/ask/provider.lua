--- Asks the user's permission provider, the option `permission.provider`, about requests before the user is asked. Whatever
--- it does, the user can answer first.
local config = require("rat.config")
local notify = require("rat.util.notify")

local M = {}

--- What a permission provider gets.
---@class rat.PermissionRequest
---@field chat integer number of the chat
---@field session_id? string
---@field agent string its name in the configuration
---@field cwd string the session's working folder
---@field id integer number of the request
---@field tool_call string id of the tool call
---@field title string
---@field kind rat.msg.ToolKind what the tool does
---@field command? string
---@field paths string[] absolute paths of the files it names, without `..`; links are not resolved
---@field options rat.msg.PermissionOption[]
---@field diffs integer number of diffs

--- What an answer leads to.
---@class rat.ProviderActions
---@field is_waiting fun(): boolean whether the request still waits as the provider has seen it
---@field choose fun(option: string) answers with the option with this id
---@field reject fun(reason?: string) rejects once
---@field ask_user fun()

--- Answers that mean the kind of an option. An agent may give any option one of these as its id, so they are never ids.
local KINDS = { "allow_once", "allow_always", "reject_once", "reject_always" }

---@param path string
---@return string
local function without_dots(path)
  return vim.fs.normalize(path, { expand_env = false })
end

---@param chat rat.Chat
---@param permission rat.Permission
---@return rat.PermissionRequest
local function request_for(chat, permission)
  return {
    chat = chat.id --[[@as integer]],
    session_id = chat.status.session_id,
    agent = chat.agent,
    cwd = chat.cwd,
    id = permission.id,
    tool_call = permission.tool_call,
    title = permission.title,
    kind = permission.tool,
    command = permission.command,
    paths = vim.tbl_map(without_dots, permission.paths),
    options = vim.deepcopy(permission.options),
    diffs = permission.diffs,
  }
end

---@param permission rat.Permission
---@param choice any
---@return string? id of the option it means
local function option_for(permission, choice)
  local key = vim.list_contains(KINDS, choice) and "kind" or "id"
  local found = vim.iter(permission.options):find(function(option)
    return option[key] == choice
  end)
  return found and found.id
end

---@param permission rat.Permission
---@param choice any
---@param reason? string
---@param actions rat.ProviderActions
local function carry_out(permission, choice, reason, actions)
  local is_rejection = choice == "reject" or choice == "reject_once"
  local option = option_for(permission, choice)
  if choice == nil then
    actions.ask_user()
  elseif is_rejection and (choice == "reject" or option) then
    actions.reject(type(reason) == "string" and reason or nil)
  elseif option then
    actions.choose(option)
  else
    local text =
      "permission.provider answered %s, which this request does not offer. You are asked instead."
    notify.warn(text:format(vim.inspect(choice, { newline = " ", indent = "" })))
    actions.ask_user()
  end
end

--- Asks the provider about a request. Later answers than its first one are ignored, and those to a request that the user
--- has answered or that has changed since.
---@param chat rat.Chat
---@param permission rat.Permission
---@param actions rat.ProviderActions
---@return boolean asked false if there is no provider
function M.ask(chat, permission, actions)
  local provider = config.get().permission.provider
  if not provider then
    return false
  end
  local is_answered = false
  local function answer(choice, reason)
    if is_answered then
      return
    end
    is_answered = true
    local function now()
      if actions.is_waiting() then
        carry_out(permission, choice, reason, actions)
      end
    end
    if vim.in_fast_event() then
      vim.schedule(now)
    else
      now()
    end
  end
  local ok, result = xpcall(provider, debug.traceback, request_for(chat, permission), answer)
  if not ok then
    notify.failed("permission.provider failed, so you are asked", result)
    answer(nil)
  elseif result ~= nil and not is_answered then
    notify.warn("permission.provider returned a value. It has to call answer(), so you are asked.")
    answer(nil)
  end
  return true
end

return M
