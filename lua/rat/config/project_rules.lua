--- The rules of a project, in a file of its folder. They hold only while the user trusts the file as it is now (|:trust|): an
--- agent may have written it.
local notify = require("rat.util.notify")
local text_file = require("rat.util.text_file")

local M = {}

--- Relative to the folder of a session.
M.FILE = ".rat/rules"

--- Larger files are not read.
local MAX_BYTES = 256 * 1024

local UNTRUSTED = "You have not trusted the current %s, so its rules do not hold."
  .. " Read it, use :trust in its buffer, then :RatStart."

--- What the user was told about files, by path: the hash of a text, or a problem.
---@type table<string, string>
local told = {}

--- Returns what Neovim knows of a file: a hash if it is trusted with that content, "!" if it is denied. |vim.secure.read()| cannot
--- be used, since it asks about other files in a dialog that blocks Neovim.
---@param path string real
---@return string?
local function trusted_hash(path)
  local database = io.open(vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "trust"), "r")
  if not database then
    return nil
  end
  local found
  for line in database:lines() do
    ---@cast line string
    local hash, file = line:match("^(%S+) (.+)$")
    if file == path then
      found = hash
    end
  end
  database:close()
  return found
end

---@param path string
---@param state string what the message is about; it is shown once for each
---@param message string
local function tell(path, state, message)
  if told[path] ~= state then
    told[path] = state
    notify.warn(message)
  end
end

--- Returns the lines of the rules of a folder; none if there are none or they do not hold, which the user is told once.
---@param cwd string absolute
---@return string[]
function M.lines(cwd)
  local path = vim.fs.joinpath(cwd, M.FILE)
  local text, problem = text_file.read(path, MAX_BYTES)
  -- |sha256()| takes no text with NUL.
  if text and text:find("\0", 1, true) then
    problem = "is not a text file"
  end
  if problem then
    tell(path, problem, ("%s %s. Its rules do not hold."):format(M.FILE, problem))
    return {}
  elseif not text then
    return {}
  end
  local hash = vim.fn.sha256(text)
  local trusted = trusted_hash(vim.uv.fs_realpath(path) or path)
  if trusted == hash then
    return vim.split(text:gsub("\r\n", "\n"), "\n", { plain = true })
  elseif trusted ~= "!" then
    tell(path, hash, UNTRUSTED:format(M.FILE))
  end
  return {}
end

return M
