--- Tells the user things, always in the same shape; keeps nothing and decides nothing.
local M = {}

--- A message has at most so many characters: agents write some of it, and to lay out a very long one takes seconds.
local MOST = 1000

---@param text string
---@return string
local function fitting(text)
  local line = require("rat.text").one_line(text:sub(1, 4 * MOST))
  if vim.fn.strchars(line) <= MOST then
    return line
  end
  return vim.fn.strcharpart(line, 0, MOST) .. "…"
end

--- Whether `vim.notify` is Neovim's own, which writes into the command line.
---@return boolean
local function is_own()
  -- It comes from a file of Neovim, from 0.12 on from none at all.
  local source = debug.getinfo(vim.notify, "S").source
  return source:match("^@vim/_") ~= nil or source == "?"
end

--- Whether Neovim would stop at the hit-enter prompt, which holds back everything that comes from the binary.
---@param text string
---@return boolean
local function too_long(text)
  return text:find("\n") ~= nil or vim.fn.strdisplaywidth(text) > vim.v.echospace
end

---@param text string
---@param level integer
local function notify(text, level)
  text = "[rat] " .. fitting(text)
  vim.schedule(function()
    if is_own() then
      -- A second message before the screen is drawn would stop at the prompt, too.
      vim.cmd.redraw()
      if too_long(text) then
        return require("rat.toast").show(text, level)
      end
    end
    vim.notify(text, level, { title = "rat.nvim" })
  end)
end

--- Something the user should know.
---@param text string
function M.info(text)
  notify(text, vim.log.levels.INFO)
end

--- Something that did not go as asked.
---@param text string
function M.warn(text)
  notify(text, vim.log.levels.WARN)
end

--- Something that failed: what happened and what to do.
---@param text string
function M.error(text)
  notify(text, vim.log.levels.ERROR)
end

--- Something of ours broke: one line for the user, all of it for the log.
---@param what string what was to be done
---@param problem any as |pcall()| or |xpcall()| gave it
function M.failed(what, problem)
  local trace = tostring(problem)
  -- Where in our files it happened is of use in the log only.
  local line = trace:match("^[^\n]*"):gsub("^%S+/lua/rat/%S+: ", ""):gsub("^Vim:", "")
  M.error(("%s: %s"):format(what, line))
  require("rat.rpc").notify("problem", { text = ("%s: %s"):format(what, trace) })
end

--- Runs something on the main loop, where an error would stop at the hit-enter prompt, which holds back everything that
--- comes from the binary.
---@generic F: function
---@param what string what is to be done
---@param action F
---@return F
function M.guard(what, action)
  return function(...)
    local result = { xpcall(action, debug.traceback, ...) }
    if result[1] then
      return unpack(result, 2)
    end
    M.failed(what, result[2])
  end
end

--- Fires a `User` autocommand.
---@param name string
---@param data table
function M.event(name, data)
  local ok, problem = pcall(vim.api.nvim_exec_autocmds, "User", {
    pattern = name,
    modeline = false,
    data = data,
  })
  if not ok then
    M.error(("an autocommand for User %s failed: %s"):format(name, problem))
  end
end

--- The candidate a mistyped name most probably meant.
---@param name string
---@param candidates string[]
---@return string? nearest within a third of the name's length, at least 2 edits
function M.closest(name, candidates)
  local best, distance = nil, math.max(2, math.floor(#name / 3)) + 1
  for _, candidate in ipairs(candidates) do
    local edits = M.distance(name:lower(), candidate:lower())
    if edits < distance then
      best, distance = candidate, edits
    end
  end
  return best
end

--- Levenshtein distance in bytes.
---@param a string
---@param b string
---@return integer
function M.distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local value = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
      diagonal, row[j] = row[j], value
    end
  end
  return row[#b]
end

return M
