--- The prompts sent in a folder, also before Neovim was started: walks back and forth through them. Touches no buffer.
local keep = require("rat.keep")

local M = {}

local MOST = 200

---@type table<string, string[]> oldest first, by folder
local prompts = {}

---@class rat.Walk
---@field list string[] the prompts as they were when it began
---@field at integer index of what is shown; one past the end is the draft
---@field written table<integer, string[]> what the user has made of what was shown, the draft among it, by index

---@type table<integer, rat.Walk> by prompt buffer
local walks = {}

---@param cwd string
---@return string
local function path_of(cwd)
  return vim.fs.joinpath(keep.folder("prompts", cwd), "sent.jsonl")
end

---@param list string[]
---@param text string
local function add(list, text)
  if text ~= "" and list[#list] ~= text then
    list[#list + 1] = text
  end
  if #list > MOST then
    table.remove(list, 1)
  end
end

---@param cwd string
---@return string[]
local function known(cwd)
  local list = prompts[cwd]
  if list then
    return list
  end
  list = {}
  prompts[cwd] = list
  local count = 0
  for line in (keep.read(path_of(cwd)) or ""):gmatch("[^\n]+") do
    -- The last line may be torn.
    local ok, text = pcall(vim.json.decode, line)
    if ok and type(text) == "string" then
      add(list, text)
    end
    count = count + 1
  end
  if count > 2 * MOST then
    keep.replace(path_of(cwd), table.concat(vim.tbl_map(vim.json.encode, list), "\n") .. "\n")
  end
  return list
end

---@param cwd string
---@param text string
function M.push(cwd, text)
  local list = known(cwd)
  if text == "" or list[#list] == text then
    return
  end
  add(list, text)
  keep.append(path_of(cwd), vim.json.encode(text))
end

--- Ends a walk: the next one starts from what is in the buffer then.
---@param buf integer
function M.reset(buf)
  walks[buf] = nil
end

--- One step through the prompts of a folder.
---@param buf integer the prompt buffer
---@param cwd string
---@param step integer -1 is older, 1 newer
---@param lines string[] what is in the buffer now; kept, and shown when the walk comes back to it
---@return string[]? lines nil where there is nothing further
function M.step(buf, cwd, step, lines)
  local walk = walks[buf]
  if not walk then
    local list = vim.list_slice(known(cwd))
    walk = { list = list, at = #list + 1, written = {} }
  end
  local list, at = walk.list, walk.at + step
  if at < 1 or at > #list + 1 then
    return nil
  end
  walk.written[walk.at] = lines
  walk.at = at
  walks[buf] = walk
  return walk.written[at] or vim.split(list[at] or "", "\n", { plain = true })
end

--- The draft a walk began with, where something else is shown.
---@param buf integer the prompt buffer
---@return string[]? lines
function M.draft(buf)
  local walk = walks[buf]
  return walk and walk.at <= #walk.list and walk.written[#walk.list + 1] or nil
end

--- What the user has written besides what is shown: the draft a walk began with, and what they made of other prompts.
---@param buf integer the prompt buffer
---@param lines string[] what is in the buffer now
---@return string[] texts the draft last
---@return boolean kept whether what is shown is a prompt as it was sent, which the history has
function M.besides(buf, lines)
  local walk = walks[buf]
  if not walk then
    return {}, false
  end
  local texts = {}
  for index = 1, #walk.list + 1 do
    local written = index ~= walk.at and walk.written[index]
    local text = written and table.concat(written, "\n") or ""
    if vim.trim(text) ~= "" and text ~= walk.list[index] then
      texts[#texts + 1] = text
    end
  end
  return texts, table.concat(lines, "\n") == walk.list[walk.at]
end

return M
