--- The history of prompts sent in a folder, including those sent before Neovim was started: steps back and forth through
--- it. It changes no buffer.
local private_file = require("rat.util.private_file")

local M = {}

local MAX_PROMPTS = 200

--- Loaded histories by folder, the oldest prompt first.
---@type table<string, string[]>
local prompts = {}

---@class rat.Walk
---@field list string[] the history when the walk started
---@field at integer index of the prompt that is shown; the draft is one past the end
---@field edited table<integer, string[]> texts that the user has left behind, by index; the draft is one of them

--- Walks in progress, by prompt buffer.
---@type table<integer, rat.Walk>
local walks = {}

---@param cwd string
---@return string
local function path_of(cwd)
  return vim.fs.joinpath(private_file.folder("prompts", cwd), "sent.jsonl")
end

---@param list string[]
---@param text string
local function add(list, text)
  if text ~= "" and list[#list] ~= text then
    list[#list + 1] = text
  end
  if #list > MAX_PROMPTS then
    table.remove(list, 1)
  end
end

--- Returns the history of a folder, read from its file on first use.
---@param cwd string
---@return string[]
local function history_of(cwd)
  if prompts[cwd] then
    return prompts[cwd]
  end
  ---@type string[]
  local list = {}
  prompts[cwd] = list
  local count = 0
  for line in (private_file.read(path_of(cwd)) or ""):gmatch("[^\n]+") do
    -- The last line may be incomplete.
    local ok, text = pcall(vim.json.decode, line)
    if ok and type(text) == "string" then
      add(list, text)
    end
    count = count + 1
  end
  if count > 2 * MAX_PROMPTS then
    private_file.replace(
      path_of(cwd),
      table.concat(vim.tbl_map(vim.json.encode, list), "\n") .. "\n"
    )
  end
  return list
end

--- Adds a prompt to the history of a folder.
---@param cwd string
---@param text string
function M.push(cwd, text)
  local list = history_of(cwd)
  if text == "" or list[#list] == text then
    return
  end
  add(list, text)
  private_file.append(path_of(cwd), vim.json.encode(text))
end

--- Ends a walk. The next one starts with the text that is in the buffer then.
---@param buf integer
function M.reset(buf)
  walks[buf] = nil
end

--- Takes one step through the history of a folder.
---@param buf integer the prompt buffer
---@param cwd string
---@param step integer -1 is older, 1 newer
---@param lines string[] current text of the buffer, which is shown again when the walk comes back to it
---@return string[]? lines text to show; nil at either end
function M.step(buf, cwd, step, lines)
  local walk = walks[buf]
  if not walk then
    local list = vim.list_slice(history_of(cwd))
    walk = { list = list, at = #list + 1, edited = {} }
  end
  local list = walk.list
  local at = walk.at + step --[[@as integer]]
  if at < 1 or at > #list + 1 then
    return nil
  end
  walk.edited[walk.at] = lines
  walk.at = at
  walks[buf] = walk
  return walk.edited[at] or vim.split(list[at] or "", "\n", { plain = true })
end

--- Starts a walk at a text that is shown to the user, as if it were the newest prompt. Their draft is one step further.
---@param buf integer the prompt buffer
---@param cwd string
---@param text string
---@param lines string[] the draft
function M.start_at(buf, cwd, text, lines)
  local list = vim.list_slice(history_of(cwd))
  list[#list + 1] = text
  walks[buf] = { list = list, at = #list, edited = { [#list + 1] = lines } }
end

--- Returns the draft that a walk started with, if another prompt is shown.
---@param buf integer the prompt buffer
---@return string[]? lines
function M.draft(buf)
  local walk = walks[buf]
  return walk and walk.at <= #walk.list and walk.edited[#walk.list + 1] or nil
end

--- Returns the texts that the user has written and not sent: the text of the buffer, the draft that a walk started with,
--- and earlier prompts that they have edited during the walk.
---@param buf integer the prompt buffer
---@param lines string[] current text of the buffer
---@return string[] texts the draft last
function M.unsent(buf, lines)
  local walk, text = walks[buf], table.concat(lines, "\n")
  local texts = {}
  for index = 1, walk and #walk.list + 1 or 0 do
    local edited = index ~= walk.at and walk.edited[index]
    local other = edited and table.concat(edited, "\n") or ""
    if vim.trim(other) ~= "" and other ~= walk.list[index] then
      texts[#texts + 1] = other
    end
  end
  -- An earlier prompt that is shown unchanged is in the history already.
  if vim.trim(text) ~= "" and not (walk and text == walk.list[walk.at]) then
    table.insert(texts, math.max(1, #texts), text)
  end
  return texts
end

return M
