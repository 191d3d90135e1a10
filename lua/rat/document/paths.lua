--- Knows which loaded buffers are documents, and of which files, by real path: |bufnr()| takes its argument for a
--- pattern. Changes nothing.

local api = vim.api
local M = {}

---Whether a buffer has a file and its text, not somebody else's.
---@param buf integer
---@return boolean
function M.is_document(buf)
  return api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ""
    and api.nvim_buf_get_name(buf) ~= ""
end

---The real path of a file, of which the last parts need not be there.
---@param name string
---@return string?
local function real_path(name)
  local real, folder = vim.uv.fs_realpath(name), vim.fs.dirname(name)
  if real or folder == name then
    return real
  end
  local above = real_path(folder)
  return above and vim.fs.joinpath(above, vim.fs.basename(name)) or nil
end

---Whether a buffer is the document of this file.
---@param buf integer
---@param path string real path
---@return boolean
function M.shows(buf, path)
  return M.is_document(buf) and real_path(api.nvim_buf_get_name(buf)) == path
end

---The documents by real path, kept for a moment: an agent that touches a thousand files has a thousand questions.
---@type table<string, integer[]>?
local documents
local made = 0
local KEPT_MS = 500
local followed = false

---@return table<string, integer[]>
local function look()
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

local function follow()
  followed = true
  api.nvim_create_autocmd(
    { "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost", "BufUnload" },
    {
      group = api.nvim_create_augroup("rat_places", {}),
      desc = "rat: documents come and go",
      callback = function()
        documents = nil
      end,
    }
  )
end

---The document of a file.
---@param path string real path
---@return integer? buf
function M.find(path)
  if not followed then
    follow()
  end
  local now = vim.uv.hrtime() / 1e6
  if not documents or now - made > KEPT_MS then
    documents, made = look(), now
  end
  for _, buf in ipairs(documents[path] or {}) do
    if api.nvim_buf_is_valid(buf) and M.shows(buf, path) then
      return buf
    end
  end
end

return M
