--- Lists the files of a folder in the background, and finds those that match an `@file`. It never blocks.
local text_of = require("rat.util.text")

local M = {}

local MAX_FILES, MAX_MATCHES = 50000, 200
--- A list older than this is made again, in milliseconds.
local FRESH_MS = 5000

---@class rat.Files
---@field list string[] files and folders, relative to the folder
---@field at integer when the list was made, in milliseconds of |uv.now()|
---@field busy boolean whether a list is being made
---@field waiting? fun() called when it has been made

---@type table<string, rat.Files> by folder
local files = {}

--- Returns the files and the folders they are in.
---@param list string[]
---@return string[]
local function with_folders(list)
  local all, seen = vim.list_slice(list), {}
  for _, path in ipairs(list) do
    local folder = path:match("^.*/")
    while folder and not seen[folder] do
      seen[folder] = true
      all[#all + 1] = folder
      folder = folder:sub(1, -2):match("^.*/")
    end
  end
  return all
end

---@param found rat.Files
---@param list string[]
local function listed(found, list)
  found.list, found.busy, found.at = with_folders(list), false, vim.uv.now()
  local waiting = found.waiting
  found.waiting = nil
  if waiting then
    waiting()
  end
end

--- Lists the files of a folder that is not in a Git repository, one folder at a time.
---@param folder string
---@param callback fun(list: string[])
local function walk(folder, callback)
  local list, folders = {}, { "" }
  local function step()
    local below = table.remove(folders, 1)
    if not below or #list >= MAX_FILES then
      return vim.schedule(function()
        callback(list)
      end)
    end
    vim.uv.fs_scandir(folder .. "/" .. below, function(_, entries)
      while entries do
        local name, kind = vim.uv.fs_scandir_next(entries)
        if not name then
          break
        elseif kind == "directory" and not name:match("^%.") and name ~= "node_modules" then
          folders[#folders + 1] = below .. name .. "/"
        elseif kind == "file" then
          list[#list + 1] = below .. name
        end
      end
      step()
    end)
  end
  step()
end

---@param text string names, each followed by NUL
---@return string[]
local function names(text)
  local list = {}
  for name in text:gmatch("[^%z]+") do
    list[#list + 1] = name
    if #list >= MAX_FILES then
      break
    end
  end
  return list
end

--- Starts to list the files of a folder, unless the list is less than FRESH_MS old.
---@param folder string
function M.refresh(folder)
  local found = files[folder] or { list = {}, at = -FRESH_MS, busy = false }
  files[folder] = found
  if found.busy or vim.uv.now() - found.at < FRESH_MS then
    return
  end
  found.busy = true
  local function fallback()
    walk(folder, function(list)
      listed(found, list)
    end)
  end
  local command = { "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard" }
  local options = { cwd = folder, env = { GIT_OPTIONAL_LOCKS = "0" } }
  local started = pcall(vim.system, command, options, function(result)
    vim.schedule(function()
      if result.code ~= 0 then
        return fallback()
      end
      listed(found, names(result.stdout or ""))
    end)
  end)
  if not started then
    fallback()
  end
end

--- Returns `@path` for each file that matches.
---@param lead string with the `@`
---@param folder string
---@param later? fun() called when there is more to offer
---@return string[] words the best first, at most MAX_MATCHES
---@return boolean is_incomplete whether `later` will be called
function M.words(lead, folder, later)
  if not vim.startswith(lead, "@") then
    return {}, false
  end
  M.refresh(folder)
  local found = files[folder]
  local is_incomplete = found.busy and #found.list == 0
  found.waiting = is_incomplete and later or nil
  local wanted = lead:sub(2)
  local list = wanted == "" and found.list or vim.fn.matchfuzzy(found.list, wanted)
  local words = {}
  for _, path in ipairs(vim.list_slice(list, 1, MAX_MATCHES)) do
    -- A name that is shown as another one is not what the user means.
    if text_of.one_line(path) == path then
      words[#words + 1] = "@" .. path
    end
  end
  return words, is_incomplete
end

return M
