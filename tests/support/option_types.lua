--- Makes the types of the options from their descriptions, for language servers.
--- `nvim -l tests/support/option_types.lua` writes them.
local this = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(this)))
vim.opt.runtimepath:prepend(root)

local schema = require("rat.config.schema")

local M = { path = root .. "/lua/rat/config/option_types.lua" }

local HEAD = {
  "--- The types of the options of |rat.setup()|, made by tests/support/option_types.lua.",
  "---@meta _",
  "",
}

--- Types that are not described by fields.
---@type table<rat.Option["type"], string>
local named = {
  ["function"] = "function",
  confine = 'false|"write"|table',
  key = "string|false",
  icon = "string",
}

---@param words string
---@return string
local function camel(words)
  return (("_" .. words):gsub("_(%l)", string.upper))
end

--- The types of tables with fields, in the order in which they are found. Those with the same keys are one type.
---@type table<rat.Option[], string>
local known
---@type {name: string, fields: rat.Option[]}[]
local classes

---@param fields rat.Option[]
---@param name string
---@return string
local function class_of(fields, name)
  if not known[fields] then
    known[fields] = name
    classes[#classes + 1] = { name = name, fields = fields }
  end
  return known[fields]
end

---@param option rat.Option
---@param within string the name of the type that it is a key of
---@return string
local function type_of(option, within)
  local own = option.name and within .. "." .. camel(option.name) or within
  if option.type == "icons" then
    local class = option.fields and class_of(option.fields, own) or "table<string, string>"
    return '"unicode"|"ascii"|' .. class
  elseif option.fields then
    return class_of(option.fields, own)
  elseif option.type == "list" or option.type == "map" then
    local item = type_of(option.items, (own:gsub("s$", "")))
    item = item:find("|", 1, true) and "(" .. item .. ")" or item
    return option.type == "list" and item .. "[]" or ("table<string, %s>"):format(item)
  elseif option.choices then
    return table.concat(vim.tbl_map(vim.inspect, option.choices), "|")
  end
  return named[option.type] or option.type
end

--- The types as the descriptions have them.
---@return string
function M.make()
  known, classes = {}, {}
  class_of(schema.fields, "rat.Options")
  local lines = vim.list_slice(HEAD)
  local at = 1
  while classes[at] do
    local class = classes[at]
    lines[#lines + 1] = ("---@class (exact) %s"):format(class.name)
    for _, option in ipairs(class.fields) do
      local doc = option.doc and " " .. option.doc:gsub("|", "`") or ""
      lines[#lines + 1] = ("---@field %s? %s%s"):format(
        option.name,
        type_of(option, class.name),
        doc
      )
    end
    lines[#lines + 1] = ""
    at = at + 1
  end
  return table.concat(lines, "\n")
end

if arg and arg[0] and arg[0]:match("support/option_types%.lua$") then
  local file = assert(io.open(M.path, "w"))
  file:write(M.make())
  file:close()
end

return M
