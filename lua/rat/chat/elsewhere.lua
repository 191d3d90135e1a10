--- Knows which chats are of another project than the one the user is in, such as after |:cd|.
local agents = require("rat.config.agents")
local worktrees = require("rat.config.worktrees")

local M = {}

--- The real paths of the projects of chats, by their folders.
---@type table<string, string>
local projects = {}

---@param chat rat.Chat
---@return string
local function project_of(chat)
  local known = projects[chat.cwd]
  if not known then
    local folder = worktrees.project(chat.cwd)
    known = vim.uv.fs_realpath(folder) or folder
    projects[chat.cwd] = known
  end
  return known
end

---@return string
local function here()
  local cwd = vim.fn.getcwd()
  return vim.uv.fs_realpath(cwd) or cwd
end

---@param path string
---@param folder string
---@return boolean
local function is_in(path, folder)
  return vim.startswith(path .. "/", (folder:gsub("/*$", "/")))
end

--- Returns the name of a chat's project if the user is in another one: neither folder is in the other, and the agent is not
--- set up for a folder of its own.
---@param chat rat.Chat
---@return string?
function M.name(chat)
  local project, cwd = project_of(chat), here()
  if is_in(cwd, project) or is_in(project, cwd) or agents.has_own_folder(chat.agent) then
    return nil
  end
  return vim.fs.basename(worktrees.project(chat.cwd))
end

--- Records that the user knows of a chat's project where they are now: they have asked for the chat here, or have confirmed it.
---@param chat rat.Chat
function M.allow(chat)
  chat.known_from = chat.known_from or {}
  chat.known_from[here()] = true
end

--- Returns the name of a chat's project if a prompt from here may be meant for another one.
---@param chat rat.Chat
---@return string?
function M.to_confirm(chat)
  local is_known = chat.known_from and chat.known_from[here()]
  local file = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(0))
  if is_known or file and is_in(file, project_of(chat)) then
    return nil
  end
  return M.name(chat)
end

return M
