--- Reads files of a project that count only while the user trusts them as they are now (|:trust|): an agent may have written
--- them, or made links to what the user trusts elsewhere.
local notify = require("rat.util.notify")
local text_file = require("rat.util.text_file")

local M = {}

---@alias rat.Trust "trusted"|"untrusted"|"denied"

--- Returns what Neovim knows of files: by real path a hash of the content that is trusted, or "!" if it is denied.
--- |vim.secure.read()| cannot be used, since it asks about other files in a dialog that blocks Neovim.
---@return table<string, string>
local function database()
  local known = {}
  local file = io.open(vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "trust"), "r")
  if file then
    for line in file:lines() do
      ---@cast line string
      local hash, path = line:match("^(%S+) (.+)$")
      if hash then
        known[path] = hash
      end
    end
    file:close()
  end
  return known
end

--- What the user was told, by what it is about.
---@type table<string, string>
local told = {}

--- Tells the user something about a file, or several, once for each state that these are in.
---@param about string
---@param state string such as the hash of a text
---@param message string
function M.tell_once(about, state, message)
  if told[about] ~= state then
    told[about] = state
    notify.warn(message)
  end
end

---@class rat.TrustedFile
---@field path string
---@field text string empty if it could not be read
---@field hash string of the text
---@field trust rat.Trust
---@field problem? string why it could not be read: the end of a sentence that begins with the name of the file

--- Reads files of a project. What does not exist is left out. A file that a link leads to is not read: what is trusted is the
--- content of one file, of this project and in this place.
---@param folder string of the project; absolute
---@param names string[] relative to it
---@param max_bytes integer larger files are not read
---@return rat.TrustedFile[]
function M.read(folder, names, max_bytes)
  local files, known = {}, nil ---@type rat.TrustedFile[], table<string, string>?
  local real_folder = vim.uv.fs_realpath(folder) or folder
  for _, name in ipairs(names) do
    local path, own = vim.fs.joinpath(folder, name), vim.fs.joinpath(real_folder, name)
    local text, problem = text_file.read(path, max_bytes)
    if text and vim.uv.fs_realpath(path) ~= own then
      text, problem = nil, "is a link, or in a folder that is one, which trust does not follow"
    -- |sha256()| takes no text with NUL.
    elseif text and text:find("\0", 1, true) then
      text, problem = nil, "is not a text file"
    end
    if text then
      known = known or database()
      -- Whatever the path has led to meanwhile, this text counts only if it is trusted in this place.
      local hash, trusted = vim.fn.sha256(text), known[own]
      local trust = trusted == hash and "trusted" or trusted == "!" and "denied" or "untrusted"
      files[#files + 1] = { path = path, text = text, hash = hash, trust = trust }
    elseif problem then
      local file = { path = path, text = "", hash = "", trust = "untrusted", problem = problem }
      files[#files + 1] = file
    end
  end
  return files
end

return M
