--- Reads small files that others may have written: regular ones, whole or not at all.
local M = {}

--- Returns the text of a file; nothing if there is none.
---@param path string absolute
---@param max_bytes integer larger files are not read
---@return string? text
---@return string? problem the end of a sentence that begins with the name of the file
function M.read(path, max_bytes)
  local stat, problem, code = vim.uv.fs_stat(path)
  if code == "ENOENT" or code == "ENOTDIR" then
    return nil
  elseif not stat then
    return nil, "cannot be read: " .. problem
  elseif stat.type ~= "file" then
    return nil, "is not a regular file"
  elseif stat.size > max_bytes then
    return nil, "is too large"
  end
  local file, unreadable = io.open(path, "rb")
  if not file then
    return nil, "cannot be read: " .. unreadable
  end
  -- It may have grown. At the end of a file, read() returns nil.
  local text = file:read(max_bytes) or ""
  file:close()
  return text
end

return M
