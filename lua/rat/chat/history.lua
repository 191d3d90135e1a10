--- The history of prompts sent in a folder, including those sent before Neovim was started: steps back and forth through
--- it. It changes no buffer.
local private_file = require("rat.util.private_file")

local M = {}

local MAX_PROMPTS = 200

--- Loaded histories by folder, the oldest prompt first.
---@type table<string, string[]>
local prompts = {}

---@class rat.Walk
---@field list string[] the history when the walk started, then empty texts for prompts that are set aside
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

---@param lines string[]
---@return boolean
local function is_blank(lines)
  return vim.trim(table.concat(lines, "\n")) == ""
end

---@param cwd string
---@return rat.Walk
local function at_draft(cwd)
  local list = vim.list_slice(history_of(cwd))
  return { list = list, at = #list + 1, edited = {} }
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
  local walk = walks[buf] or at_draft(cwd)
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

--- Sets prompts aside that were not sent, between the history and the draft.
---@param buf integer the prompt buffer
---@param cwd string
---@param texts string[]
---@param lines string[] current text of the buffer
---@param shown? integer which of them is to be shown, in place of the current text
function M.set_aside(buf, cwd, texts, lines, shown)
  local walk = walks[buf] or at_draft(cwd)
  local list, edited = walk.list, walk.edited
  edited[walk.at] = lines
  local before, was_draft = #list, walk.at > #list
  local draft = edited[before + 1]
  for i, text in ipairs(texts) do
    list[before + i], edited[before + i] = "", vim.split(text, "\n", { plain = true })
  end
  edited[#list + 1] = draft
  walk.at = shown and before + shown or was_draft and #list + 1 or walk.at
  walks[buf] = walk
end

--- Whether the draft is shown, and no other prompt.
---@param buf integer the prompt buffer
---@return boolean
function M.is_draft(buf)
  local walk = walks[buf]
  return not walk or walk.at > #walk.list
end

--- Goes to the draft, whatever is shown.
---@param buf integer the prompt buffer
function M.go_to_draft(buf)
  local walk = walks[buf]
  if walk then
    walk.at = #walk.list + 1
  end
end

--- Ends a walk because the text that is shown was sent. Prompts that were set aside stay there.
---@param buf integer the prompt buffer
---@param cwd string
---@return string[] lines the draft, which is to be shown now
function M.sent(buf, cwd)
  local walk = walks[buf]
  walks[buf] = nil
  if not walk then
    return {}
  end
  local texts = {}
  for index, text in ipairs(walk.list) do
    local is_aside = text == "" and index ~= walk.at and not is_blank(walk.edited[index])
    texts[#texts + 1] = is_aside and table.concat(walk.edited[index], "\n") or nil
  end
  local draft = walk.at <= #walk.list and walk.edited[#walk.list + 1] or {}
  if #texts > 0 then
    M.set_aside(buf, cwd, texts, draft)
  end
  return draft
end

---@class rat.Unsent
---@field draft string the text that belongs to no prompt of the history; empty if there is none
---@field aside string[] the others: prompts that were set aside, and earlier prompts that the user has edited
---@field shown? integer which of these is in the buffer; nil: the draft, or an earlier prompt as it was sent

--- Returns the texts that the user has written and not sent.
---@param buf integer the prompt buffer
---@param lines string[] current text of the buffer
---@return rat.Unsent
function M.unsent(buf, lines)
  local walk = walks[buf] or { list = {}, at = 1, edited = {} }
  local function text_at(index)
    local found = index == walk.at and lines or walk.edited[index] or {}
    return is_blank(found) and "" or table.concat(found, "\n")
  end
  local unsent = { draft = text_at(#walk.list + 1), aside = {} }
  for index, sent in ipairs(walk.list) do
    local text = text_at(index)
    if text ~= "" and text ~= sent then
      table.insert(unsent.aside, text)
      unsent.shown = index == walk.at and #unsent.aside or unsent.shown
    end
  end
  return unsent
end

return M
