--- Formats the status of a chat for winbars, 'statusline' and `status()`, and redraws statuslines. It changes no state.
local punctuation = require("rat.util.punctuation")
local clock = require("rat.chat.clock")
local config_keys = require("rat.config.keys")
local elsewhere = require("rat.chat.elsewhere")
local conflict = require("rat.document.conflict")
local question_list = require("rat.ask.question_list")
local text_of = require("rat.util.text")

local M = {}

--- Redraws every 'statusline', since the user's may contain `statusline()`.
function M.redraw()
  if vim.api.nvim_get_mode().mode:find("^[nivVt\22][^o]?$") then
    -- Setting this option marks all statuslines for the next redraw. |:redrawstatus| would redraw the screen immediately.
    vim.cmd("noautocmd let &rulerformat = &rulerformat")
  else
    vim.cmd.redrawstatus({ bang = true })
  end
end

local one_line, escape, shorten = text_of.one_line, text_of.statusline_escape, text_of.shorten

--- Least width, in cells, for the detail of a waiting request in the transcript's winbar.
local MIN_REQUEST_DETAIL = #"needs approval" + 1

---@type table<string, string>
local state_words = {
  stopped = "stopped",
  starting = "starting",
  ready = "ready",
  running = "running",
  waiting = "waiting",
  cancelling = "cancelling",
  failed = "failed",
}

--- Short words for the stop reasons of turns that did not end by themselves.
---@type table<string, string>
local stop_words = {
  max_tokens = "token limit",
  max_turn_requests = "request limit",
  refusal = "refused",
  cancelled = "cancelled",
  error = "failed",
}

--- Longest word of an agent's for why a turn ended, in cells.
local STOP_CELLS = 18

--- Returns the state of a chat; once a turn has ended in an unusual way, with the reason.
---@param status rat.Status
---@return string escaped
local function state_of(status)
  local state = state_words[status.state] or status.state
  local reason = status.stop_reason
  if status.state ~= "ready" or not reason or reason == "" or reason == "end_turn" then
    return escape(state)
  end
  local word = stop_words[reason] or shorten(one_line(reason), STOP_CELLS)
  return escape(("%s, %s"):format(state, word))
end

---@param state string
---@return string
local function highlight(state)
  return ("%%#RatState%s#"):format(state:sub(1, 1):upper() .. state:sub(2))
end

---@param usage rat.msg.Usage?
---@return string? percent used share of the agent's context, escaped
local function percent(usage)
  if usage and (usage.size or 0) > 0 then
    return ("%d%%%%"):format(math.floor(100 * usage.used / usage.size + 0.5))
  end
end

--- The signs of currencies that are written before the amount.
local CURRENCIES = { USD = "$", EUR = "€", GBP = "£" }

---@param usage rat.msg.Usage?
---@return string? cost of the session so far, escaped
local function cost(usage)
  local amount = usage and usage.cost
  if not usage or not amount or amount <= 0 then
    return nil
  end
  local code = (usage.unit or ""):match("^%a%a%a$")
  local usual = CURRENCIES[usage.unit]
  local sign = usual and punctuation.is_written(usual) and usual or nil
  local number = ("%.2f"):format(amount)
  -- What is no code of a currency is a text of the agent's, of any length.
  return sign and sign .. number or code and ("%s %s"):format(number, code)
end

---@param permission rat.Permission
---@param kind string
---@return boolean
local function offers(permission, kind)
  return vim.iter(permission.options):any(function(option)
    return option.kind == kind
  end)
end

--- Returns the keys that answer a request in the prompt. One without options can only be rejected.
---@param permission rat.Permission
---@return string[][] keys each with a description
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
local function request_hint(chat)
  local permissions = chat.status.permissions
  local questions = question_list.count(chat)
  local count = #permissions + questions
  if count == 0 then
    return nil
  elseif count > 1 then
    return ("%d requests: :RatPermission"):format(count)
  elseif questions == 1 then
    return question_list.writes(chat)[1] and ":RatAllow :RatDeny" or ":RatPermission"
  elseif #permissions[1].options == 0 then
    return ":RatDeny"
  end
  return offers(permissions[1], "allow_once") and ":RatAllow :RatDeny" or ":RatPermission"
end

---@param status rat.Status
---@return string?
local function form_hint(status)
  local count = #status.elicitations
  if count > 0 then
    return count == 1 and ":RatForm" or count .. " :RatForm"
  end
end

---@param status rat.Status
---@return string?
local function queue_hint(status)
  local count = #(status.queued or {})
  if count > 0 then
    return ("%d queued%s"):format(count, status.queue_paused and ", paused" or "")
  end
end

---@param text string escaped, perhaps with highlight groups
---@return integer
local function cells(text)
  return vim.fn.strdisplaywidth((text:gsub("%%#%w+#", ""):gsub("%%%*", ""):gsub("%%%%", "%%")))
end

--- Joins as many parts as fit. The first one, which is the most important, is always included.
---@param parts string[] escaped
---@param width integer cells
---@return string
local function join_fitting(parts, width)
  local joined = ""
  for i, part in ipairs(parts) do
    local longer = joined == "" and part or joined .. punctuation.own(" · ") .. part
    if i > 1 and cells(longer) > width then
      break
    end
    joined = longer
  end
  return joined
end

--- Longest name of a mode or a model, in cells.
local NAME_CELLS = 18

--- Returns the current value of the session's option of a category.
---@param chat rat.Chat
---@param category "mode"|"model"
---@return {value: string, name: string}?
local function chosen_value(chat, category)
  for _, option in ipairs(chat.options or {}) do
    if option.category == category and option.type == "select" then
      local choice = vim.iter(option.choices):find(function(candidate)
        return candidate.value == option.current
      end)
      return choice or { value = option.current, name = option.current }
    end
  end
end

---@param chat rat.Chat
---@param category "mode"|"model"
---@return string? escaped
local function name_of(chat, category)
  local choice = chosen_value(chat, category)
  return choice and escape(shorten(one_line(choice.name), NAME_CELLS))
end

---@param folder? string only conflicts in files below it
---@return string?
local function conflict_hint(folder)
  local count = conflict.count(folder)
  if count > 0 then
    return count == 1 and ":RatConflicts" or count .. " :RatConflicts"
  end
end

--- A title is not shortened further than this, in cells.
local MIN_TITLE = 4

--- Cuts commands to a width, between words.
---@param words string with a blank between them
---@param width integer cells
---@return string
local function whole_words(words, width)
  local shown = ""
  for word in words:gmatch("%S+") do
    local longer = shown == "" and word or shown .. " " .. word
    if cells(longer) > width then
      break
    end
    shown = longer
  end
  return shown
end

--- The winbar of a transcript that is too narrow for a title: what waits for the user, else the state.
---@param urgent string? escaped
---@param state string escaped
---@param name "running"|string the state's name
---@param width integer cells
---@return string
local function narrow_bar(urgent, state, name, width)
  local words = urgent and whole_words(urgent, width - 2) or ""
  local beside = words == "" and 0 or cells(words) + 1
  local shown = cells(state) + beside + 2 <= width and highlight(name) .. state .. "%*" or ""
  if words == "" or shown == "" then
    return (" %s%%< "):format(words .. shown)
  end
  return (" %s%%= %s%%< "):format(shown, words)
end

--- Returns the winbar of the transcript: the agent, its state, and what waits for the user, of which no word is cut off.
---@param chat rat.Chat
---@param width integer of the window, in cells
---@return string
function M.transcript_bar(chat, width)
  local status = chat.status
  local parts = {}
  vim.list_extend(parts, { request_hint(chat) or nil })
  vim.list_extend(parts, { form_hint(status) or nil })
  vim.list_extend(parts, { conflict_hint(chat.cwd) or nil })
  vim.list_extend(parts, { queue_hint(status) or nil })
  local urgent = parts[1]
  vim.list_extend(parts, { name_of(chat, "mode") })
  vim.list_extend(parts, { percent(status.usage) or nil })
  vim.list_extend(parts, { name_of(chat, "model") })
  vim.list_extend(parts, { cost(status.usage) or nil })
  local state = state_of(status)
  -- The first part is always shown whole. The title and the elapsed time get the room that it leaves.
  local room = width - cells(parts[1] or "") - cells(state) - 5
  if room < MIN_TITLE and not urgent then
    parts, room = {}, width - cells(state) - 5
  end
  if room < MIN_TITLE then
    return narrow_bar(urgent, state, status.state, width)
  end
  local project = elsewhere.name(chat)
  local name = project and ("%s: %s"):format(one_line(project), chat.title) or chat.title
  local elapsed = clock.elapsed(chat)
  if elapsed and room >= cells(escape(name)) + 1 + #elapsed then
    state = state .. " " .. elapsed
  end
  local title = escape(shorten(name, math.max(room, MIN_TITLE)))
  local left = width - cells(title) - cells(state) - 5
  local tail = join_fitting(parts, left)
  left = left - cells(tail) - 2
  local detail = one_line(status.detail or "")
  if status.state == "waiting" and #status.permissions > 0 then
    -- "needs approval: .." implies that the agent waits, so it replaces the state, unless it would be cut too short.
    local whole = left + cells(state) + 2
    state = detail ~= "" and whole >= MIN_REQUEST_DETAIL and escape(shorten(detail, whole)) or state
  elseif detail ~= "" and left >= 6 then
    state = ("%s: %s"):format(state, escape(shorten(detail, left)))
  end
  return ("%%#RatBar# %s %s%s%%*%%<%%= %s "):format(title, highlight(status.state), state, tail)
end

---@type table<string, string[][]>
local prompt_keys = {
  ready = { { "<CR>", "send" }, { "g?", "keys" } },
  starting = { { "<CR>", "send" }, { "g?", "keys" } },
  running = { { "<C-c>", "cancel" }, { "<CR>", "queue" } },
  cancelling = { { "<CR>", "queue" }, { ":RatStop", "stop agent" } },
  stopped = { { "<CR>", "restart and send" }, { ":RatRestart", "restart" } },
  failed = { { "<CR>", "restart and send" }, { ":RatRestart", "restart" } },
}

---@param buf integer? of a prompt
---@return boolean
local function is_empty(buf)
  local lines = buf
    and vim.api.nvim_buf_is_loaded(buf)
    and vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  return vim.trim(table.concat(lines or {})) == ""
end

---@param chat rat.Chat
---@return string[][]
local function current_keys(chat)
  local status = chat.status
  local count = #status.permissions + question_list.count(chat)
  local cancel = status.state == "cancelling" and { ":RatStop", "stop agent" }
    or { "<C-c>", "cancel" }
  -- A prompt is sent at once, and there is nothing to cancel, if a tool call goes on after the end of its turn.
  local state = status.is_between_turns and status.state == "running" and "ready" or status.state
  local asked = count == 1 and question_list.writes(chat)[1]
  if asked then
    return { { "ga", asked.is_write and "write" or "run" }, { "gr", "reject" }, cancel }
  elseif count > 1 or count == 1 and #status.permissions == 0 then
    return { { ":RatPermission", "answer" }, cancel }
  elseif count == 1 then
    return vim.list_extend(answers(status.permissions[1]), { cancel })
  elseif #status.elicitations > 0 then
    local other = state == "ready" and { "<CR>", "send" } or cancel
    return { { ":RatForm", "answer" }, other }
  end
  local keys = prompt_keys[state] or prompt_keys.ready
  if #(status.queued or {}) == 0 then
    return keys
  end
  local edit = { "g<", "edit" }
  if status.queue_paused and state == "ready" and is_empty(chat.buffers.prompt) then
    return { { "<CR>", "send the queue" }, edit }
  end
  return vim.list_extend(vim.list_slice(keys), { edit })
end

---@param buf integer?
---@return boolean
local function is_typing_in(buf)
  return buf == vim.api.nvim_get_current_buf() and vim.api.nvim_get_mode().mode:find("^[iR]") ~= nil
end

--- Sorts keys by what has to be pressed in Insert mode: those that do the same there, and those of Normal mode.
---@param keys string[][]
---@return string[][] here
---@return string[][] after_escape
local function in_insert_mode(keys)
  local here, after_escape = {}, {}
  for _, key in ipairs(keys) do
    if key[1] == "<CR>" then
      here[#here + 1] = { "<C-s>", key[2] }
    else
      table.insert(key[1]:find("^:") and here or after_escape, key)
    end
  end
  return here, after_escape
end

--- Joins the parts of a prompt's bar that fit: where there is no room for what a key does, the key alone.
---@param parts [string, string][] escaped: the whole part, and the key
---@param width integer cells
---@return string
local function join_keys(parts, width)
  local joined = ""
  for _, part in ipairs(parts) do
    local separator = joined == "" and "" or punctuation.own(" · ")
    for _, text in ipairs(part) do
      if cells(joined .. separator .. text) <= width then
        joined = joined .. separator .. text
        break
      end
    end
  end
  return joined
end

--- Returns the winbar of the prompt: what the keys do in the current state and mode. No word of it is cut off.
---@param chat rat.Chat
---@param width integer of the window, in cells
---@return string
function M.prompt_bar(chat, width)
  ---@type [string, string][]
  local parts = {}
  local project = elsewhere.name(chat)
  if project then
    local name = escape(shorten(one_line(project), math.max(MIN_TITLE, width - 4)))
    name = ("%%#RatKey#in %s%%*"):format(name)
    parts[1] = { name, name }
  end
  ---@param keys string[][]
  ---@param before string
  local function add(keys, before)
    for _, key in ipairs(config_keys.current(keys)) do
      local word = key[2] ~= "" and " " .. key[2] or ""
      local shown = ("%s%%#RatKey#%s%%*"):format(before, escape(key[1]))
      parts[#parts + 1] = { shown .. word, shown }
      before = ""
    end
  end
  local keys = current_keys(chat)
  if is_typing_in(chat.buffers.prompt) then
    local here, after_escape = in_insert_mode(keys)
    add(here, "")
    add(after_escape, "after <Esc>: ")
  else
    add(keys, "")
  end
  return " " .. join_keys(parts, width - 1) .. "%<"
end

--- Returns the status of a chat for the public API, |rat.status()|.
---@param chat rat.Chat?
---@return table status `state` is "stopped" if there is no chat
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
  status.queue_numbers, status.is_between_turns = nil, nil
  status.chat = chat.id
  status.agent = chat.agent
  status.title = chat.title
  status.cwd = chat.cwd
  status.model = (chosen_value(chat, "model") or {}).name
  status.meta = chat.meta and vim.deepcopy(chat.meta)
  return status
end

--- Returns a short text for 'statusline', escaped; empty if there is no chat. It counts the pending hunks of the window's buffer.
---@param chat rat.Chat?
---@param waiting integer how many requests, forms and questions wait in all chats
---@return string
function M.statusline(chat, waiting)
  if not chat then
    return ""
  end
  ---@type string[]
  local parts = { escape(chat.agent) .. " " .. state_of(chat.status) }
  if waiting > 0 then
    local here = #chat.status.permissions + #chat.status.elicitations > 0
      or question_list.count(chat) > 0
    parts[2] = ("%d to answer%s"):format(waiting, here and "" or " elsewhere")
  end
  vim.list_extend(parts, { conflict_hint() or nil })
  if vim.b.rat_pending then
    parts[#parts + 1] = vim.b.rat_pending .. " pending"
  end
  vim.list_extend(parts, { clock.elapsed(chat) })
  vim.list_extend(parts, { queue_hint(chat.status) or nil })
  vim.list_extend(parts, { name_of(chat, "mode") })
  vim.list_extend(parts, { name_of(chat, "model") })
  vim.list_extend(parts, { percent(chat.status.usage) or nil })
  vim.list_extend(parts, { cost(chat.status.usage) or nil })
  return punctuation.join(parts)
end

return M
