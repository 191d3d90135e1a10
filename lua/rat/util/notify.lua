--- Shows messages to the user in one form, catches errors of callbacks, and fires `User` autocommands. Everything shown
--- is made one clean line first.
local punctuation = require("rat.util.punctuation")
local text_of = require("rat.util.text")
local toast = require("rat.util.toast")

local M = {}

--- Receives each internal error with its traceback, for the log.
---@type fun(text: string)
local report = function() end

--- Sets the receiver of internal errors.
---@param to fun(text: string)
function M.report_to(to)
  report = to
end

--- The longest message, in characters. Agents write parts of them, and Neovim takes seconds to lay out a very long one.
local MAX_CHARS = 1000

--- Names that `vim.uv` puts before the words of the operating system.
local ERROR_NAMES =
  { "EACCES", "EEXIST", "EISDIR", "ENOENT", "ENOSPC", "ENOTDIR", "EPERM", "EROFS" }

---@param text string
---@return string
local function shorten(text)
  local line = text_of.one_line(text:sub(1, 4 * MAX_CHARS))
  for _, name in ipairs(ERROR_NAMES) do
    line = line:gsub("%f[%w]" .. name .. ": ", "")
  end
  if vim.fn.strchars(line) <= MAX_CHARS then
    return line
  end
  return vim.fn.strcharpart(line, 0, MAX_CHARS) .. punctuation.own("…")
end

--- Whether `vim.notify` is Neovim's own, which writes to the command line.
---@return boolean
local function is_builtin_notify()
  -- Its source is one of Neovim's Lua files, or "?" from 0.12 on.
  local source = debug.getinfo(vim.notify, "S").source
  return source:match("^@vim/_") ~= nil or source == "?"
end

--- Whether a message would cause the hit-enter prompt, which blocks all messages from the binary.
---@param text string
---@return boolean
local function too_long(text)
  return text:find("\n") ~= nil or vim.fn.strdisplaywidth(text) > vim.v.echospace
end

---@param text string
---@param level integer
local function notify(text, level)
  text = "[rat] " .. shorten(text)
  vim.schedule(function()
    if is_builtin_notify() then
      -- A second message before the next redraw would cause the hit-enter prompt, too.
      vim.cmd.redraw()
      if too_long(text) then
        return toast.show(text, level)
      end
    end
    vim.notify(text, level, { title = "rat.nvim" })
  end)
end

--- Shows information.
---@param text string
function M.info(text)
  notify(text, vim.log.levels.INFO)
end

--- Shows a warning: something could not be done as asked.
---@param text string
function M.warn(text)
  notify(text, vim.log.levels.WARN)
end

--- Shows an error: what failed and what the user can do.
---@param text string
function M.error(text)
  notify(text, vim.log.levels.ERROR)
end

--- Writes an error to the log only, for one that the user is told in other words.
---@param text string
function M.log(text)
  report(text)
end

--- Reports an internal error: its first line to the user, all of it to the log.
---@param what string the action that failed
---@param problem any the error value of |pcall()| or |xpcall()|
function M.failed(what, problem)
  local trace = tostring(problem)
  -- The position in our files is useful only in the log.
  local line = trace:match("^[^\n]*") --[[@as string]]
  line = line:gsub("^%S+/lua/rat/%S+: ", ""):gsub("^Vim:", "")
  M.error(("%s: %s"):format(what, line))
  report(("%s: %s"):format(what, trace))
end

--- Wraps a callback so that an error in it is reported by `failed`. Uncaught, it would cause the hit-enter prompt, which
--- blocks all messages from the binary.
---@generic F: function
---@param what string the action, for the message
---@param action F
---@return F
function M.guard(what, action)
  return function(...)
    ---@type any[]
    local result = { xpcall(action, debug.traceback, ...) }
    if result[1] then
      return unpack(result, 2)
    end
    M.failed(what, result[2])
  end
end

--- Fires a `User` autocommand; an error in a handler is shown.
---@param name string
---@param data table
function M.event(name, data)
  local ok, problem = pcall(vim.api.nvim_exec_autocmds, "User", {
    pattern = name,
    modeline = false,
    data = data,
  })
  if not ok then
    M.error(("Autocommand for User %s failed: %s"):format(name, problem))
  end
end

return M
