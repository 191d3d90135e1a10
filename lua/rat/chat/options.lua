--- Sets the options of a session, including its mode: completes them, lets the user choose, and asks the binary. The values
--- change when the agent has confirmed them.
local punctuation = require("rat.util.punctuation")
local chooser = require("rat.ask.chooser")
local current_chat = require("rat.chat.current")
local notify = require("rat.util.notify")
local rpc = require("rat.rpc")
local text_of = require("rat.util.text")

local M = {}

---@alias rat.ConfigOption rat.msg.ConfigOption

---@return rat.Chat?
---@return rat.ConfigOption[]
local function current_options()
  local chat = current_chat.get()
  return chat, chat and chat.options or {}
end

--- Returns the option with this id, else the first of this category, else the one with this name.
---@param word string
---@return rat.ConfigOption?
local function find(word)
  local _, options = current_options()
  local lower = word:lower()
  for _, key in ipairs({ "id", "category", "name" }) do
    for _, option in ipairs(options) do
      if option[key] == word or key == "name" and option.name:lower() == lower then
        return option
      end
    end
  end
end

---@param option rat.ConfigOption
---@return string[] values
local function values(option)
  if option.type == "boolean" then
    return { "on", "off" }
  end
  return vim.tbl_map(function(choice)
    return choice.value
  end, option.choices)
end

--- Whether a name can be given as an argument of a command and is displayed unchanged. Others can only be picked.
---@param name string
---@return boolean
local function can_be_typed(name)
  return name ~= "" and vim.trim(name) == name and text_of.one_line(name) == name
end

--- Returns the completions of the arguments: the ids of the options, or the values of one.
---@param word string? an option's id, category or name
---@return string[]
function M.words(word)
  if word and word ~= "" then
    local option = find(word)
    return vim.tbl_filter(can_be_typed, option and values(option) or {})
  end
  local ids = {}
  for _, option in ipairs(select(2, current_options())) do
    -- In `:RatOption` a space separates the option from the value.
    if can_be_typed(option.id) and not option.id:find("%s") then
      ids[#ids + 1] = option.id
    end
  end
  return ids
end

---@param choice {value: string, name: string, description: string?, group: string?}
---@param current string
---@return string
local function describe(choice, current)
  local text = choice.group and ("%s: %s"):format(choice.group, choice.name) or choice.name
  if choice.value == current then
    text = text .. " (current)"
  end
  return choice.description and punctuation.own("%s · %s"):format(text, choice.description) or text
end

---@param chat rat.Chat
---@param option rat.ConfigOption
local function pick_value(chat, option)
  local choices = option.choices
  if option.type == "boolean" then
    choices = { { value = "on", name = "on" }, { value = "off", name = "off" } }
  end
  chooser.open(choices, {
    prompt = option.name,
    format_item = function(choice)
      return describe(choice, option.current)
    end,
  }, function(choice)
    if choice then
      rpc.notify("option", { chat = chat.id, option = option.id, value = choice.value })
    end
  end)
end

---@param option rat.ConfigOption
---@return string
local function summary(option)
  local current = option.current
  for _, choice in ipairs(option.choices) do
    current = choice.value == option.current and choice.name or current
  end
  return ("%s: %s"):format(option.name, current)
end

--- Milliseconds in which the key goes on from the mode that was asked for, whether or not the agent has answered.
local ANSWERS_WITHIN = 2000
--- The mode that a chat was asked for last, and when.
---@type table<rat.Chat, {value: string, at: integer}>
local asked = setmetatable({}, { __mode = "k" })

--- Sets the mode after the current one, in the agent's order.
---@param chat rat.Chat
function M.next_mode(chat)
  local modes
  for _, option in ipairs(chat.options or {}) do
    modes = modes or option.category == "mode" and option
  end
  if not (chat.id and modes and modes.choices[1]) then
    return notify.info(("%s has no modes"):format(chat.title))
  end
  local following, last, now = modes.choices[1], asked[chat], vim.uv.now()
  local before = last and now - last.at < ANSWERS_WITHIN and last.value or modes.current
  for at, choice in ipairs(modes.choices) do
    if choice.value == before then
      following = modes.choices[at + 1] or following
    end
  end
  asked[chat] = { value = following.value, at = now }
  rpc.notify("option", { chat = chat.id, option = modes.id, value = following.value })
end

--- Sets an option, and lets the user choose what is not given.
---@param word string? an option's id, category or name
---@param value string? a value or its name
function M.set(word, value)
  local chat, options = current_options()
  if not (chat and chat.id) then
    return notify.warn("No agent is running. :RatStart starts one.")
  elseif #options == 0 and chat.status.state == "starting" then
    return notify.warn(("%s is still starting. Try again soon."):format(chat.title))
  elseif word and value and value ~= "" then
    return rpc.notify("option", { chat = chat.id, option = word, value = value })
  elseif #options == 0 then
    return notify.info(("%s has no options"):format(chat.title))
  elseif word then
    local option = find(word)
    if option then
      return pick_value(chat, option)
    end
    return notify.error(
      ('%s has no option "%s" (available: %s)'):format(
        chat.title,
        word,
        table.concat(M.words(), ", ")
      )
    )
  end
  local opts = { prompt = "Which option?", format_item = summary }
  chooser.open(options, opts, function(option)
    if option then
      pick_value(chat, option)
    end
  end)
end

return M
