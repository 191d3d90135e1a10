--- The prompts sent in this Neovim, by project: walks back and forth through them. Touches no buffer.
local M = {}

local MOST = 200

---@type table<string, string[]> oldest first, by folder
local prompts = {}

---@class rat.Walk
---@field at integer index of what is shown; one past the end is the draft
---@field draft string[]

---@type table<integer, rat.Walk> by prompt buffer
local walks = {}

---@param cwd string
---@param text string
function M.push(cwd, text)
  local list = prompts[cwd] or {}
  prompts[cwd] = list
  if text == "" or list[#list] == text then
    return
  end
  list[#list + 1] = text
  if #list > MOST then
    table.remove(list, 1)
  end
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
---@param lines string[] what is in the buffer now; kept as the draft at the first step
---@return string[]? lines nil where there is nothing further
function M.step(buf, cwd, step, lines)
  local list = prompts[cwd] or {}
  local walk = walks[buf] or { at = #list + 1, draft = lines }
  local at = walk.at + step
  if at < 1 or at > #list + 1 then
    return nil
  end
  walk.at = at
  walks[buf] = walk
  return at > #list and walk.draft or vim.split(list[at], "\n", { plain = true })
end

return M
