--- Finds the files of a folder that match an `@file`. The binary lists and compares them; the last answer is kept here, and
--- narrowed down until the next one arrives.
local rpc = require("rat.rpc")
local text_of = require("rat.util.text")

local M = {}

--- An answer older than this is asked for again, in milliseconds of |uv.now()|, and so is one that does not arrive.
local FRESH_MS, LOST_MS = 5000, 10000

---@class rat.Files
---@field typed? string what the answer is for
---@field words string[] `@path` of each file and folder, the best first
---@field at integer when it arrived
---@field asked? string what the binary is being asked for
---@field asked_at integer
---@field wanted? string what it has to be asked for next
---@field later? fun() called when there is an answer to what is wanted

---@type table<string, rat.Files> by folder
local folders = {}

---@param folder string
---@return rat.Files
local function state_of(folder)
  folders[folder] = folders[folder] or { words = {}, at = 0, asked_at = 0 }
  return folders[folder]
end

--- Asks the binary, after it has answered what it was asked before.
---@param folder string
---@param typed string
---@return boolean asked or to be asked next
local function ask(folder, typed)
  local state = state_of(folder)
  state.wanted = typed
  if state.asked and vim.uv.now() - state.asked_at < LOST_MS then
    return true
  elseif rpc.obstacle() or not rpc.request("files", { folder = folder, typed = typed }) then
    return false
  end
  state.asked, state.asked_at, state.wanted = typed, vim.uv.now(), nil
  return true
end

--- Called by the binary with the files that match.
---@param folder string
---@param typed string
---@param paths string[]
function M.found(folder, typed, paths)
  local state = state_of(folder)
  state.asked = state.asked ~= typed and state.asked or nil
  state.typed, state.at, state.words = typed, vim.uv.now(), {}
  for _, path in ipairs(paths) do
    -- A name that is shown as another one is not what the user means.
    if text_of.one_line(path) == path then
      table.insert(state.words, "@" .. path)
    end
  end
  local wanted, later = state.wanted, state.later
  if wanted and wanted ~= typed then
    ask(folder, wanted)
  elseif later then
    state.wanted = nil
    later()
  end
end

---@param state rat.Files
---@param typed string
---@return boolean
local function is_answered(state, typed)
  return state.typed == typed and vim.uv.now() - state.at < FRESH_MS
end

--- Has the files of a folder listed, before the user types the name of one.
---@param folder string
function M.refresh(folder)
  if not is_answered(state_of(folder), "") then
    ask(folder, "")
  end
end

--- Returns `@path` for each file that matches.
---@param lead string with the `@`
---@param folder string
---@param later fun() called when there is more to offer
---@return string[] words the best first
---@return boolean is_incomplete whether `later` will be called
function M.words(lead, folder, later)
  local state, typed = state_of(folder), lead:sub(2)
  state.later = later
  if is_answered(state, typed) then
    return state.words, false
  end
  local is_asked = ask(folder, typed)
  if state.typed and vim.startswith(typed, state.typed) then
    local words = typed == state.typed and state.words or vim.fn.matchfuzzy(state.words, typed)
    return words, is_asked
  end
  return {}, is_asked
end

--- Returns `@path` for the files and folders whose path begins with what is typed, one folder at a time like |:edit|: for the
--- command line, which cannot wait.
---@param lead string
---@return string[]
function M.paths(lead)
  if not vim.startswith(lead, "@") then
    return {}
  end
  local pattern = vim.fn.escape(lead:sub(2), "[]*?{}`$\\ ")
  local words = {}
  for _, path in ipairs(vim.fn.getcompletion(pattern, "file")) do
    -- A name that is shown as another one is not what the user means.
    if text_of.one_line(path) == path then
      words[#words + 1] = "@" .. path
    end
  end
  return words
end

rpc.on_lost(function()
  folders = {}
end)

return M
