--- Holds the providers of context, the built-in ones and the user's: what `@name` in a prompt stands for. It runs none.
local M = {}

--- What a provider gets.
---@class rat.ContextRequest
---@field cwd string folder of the session
---@field argument? string what follows the colon in `@name:argument`
---@field win? integer the window of the user's that they were in last
---@field buf? integer its buffer

--- What goes with a prompt: the path of a file, lines of a buffer or a file (without `first` all of them), the lines around
--- a place, or a text.
---@alias rat.Context string | rat.ContextRange | rat.ContextPlace | rat.ContextText | rat.Attachment

---@class rat.ContextRange
---@field buf? integer by default the current one
---@field path? string of a file, if there is no `buf`
---@field first? integer from 1
---@field last? integer inclusive

---@class rat.ContextText
---@field text string
---@field label? string what the user sees; by default the mention
---@field uri? string by default that of the mention
---@field mime? string
---@field count? integer how many entries it has, for the user

---@class rat.ContextItem
---@field word string what follows `@name:`
---@field about? string what it is, in a few words

--- Returns its answer and what is wrong, or passes these to `answer` later.
---@alias rat.ContextFunction fun(request: rat.ContextRequest, answer: fun(found: any, problem: string?)): any, string?

---@class rat.ContextProvider
---@field name string what follows the `@`
---@field about? string what it is, in a few words
---@field describe? fun(request: rat.ContextRequest): string? what it would attach now; has to be fast
---@field complete? rat.ContextFunction answers with (string|rat.ContextItem)[]
---@field resolve rat.ContextFunction answers with rat.Context|rat.Context[]

---@type table<string, rat.ContextProvider>
local providers = {}

--- Types of the fields, and whether a provider must have them.
---@type table<string, {type: string, required: boolean}>
local FIELDS = {
  name = { type = "string", required = true },
  about = { type = "string", required = false },
  describe = { type = "function", required = false },
  complete = { type = "function", required = false },
  resolve = { type = "function", required = true },
}

--- Returns what is wrong with a provider.
---@param provider any
---@return string?
local function problem_of(provider)
  if type(provider) ~= "table" then
    return ("expected a table, got %s"):format(type(provider))
  end
  for field in vim.spairs(provider) do
    if not FIELDS[field] then
      return ("unknown field %s"):format(field)
    end
  end
  for field, wanted in vim.spairs(FIELDS) do
    local found = type(provider[field])
    if found ~= wanted.type and (wanted.required or found ~= "nil") then
      return ("%s: expected %s, got %s"):format(field, wanted.type, found)
    end
  end
  if not provider.name:match("^%a[%w_-]*$") then
    return ("name: %q is not a letter followed by letters, digits, - and _"):format(provider.name)
  end
end

--- Adds a provider. It replaces one of the same name.
---@param provider rat.ContextProvider
---@return string? problem if it is none
function M.add(provider)
  local problem = problem_of(provider)
  if not problem then
    providers[provider.name] = provider
  end
  return problem
end

--- Returns the provider with a name.
---@param name string
---@return rat.ContextProvider?
function M.get(name)
  return providers[name]
end

--- Returns all providers, sorted by name.
---@return rat.ContextProvider[]
function M.all()
  local list = vim.tbl_values(providers)
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  return list
end

--- A provider that a prompt names.
---@class rat.Mention
---@field word string with the `@`
---@field name string
---@field argument? string

--- Returns the mention of a provider that a word is. Punctuation that ends a sentence does not belong to it.
---@param word string with the `@`
---@return rat.Mention?
function M.mention(word)
  word = word:gsub("[.,;:!?]+$", "")
  local name, argument = word:match("^@(%a[%w_-]*):(.+)$")
  name = name or word:match("^@(%a[%w_-]*)$")
  return name and providers[name] and { word = word, name = name, argument = argument } or nil
end

return M
