--- Options of a session, its mode among them: completion, pickers, what the binary is told. The agent's answer decides.
local rpc = require("rat.rpc")
local say = require("rat.say")

local M = {}

---@class rat.ConfigOption
---@field id string
---@field name string
---@field description? string
---@field category? string
---@field type "select"|"boolean"
---@field current string what is chosen; of a boolean `on` or `off`
---@field choices {value: string, name: string, description: string?, group: string?}[]

---@return rat.Chat?
---@return rat.ConfigOption[]
local function here()
  local chat = require("rat.chat").current()
  return chat, chat and chat.options or {}
end

--- The option of this id, else the first of this category, else the one of this name.
---@param word string
---@return rat.ConfigOption?
local function find(word)
  local _, options = here()
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

--- Whether a command takes a name as what it is, and the user sees it as that. What cannot be typed is picked.
---@param name string
---@return boolean
local function can_be_typed(name)
  return name ~= "" and vim.trim(name) == name and require("rat.text").one_line(name) == name
end

--- What can follow: options, or the values of one.
---@param word string? an option
---@return string[]
function M.words(word)
  if word and word ~= "" then
    local option = find(word)
    return vim.tbl_filter(can_be_typed, option and values(option) or {})
  end
  local ids = {}
  for _, option in ipairs(select(2, here())) do
    -- A value follows behind a space.
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
    text = text .. " (now)"
  end
  return choice.description and ("%s · %s"):format(text, choice.description) or text
end

---@param chat rat.Chat
---@param option rat.ConfigOption
local function pick_value(chat, option)
  local choices = option.choices
  if option.type == "boolean" then
    choices = { { value = "on", name = "on" }, { value = "off", name = "off" } }
  end
  require("rat.select").open(choices, {
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

--- Sets an option; asks for what is not said.
---@param word string? an option's id, category or name
---@param value string? a value or its name
function M.set(word, value)
  local chat, options = here()
  if not (chat and chat.id) then
    return say.warn("no agent is running: `:RatStart` starts one")
  elseif word and value and value ~= "" then
    return rpc.notify("option", { chat = chat.id, option = word, value = value })
  elseif #options == 0 then
    return say.info(("%s has nothing to choose"):format(chat.title))
  elseif word then
    local option = find(word)
    if option then
      return pick_value(chat, option)
    end
    return say.error(
      ('%s has no option "%s", only %s'):format(chat.title, word, table.concat(M.words(), ", "))
    )
  end
  local opts = { prompt = "Which option?", format_item = summary }
  require("rat.select").open(options, opts, function(option)
    if option then
      pick_value(chat, option)
    end
  end)
end

return M
