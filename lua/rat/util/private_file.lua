--- Reads and writes files below Neovim's state folder that only the user can read: appends a line, or replaces a whole
--- file. Writes are asynchronous unless the caller cannot wait, as when Neovim exits. It does not know what the files hold.
local M = {}

local uv = vim.uv

---@type integer, integer
local FILE_MODE, FOLDER_MODE = assert(tonumber("600", 8)), assert(tonumber("700", 8))

--- Returns the folder of all state, including that of the binary.
---@return string
function M.root()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "rat")
end

--- Returns the folder for one kind of a project's files. It is created by the first write.
---@param kind string
---@param cwd string
---@return string
function M.folder(kind, cwd)
  local root = vim.fs.joinpath(M.root(), kind)
  return vim.fs.joinpath(root, (vim.fn.sha256(cwd):sub(1, 32)))
end

---@param path string
---@return string?
function M.read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

---@param path string
---@param flags string of |uv.fs_open()|
---@param text string
---@param done? fun(written: boolean) without it the write is synchronous
---@return boolean? written only of a synchronous write
local function write(path, flags, text, done)
  -- Neovim's annotation says string, but the function takes a number.
  ---@diagnostic disable-next-line: param-type-mismatch
  pcall(vim.fn.mkdir, vim.fs.dirname(path), "p", FOLDER_MODE)
  if not done then
    local file = uv.fs_open(path, flags, FILE_MODE)
    local written = file and uv.fs_write(file, text, -1) == #text
    if file then
      uv.fs_close(file)
    end
    return written or false
  end
  uv.fs_open(path, flags, FILE_MODE, function(_, file)
    if not file then
      return done(false)
    end
    uv.fs_write(file, text, -1, function(_, count)
      uv.fs_close(file, function()
        done(count == #text)
      end)
    end)
  end)
end

--- Appends a line. Short lines of several processes do not interleave.
---@param path string
---@param text string
---@param synchronous? boolean
function M.append(path, text, synchronous)
  write(path, "a", text .. "\n", not synchronous and function() end or nil)
end

--- Replaces a file atomically; if that fails, the old file stays.
---@param path string
---@param text string
---@param done? fun() without it the write is synchronous
function M.replace(path, text, done)
  local new = path .. ".new"
  if not done then
    return write(new, "w", text) and uv.fs_rename(new, path)
  end
  write(new, "w", text, function(written)
    if not written then
      return done()
    end
    uv.fs_rename(new, path, done)
  end)
end

return M
