--- The rules of a project, in a file of its folder that the user has to trust.
local trust = require("rat.util.trust")

local M = {}

--- Relative to the folder of a session.
M.FILE = ".rat/rules"

--- Larger files are not read.
local MAX_BYTES = 256 * 1024

local UNTRUSTED = "You have not trusted the current %s, so its rules do not hold."
  .. " Read it, use :trust in its buffer, then :RatStart."

--- Returns the lines of the rules of a folder; none if there are none or they do not hold, which the user is told once.
---@param cwd string absolute
---@return string[]
function M.lines(cwd)
  local path = vim.fs.joinpath(cwd, M.FILE)
  local file = trust.read(cwd, { M.FILE }, MAX_BYTES)[1]
  if not file then
    return {}
  elseif file.problem then
    trust.tell_once(
      path,
      file.problem,
      ("%s %s. Its rules do not hold."):format(M.FILE, file.problem)
    )
  elseif file.trust == "trusted" then
    return vim.split(file.text:gsub("\r\n", "\n"), "\n", { plain = true })
  elseif file.trust == "untrusted" then
    trust.tell_once(path, file.hash, UNTRUSTED:format(M.FILE))
  end
  return {}
end

return M
