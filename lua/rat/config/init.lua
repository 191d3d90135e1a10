--- Holds the user's options, checked against `schema` and completed with its defaults. It starts nothing and reads no file.
local punctuation = require("rat.util.punctuation")
local closest_name = require("rat.util.closest_name")
local schema = require("rat.config.schema")

local M = {}

---@type table?
local options

--- Set while the options that were set last are refused: the reason.
---@type string?
local refusal

---@param fields rat.Option[]
---@return table<string, rat.Option> by_name
---@return string[] names
local function index(fields)
  local by_name, names = {}, {}
  for _, field in ipairs(fields) do
    by_name[field.name] = field
    names[#names + 1] = field.name
  end
  return by_name, names
end

---@param path string
---@param key any
---@return string
local function join(path, key)
  return path == "" and tostring(key) or path .. "." .. tostring(key)
end

local check

---@class rat.OptionProblem
---@field path string the keys that lead to it, with dots; empty for the whole
---@field text string what is wrong, with the path

---@param path string
---@param problems rat.OptionProblem[]
---@param text string
local function add(path, problems, text)
  local shown = ("%s: %s"):format(path == "" and "options" or path, text)
  problems[#problems + 1] = { path = path, text = shown }
end

---@param fields rat.Option[]
---@param value table
---@param path string
---@param problems rat.OptionProblem[]
local function check_fields(fields, value, path, problems)
  local by_name, names = index(fields)
  for key, item in pairs(value) do
    local field = by_name[key]
    if field then
      check(field, item, join(path, key), problems)
    else
      local near = type(key) == "string" and closest_name.find(key, names) or nil
      local hint = near and ("did you mean %s?"):format(near)
        or "known keys: " .. table.concat(names, ", ")
      add(join(path, key), problems, "unknown key, " .. hint)
    end
  end
end

---@type table<string, fun(value: any): boolean>
local is = {
  list = function(value)
    return type(value) == "table" and vim.islist(value)
  end,
  map = function(value)
    return type(value) == "table" and (next(value) == nil or not vim.islist(value))
  end,
  integer = function(value)
    return type(value) == "number" and value % 1 == 0
  end,
}
is.table = is.map
-- The binary checks what a table has, as it does for the settings file, and starts no agent where that is wrong.
is.confine = function(value)
  return value == false or value == "write" or is.map(value)
end

--- The names of icons.
local ICONS = {
  "pending",
  "running",
  "done",
  "failed",
  "cancelled",
  "bar",
  "branch",
  "corner",
  "speaker",
  "thought",
  "queued",
  "fold",
}

is.key = function(value)
  return value == false or type(value) == "string" and value ~= ""
end
is.icon = function(value)
  return type(value) == "string" and not value:find("%c") and vim.fn.strdisplaywidth(value) == 1
end
is.icons = function(value)
  return value == "unicode" or value == "ascii" or is.map(value)
end

--- What is expected of an option whose type does not say it.
---@type table<string, string>
M.EXPECTED = {
  confine = 'false, "write" or table',
  key = "a key or false",
  icon = "a character of one cell",
  icons = '"unicode", "ascii" or table',
}

---@param option rat.Option
---@param value any
---@return string? problem
local function problem_of(option, value)
  local fits = is[option.type]
  if fits and not fits(value) or not fits and type(value) ~= option.type then
    local found = is.list(value) and value[1] ~= nil and "list" or type(value)
    local expected = M.EXPECTED[option.type] or option.type
    return ("expected %s, got %s"):format(expected, found)
  end
  if option.choices and not vim.list_contains(option.choices, value) then
    local near = closest_name.find(value, option.choices)
    return ('expected one of %s, got "%s"%s'):format(
      table.concat(option.choices, ", "),
      value,
      near and (", did you mean %s?"):format(near) or ""
    )
  end
  local low, high = unpack(option.range or {})
  if low and value < low or high and value > high then
    return ("expected at least %s%s, got %s"):format(
      low,
      high and ", at most " .. high or "",
      value
    )
  end
end

---@param option rat.Option
---@param value any
---@param path string
---@param problems rat.OptionProblem[]
function check(option, value, path, problems)
  local problem = problem_of(option, value)
  if problem then
    add(path, problems, problem)
  elseif option.type == "icons" and type(value) == "table" then
    local fields = vim.tbl_map(function(name)
      return { name = name, type = "icon" }
    end, ICONS)
    check_fields(fields, value, path, problems)
  elseif option.fields then
    check_fields(option.fields, value, path, problems)
  elseif option.items then
    for key, item in pairs(value) do
      check(option.items, item, join(path, key), problems)
    end
  end
end

--- Returns what is wrong with a value, sorted; nothing if it fits.
---@param option rat.Option
---@param value any
---@return rat.OptionProblem[]
function M.problems(option, value)
  local problems = {}
  check(option, value, "", problems)
  table.sort(problems, function(a, b)
    return a.text < b.text
  end)
  return problems
end

--- Returns the default of an option; of a table with described keys, a table of their defaults.
---@param option rat.Option
---@return any
function M.default(option)
  if option.fields then
    local value = {}
    for _, field in ipairs(option.fields) do
      value[field.name] = M.default(field)
    end
    return value
  end
  if option.default ~= nil then
    return vim.deepcopy(option.default)
  end
  return option.choices and option.choices[1] or nil
end

--- Keeps agents confined as in options that are refused: otherwise a mistake anywhere would start them unconfined.
---@param opts table
local function keep_confined(opts)
  for name, agent in pairs(type(opts.agents) == "table" and opts.agents or {}) do
    local confine = type(agent) == "table" and agent.confine
    if confine then
      local agents = M.get().agents
      local kept = type(confine) ~= "function" and confine or true
      agents[name] = vim.tbl_extend("force", agents[name] or {}, { confine = kept })
    end
  end
end

--- Replaces the options in force.
---@param opts table?
---@return string[] problems each with the key's full path, sorted; if there are any, the options stay as they were, except
--- that agents are confined
function M.set(opts)
  opts = opts or {}
  local problems = vim.tbl_map(function(problem)
    return problem.text
  end, M.problems(schema, opts))
  refusal = problems[1]
  if #problems == 0 then
    options = vim.tbl_deep_extend("force", M.default(schema), opts)
    punctuation.use_ascii(options.icons == "ascii")
  else
    keep_confined(opts)
  end
  return problems
end

--- Returns what is wrong with the options that were set last, if they were refused: what they were to allow or forbid is not
--- known, so no agent is started with others.
---@return string?
function M.refusal()
  return refusal
end

--- Returns the options in force: those of the last `set`, else the defaults.
---@return table
function M.get()
  options = options or M.default(schema)
  return options
end

return M
