--- The words for how a chat stands: winbars, statusline, `status()`. Reads, never changes anything.
local one_line = require("rat.text").one_line

local M = {}

--- Makes a text of somebody else's safe for 'statusline' and 'winbar': one line, nothing evaluated.
---@param text string
---@return string
function M.escape(text)
  return (one_line(text):gsub("%%", "%%%%"))
end

local escape = M.escape

---@type table<string, string>
local words = {
  stopped = "stopped",
  starting = "starting",
  ready = "ready",
  running = "running",
  waiting = "waiting",
  cancelling = "cancelling",
  failed = "failed",
}

---@param state string
---@return string
local function highlight(state)
  return ("%%#RatState%s#"):format(state:sub(1, 1):upper() .. state:sub(2))
end

---@param usage rat.Status.usage?
---@return string? percent of the agent's context that is used
local function percent(usage)
  if usage and (usage.size or 0) > 0 then
    return ("%d%%%%"):format(math.floor(100 * usage.used / usage.size + 0.5))
  end
end

---@param permission rat.Permission
---@param kind string
---@return boolean
local function offers(permission, kind)
  return vim.iter(permission.options):any(function(option)
    return option.kind == kind
  end)
end

--- What answers a request in the prompt; one without options can only be turned down.
---@param permission rat.Permission
---@return string[][] keys with what they do
local function answers(permission)
  if #permission.options == 0 then
    return { { ":RatDeny", "" } }
  elseif not offers(permission, "allow_once") then
    return { { ":RatPermission", "answer" }, { "gr", "reject" } }
  end
  return { { "ga", "allow once" }, { "gr", "reject" } }
end

---@param chat rat.Chat
---@return string?
local function to_answer(chat)
  local permissions = chat.status.permissions
  local questions = require("rat.question").count(chat)
  local count = #permissions + questions
  if count == 0 then
    return nil
  elseif count > 1 then
    return ("%d requests: :RatPermission"):format(count)
  elseif questions == 1 then
    return ":RatPermission"
  elseif #permissions[1].options == 0 then
    return ":RatDeny"
  end
  return offers(permissions[1], "allow_once") and ":RatAllow :RatDeny" or ":RatPermission"
end

---@param status rat.Status
---@return string?
local function asked(status)
  local count = #status.elicitations
  if count > 0 then
    return count == 1 and ":RatForm" or count .. " :RatForm"
  end
end

---@param status rat.Status
---@return string?
local function queue(status)
  local count = #(status.queued or {})
  if count > 0 then
    return ("%d queued%s"):format(count, status.queue_paused and ", paused" or "")
  end
end

---@param text string escaped
---@return integer
local function cells(text)
  return vim.fn.strdisplaywidth((text:gsub("%%%%", "%%")))
end

---@param text string
---@param width integer cells
---@return string
local function shorten(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  local kept = vim.fn.strcharpart(text, 0, math.max(width - 1, 0))
  while vim.fn.strdisplaywidth(kept) > width - 1 and kept ~= "" do
    kept = vim.fn.strcharpart(kept, 0, vim.fn.strchars(kept) - 1)
  end
  return kept .. "…"
end

--- Joins what has room; what stands first is the most important and stays.
---@param parts string[] escaped
---@param room integer cells
---@return string
local function fitting(parts, room)
  local kept = ""
  for i, part in ipairs(parts) do
    local longer = kept == "" and part or kept .. " · " .. part
    if i > 1 and cells(longer) > room then
      break
    end
    kept = longer
  end
  return kept
end

--- A mode or a model may have a long name.
local NAME_CELLS = 18

--- What is chosen of the session's option of a category.
---@param chat rat.Chat
---@param category "mode"|"model"
---@return {value: string, name: string}?
local function chosen(chat, category)
  for _, option in ipairs(chat.options or {}) do
    if option.category == category and option.type == "select" then
      local choice = vim.iter(option.choices):find(function(one)
        return one.value == option.current
      end)
      return choice or { value = option.current, name = option.current }
    end
  end
end

---@param chat rat.Chat
---@param category "mode"|"model"
---@return string? escaped
local function name_of(chat, category)
  local choice = chosen(chat, category)
  return choice and escape(shorten(one_line(choice.name), NAME_CELLS))
end

---@return string?
local function conflicts()
  local count = require("rat.conflict").count()
  if count > 0 then
    return count == 1 and ":RatConflicts" or count .. " :RatConflicts"
  end
end

--- The winbar of the transcript: who, what it does, what waits. What waits is never cut off.
---@param chat rat.Chat
---@param width integer of the window, in cells
---@return string
function M.transcript_bar(chat, width)
  local status = chat.status
  local parts = {}
  vim.list_extend(parts, { to_answer(chat) or nil })
  vim.list_extend(parts, { asked(status) or nil })
  vim.list_extend(parts, { conflicts() or nil })
  vim.list_extend(parts, { queue(status) or nil })
  vim.list_extend(parts, { name_of(chat, "mode") })
  vim.list_extend(parts, { percent(status.usage) or nil })
  vim.list_extend(parts, { name_of(chat, "model") })
  local title, state = escape(chat.title), escape(words[status.state] or status.state)
  local elapsed = require("rat.clock").elapsed(chat)
  state = elapsed and state .. " " .. elapsed or state
  local room = width - cells(title) - cells(state) - 5
  local tail = fitting(parts, room)
  room = room - cells(tail) - 2
  local detail = one_line(status.detail or "")
  detail = (detail ~= "" and room >= 6) and ": " .. escape(shorten(detail, room)) or ""
  return ("%%#RatBar# %s %s%s%%*%s%%<%%= %s "):format(
    title,
    highlight(status.state),
    state,
    detail,
    tail
  )
end

---@type table<string, string[][]>
local prompt_keys = {
  ready = { { "<CR>", "send" }, { "g?", "keys" } },
  starting = { { "<CR>", "send" }, { "g?", "keys" } },
  running = { { "<C-c>", "cancel" }, { "<CR>", "queue" } },
  cancelling = { { "<CR>", "queue" }, { ":RatStop", "end it" } },
  stopped = { { ":RatRestart", "start again" } },
  failed = { { ":RatRestart", "start again" } },
}

---@param chat rat.Chat
---@return string[][]
local function keys_now(chat)
  local status = chat.status
  local count = #status.permissions + require("rat.question").count(chat)
  local cancel = { "<C-c>", "cancel" }
  if count > 1 or count == 1 and #status.permissions == 0 then
    return { { ":RatPermission", "answer" }, cancel }
  elseif count == 1 then
    return vim.list_extend(answers(status.permissions[1]), { cancel })
  elseif #status.elicitations > 0 then
    local other = status.state == "ready" and { "<CR>", "send" } or cancel
    return { { ":RatForm", "answer" }, other }
  end
  local keys = prompt_keys[status.state] or prompt_keys.ready
  if #(status.queued or {}) == 0 then
    return keys
  end
  local edit = { "g<", "edit" }
  if status.queue_paused and status.state == "ready" then
    return { { "<CR>", "go on with the queue" }, edit }
  end
  return vim.list_extend(vim.list_slice(keys), { edit })
end

--- The winbar of the prompt: what the keys do now.
---@param chat rat.Chat
---@return string
function M.prompt_bar(chat)
  local parts = {}
  for _, key in ipairs(keys_now(chat)) do
    local word = key[2] ~= "" and " " .. key[2] or ""
    parts[#parts + 1] = ("%%#RatKey#%s%%*%s"):format(escape(key[1]), word)
  end
  return " " .. table.concat(parts, " · ") .. "%<"
end

--- How a chat stands, for users' own code.
---@param chat rat.Chat?
---@return table status `state` is "stopped" where there is no chat
function M.status(chat)
  if not chat then
    return {
      state = "stopped",
      queued = {},
      queue_paused = false,
      permissions = {},
      elicitations = {},
    }
  end
  ---@type table
  local status = vim.deepcopy(chat.status)
  status.chat = chat.id
  status.agent = chat.agent
  status.title = chat.title
  status.cwd = chat.cwd
  status.model = (chosen(chat, "model") or {}).name
  status.meta = vim.deepcopy(chat.meta)
  return status
end

--- A short text for 'statusline', escaped; empty where there is no chat.
---@param chat rat.Chat?
---@param waiting integer what waits for the user in all chats
---@return string
function M.statusline(chat, waiting)
  if not chat then
    return ""
  end
  local parts = { escape(chat.agent) .. " " .. escape(words[chat.status.state] or "") }
  if waiting > 0 then
    parts[1] = escape(chat.agent) .. " waiting"
    parts[2] = ("%d to answer"):format(waiting)
  end
  vim.list_extend(parts, { conflicts() or nil })
  vim.list_extend(parts, { require("rat.clock").elapsed(chat) })
  vim.list_extend(parts, { queue(chat.status) or nil })
  vim.list_extend(parts, { name_of(chat, "mode") })
  vim.list_extend(parts, { name_of(chat, "model") })
  vim.list_extend(parts, { percent(chat.status.usage) or nil })
  return table.concat(parts, " · ")
end

return M
