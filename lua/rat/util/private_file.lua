--- Files below Neovim's state folder that only the user can read: lines added to one, or one replaced whole. Nobody waits
--- for the disk but the end of Neovim. What the files mean is not known here.
local M = {}

local uv = vim.uv

--- Read and written by the user alone.
local FILE_MODE, FOLDER_MODE = tonumber("600", 8), tonumber("700", 8)

--- The folder for a project's files of a kind; made when something is written.
---@param kind string
---@param cwd string
---@return string
function M.folder(kind, cwd)
  local root = vim.fs.joinpath(require("rat.rpc").state_folder(), kind)
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
---@param flags string
---@param text string
---@param done? fun(written: boolean) without it, it is written at once
---@return boolean? written
local function put(path, flags, text, done)
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

--- Adds a line. Small ones of several programs do not mix.
---@param path string
---@param text string
---@param at_once? boolean
function M.append(path, text, at_once)
  put(path, "a", text .. "\n", not at_once and function() end or nil)
end

--- Puts a text in the place of a file, or leaves that as it is.
---@param path string
---@param text string
---@param done? fun() without it, it is written at once
function M.replace(path, text, done)
  local new = path .. ".new"
  if not done then
    return put(new, "w", text) and uv.fs_rename(new, path)
  end
  put(new, "w", text, function(written)
    if not written then
      return done()
    end
    uv.fs_rename(new, path, done)
  end)
end

return M
