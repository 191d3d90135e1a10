--- What is open in the editor, as context: the buffers of the project, the current buffer, the last selection.
local attachment = require("rat.context.attachment")
local document_paths = require("rat.document.paths")
local region = require("rat.context.region")
local text_of = require("rat.util.text")

local M = {}

--- A larger buffer is attached by its path.
local MAX_BUFFER_BYTES = 1024 * 1024

---@param buf integer
---@return integer
local function bytes_of(buf)
  return math.max(0, vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)))
end

--- Returns the path of a file relative to a folder.
---@param path string absolute
---@param cwd string
---@return string? # nil if the file is not in the folder
function M.relative(path, cwd)
  local folder = cwd:gsub("/*$", "/")
  if vim.startswith(path, folder) then
    return path:sub(#folder + 1)
  end
  local real, real_folder = vim.uv.fs_realpath(path), vim.uv.fs_realpath(cwd)
  if real and real_folder and vim.startswith(real, real_folder .. "/") then
    return real:sub(#real_folder + 2)
  end
end

--- Returns the listed files of a folder that are loaded.
---@param cwd string
---@return integer[]
function M.documents(cwd)
  return vim.tbl_filter(function(buf)
    return vim.bo[buf].buflisted
      and document_paths.is_document(buf)
      and M.relative(vim.api.nvim_buf_get_name(buf), cwd) ~= nil
  end, vim.api.nvim_list_bufs())
end

---@type rat.ContextProvider
M.buffers = {
  name = "buffers",
  about = "the open files of the project",
  describe = function(request)
    local bufs, bytes = M.documents(request.cwd), 0
    for _, buf in ipairs(bufs) do
      bytes = bytes + bytes_of(buf)
    end
    local files = #bufs == 1 and "1 file" or ("%d files"):format(#bufs)
    return ("%s, %s"):format(files, text_of.size(bytes))
  end,
  resolve = function(request)
    local found = {}
    for _, buf in ipairs(M.documents(request.cwd)) do
      local is_large = bytes_of(buf) > MAX_BUFFER_BYTES
      found[#found + 1] = is_large and vim.api.nvim_buf_get_name(buf) or { buf = buf }
    end
    if #found == 0 then
      return nil, "no file of the project is open"
    end
    return found
  end,
}

--- Whether a buffer belongs to the user and has a text of its own.
---@param buf integer?
---@return boolean
local function is_users(buf)
  return buf ~= nil and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
end

---@type rat.ContextProvider
M.buffer = {
  name = "buffer",
  about = "the file you were in last",
  describe = function(request)
    local buf = request.buf
    if buf and is_users(buf) then
      local name = vim.fs.basename(vim.api.nvim_buf_get_name(buf))
      return ("%s, %s"):format(name ~= "" and name or "[No Name]", text_of.size(bytes_of(buf)))
    end
  end,
  resolve = function(request)
    local buf = request.buf
    if not (buf and is_users(buf)) then
      return nil, "no file is open"
    end
    local name = vim.api.nvim_buf_get_name(buf)
    if attachment.media(name) or bytes_of(buf) > MAX_BUFFER_BYTES then
      return name
    end
    return { buf = buf }
  end,
}

---@param request rat.ContextRequest
---@return rat.Attachment?
local function last_selection(request)
  return request.win and is_users(request.buf) and region.last_selection(request.win) or nil
end

---@type rat.ContextProvider
M.selection = {
  name = "selection",
  about = "what you selected last",
  describe = function(request)
    local found = last_selection(request)
    return found and ("lines %d-%d"):format(found.first, found.last)
  end,
  resolve = function(request)
    local found = last_selection(request)
    if not found then
      return nil, "nothing has been selected in the file you were in last"
    end
    return found
  end,
}

return M
