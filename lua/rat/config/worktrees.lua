--- Reads which git worktrees the binary has created for sessions, and what each is of.
local private_file = require("rat.util.private_file")

local M = {}

---@class rat.Worktree
---@field top string
---@field git_dir string
---@field project string the folder it was created for
---@field cwd string the folder in it that stands for that one
---@field agent string
---@field name string

--- The folder that worktrees are in.
---@return string
function M.folder()
  return vim.fs.joinpath(private_file.root(), "worktrees")
end

---@param name string
---@return rat.Worktree?
local function read(name)
  local text = private_file.read(vim.fs.joinpath(M.folder(), name .. ".json"))
  local ok, record = pcall(vim.json.decode, text or "")
  if not ok or type(record) ~= "table" then
    return nil
  end
  for _, field in ipairs({ "top", "git_dir", "project", "cwd", "agent" }) do
    if type(record[field]) ~= "string" then
      return nil
    end
  end
  record.name = name
  return record --[[@as rat.Worktree]]
end

--- The worktree that a folder is in; nil if it is in none of ours.
---@param cwd string absolute
---@return rat.Worktree?
function M.of(cwd)
  local below = M.folder() .. "/"
  if not vim.startswith(cwd, below) then
    return nil
  end
  local name = cwd:sub(#below + 1):match("^[^/]+")
  return name and read(name)
end

--- The folder whose settings, rules and prompts hold in a folder: that which a worktree was created for, else itself.
---@param cwd string absolute
---@return string
function M.project(cwd)
  local worktree = M.of(cwd)
  return worktree and worktree.project or cwd
end

--- A folder as it is shown: a worktree by its name.
---@param cwd string absolute
---@return string
function M.shown(cwd)
  local worktree = M.of(cwd)
  return worktree and "worktree " .. worktree.name or vim.fn.fnamemodify(cwd, ":~")
end

--- The worktrees that were created for a folder, or for the one that the folder's own worktree was created for.
---@param cwd string absolute
---@return rat.Worktree[] by name
function M.list(cwd)
  local project = M.project(cwd)
  local found = {}
  for file in vim.fs.dir(M.folder()) do
    local name = file:match("^(.*)%.json$")
    local worktree = name and read(name)
    if worktree and worktree.project == project and vim.uv.fs_stat(worktree.cwd) then
      found[#found + 1] = worktree
    end
  end
  table.sort(found, function(a, b)
    return a.name < b.name
  end)
  return found
end

return M
