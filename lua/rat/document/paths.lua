--- Finds documents, the loaded buffers of files, by the file's real path. |bufnr()| cannot be used, since it takes its
--- argument as a pattern. It changes nothing.
local api = vim.api
local M = {}

--- Whether a buffer is a document: loaded, with a name and an empty 'buftype'.
---@param buf integer
---@return boolean
function M.is_document(buf)
  return api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ""
    and api.nvim_buf_get_name(buf) ~= ""
end

--- Resolves a path whose last parts need not exist.
---@param name string
---@return string?
local function real_path(name)
  local real, folder = vim.uv.fs_realpath(name), vim.fs.dirname(name)
  if real or folder == name then
    return real
  end
  local parent = real_path(folder)
  return parent and vim.fs.joinpath(parent, vim.fs.basename(name)) or nil
end

--- Whether a buffer is the document of this file.
---@param buf integer
---@param path string real path
---@return boolean
function M.shows(buf, path)
  return M.is_document(buf) and real_path(api.nvim_buf_get_name(buf)) == path
end

--- Documents by real path. Cached, since an agent that touches a thousand files causes a thousand lookups.
---@type table<string, integer[]>?
local documents
local listed_at = 0 ---@type number
local CACHE_MS = 500
local is_watching = false

---@return table<string, integer[]>
local function list_documents()
  local all = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local real = M.is_document(buf) and real_path(api.nvim_buf_get_name(buf))
    if real then
      all[real] = all[real] or {}
      table.insert(all[real], buf)
    end
  end
  return all
end

--- Drops the cache whenever the buffers or their names change.
local function watch()
  is_watching = true
  api.nvim_create_autocmd(
    { "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost", "BufUnload" },
    {
      group = api.nvim_create_augroup("rat_paths", {}),
      desc = "rat: keep track of open files",
      callback = function()
        documents = nil
      end,
    }
  )
end

--- Returns the document of a file.
---@param path string real path
---@return integer? buf
function M.find(path)
  if not is_watching then
    watch()
  end
  local now = vim.uv.hrtime() / 1e6
  if not documents or now - listed_at > CACHE_MS then
    documents, listed_at = list_documents(), now
  end
  for _, buf in ipairs(documents[path] or {}) do
    if api.nvim_buf_is_valid(buf) and M.shows(buf, path) then
      return buf
    end
  end
end

return M
