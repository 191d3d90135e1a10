--- Offers providers of context for an `@`, and what each of them offers behind its colon.
local notify = require("rat.util.notify")
local one_line = require("rat.util.text").one_line
local provider = require("rat.context")
local resolve = require("rat.context.resolve")

local M = {}

--- How long a provider may take to complete, in milliseconds.
M.limit = 5000
local MAX_ITEMS = 200

---@class rat.Completion
---@field word string
---@field about? string
---@field kind "context"|"file"|"folder"

--- What a provider has answered, for which folder. It is asked again for the next mention.
---@type {key: string, items: rat.ContextItem[]?}?
local asked
--- Called when the provider that is being asked has answered.
---@type fun()?
local waiting

---@param items any
---@return rat.ContextItem[]? # nil if it makes no sense
local function checked(items)
  if type(items) ~= "table" or not vim.islist(items) then
    return nil
  end
  local found = {}
  for _, item in ipairs(items) do
    item = type(item) == "table" and item or { word = item }
    if type(item.word) ~= "string" then
      return nil
    end
    local about = type(item.about) == "string" and one_line(item.about) or nil
    -- A mention ends at a blank, and a name that is shown as another one is not what the user means.
    if not item.word:find("%s") and one_line(item.word) == item.word then
      found[#found + 1] = { word = item.word, about = about }
    end
  end
  return found
end

--- Asks a provider what it offers, once for each mention.
---@param own rat.ContextProvider
---@param cwd string
---@param later fun() called when it has answered, unless that is at once
---@return rat.ContextItem[]? # nil while it has not answered
local function items_of(own, cwd, later)
  local key = own.name .. "\0" .. cwd
  waiting = later
  if not (asked and asked.key == key) then
    local this = { key = key }
    asked, waiting = this, nil
    local complete = own.complete --[[@as rat.ContextFunction]]
    resolve.ask(complete, resolve.request(cwd), M.limit, function(answer, problem)
      this.items = checked(answer or {})
      if problem or not this.items then
        local text = "The completion of @%s %s"
        notify.warn(text:format(own.name, problem or "answered with what makes no sense"))
        this.items = {}
      end
      if asked == this and waiting then
        waiting()
      end
    end)
    waiting = later
  end
  return asked.items
end

--- Says what a provider would attach now, else what it is.
---@param own rat.ContextProvider
---@param cwd string
---@return string?
local function description(own, cwd)
  local ok, now = pcall(own.describe or function() end, resolve.request(cwd))
  local about = ok and type(now) == "string" and now or own.about
  return about and one_line(about)
end

--- Returns `@name` for each provider that a word may be the beginning of.
---@param lead string
---@return string[]
function M.names(lead)
  local names = {}
  for _, one in ipairs(provider.all()) do
    local name = "@" .. one.name
    names[#names + 1] = lead ~= "" and vim.startswith(name, lead) and name or nil
  end
  return names
end

--- Returns the providers and what they offer that match a word.
---@param lead string with the `@`
---@param cwd string folder of the session
---@param later fun() called when there is more to offer
---@return rat.Completion[] items the best first
---@return boolean is_incomplete whether `later` will be called
function M.items(lead, cwd, later)
  local name, argument = lead:match("^@(%a[%w_-]*):(.*)$")
  local own = name and provider.get(name)
  if own and own.complete then
    local items = items_of(own, cwd, later)
    local matching = items or {}
    if argument and argument ~= "" then
      matching = vim.fn.matchfuzzy(matching, argument, { key = "word" })
    end
    local found = vim.tbl_map(function(item)
      return { word = ("@%s:%s"):format(name, item.word), about = item.about, kind = "context" }
    end, vim.list_slice(matching, 1, MAX_ITEMS))
    return found, items == nil
  end
  asked = nil
  local found = {}
  for _, one in ipairs(provider.all()) do
    if vim.startswith("@" .. one.name, lead) then
      found[#found + 1] =
        { word = "@" .. one.name, about = description(one, cwd), kind = "context" }
    end
  end
  return found, false
end

return M
