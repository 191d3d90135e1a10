--- Tells language servers of files that agents have changed on disk while nobody has them open. Neovim itself watches no files for
--- them on most systems, so they would go on with the old text.
local paths = require("rat.document.paths")

local M = {}

local METHOD = "workspace/didChangeWatchedFiles"

--- LSP `FileChangeType`.
local CREATED, CHANGED, DELETED = 1, 2, 3

--- What is to be told: the kind of change of each path.
---@type table<string, integer>
local waiting = {}

---@param client vim.lsp.Client
---@return string[]
local function roots(client)
  local folders = vim.tbl_map(function(folder)
    return vim.uri_to_fname(folder.uri)
  end, client.workspace_folders or {})
  return #folders > 0 and folders or { client.root_dir }
end

---@param client vim.lsp.Client
---@param changes table[] LSP `FileEvent[]`
local function notify(client, changes)
  local params = { changes = changes }
  if vim.fn.has("nvim-0.11") == 1 then
    pcall(client.notify, client, METHOD, params)
  else
    ---@diagnostic disable-next-line: param-type-mismatch, missing-parameter
    pcall(client.notify, METHOD, params)
  end
end

local function tell()
  local told = waiting
  waiting = {}
  for _, client in ipairs(vim.lsp.get_clients()) do
    local changes = {}
    for _, root in ipairs(roots(client)) do
      local real = vim.uv.fs_realpath(root)
      for path, kind in pairs(real and told or {}) do
        if vim.startswith(path, real .. "/") then
          -- Named as the server names the folder.
          local name = vim.fs.joinpath(root, path:sub(#real + 2))
          changes[#changes + 1] = { uri = vim.uri_from_fname(name), type = kind }
        end
      end
    end
    if #changes > 0 then
      notify(client, changes)
    end
  end
end

--- Paths that servers were told are gone.
---@type table<string, boolean>
local gone = {}

--- An agent has changed a file, or the user has put it back.
---@param path string real path
---@param is_new? boolean whether the file did not exist before
function M.changed(path, is_new)
  -- Without any server there is no need to load what Neovim has for them.
  if not package.loaded["vim.lsp"] then
    return
  end
  local exists = vim.uv.fs_stat(path) ~= nil
  is_new = is_new or gone[path] or false
  gone[path] = not exists or nil
  -- Servers are told of the text of an open file.
  if exists and not is_new and paths.find(path) then
    return
  end
  if next(waiting) == nil then
    vim.schedule(tell)
  end
  waiting[path] = not exists and DELETED or (is_new and CREATED or CHANGED)
end

return M
