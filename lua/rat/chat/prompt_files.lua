--- Prompts of the user's in files, `rat/prompts/NAME.md` in 'runtimepath' and `.rat/prompts/NAME.md` in a trusted project, which
--- `/NAME` in a prompt stands for.
local text_file = require("rat.util.text_file")
local trust = require("rat.util.trust")
local worktrees = require("rat.config.worktrees")

local M = {}

--- Relative to the folder of the project.
local PROJECT = ".rat/prompts"
--- Larger files are not read.
local MAX_BYTES = 256 * 1024
--- Of more files in one place, the first ones are read.
local MAX_FILES = 500

---@class rat.PromptFile
---@field name string what is typed after the slash
---@field description string
---@field hint? string what to write after the name
---@field path string
---@field body string

---@param path string
---@return string? name nil if nobody could type it
local function name_of(path)
  local name = vim.fs.basename(path):match("^(.+)%.md$")
  return name and name:match("^[%w_][%w_.-]*$")
end

--- Reads the lines between two `---` at the start of a file: `description: ...` and `argument-hint: ...`.
---@param text string
---@return table<string, string> fields
---@return string body
local function split(text)
  local fields = {}
  local head, body = text:match("^%-%-%-[ \t]*\n(.-)\n%-%-%-[ \t]*\n?(.*)$")
  for line in vim.gsplit(head or "", "\n", { plain = true }) do
    local key, value = line:match("^([%w_-]+):%s*(.-)%s*$")
    if key and value then
      fields[key] = value:match('^"(.*)"$') or value:match("^'(.*)'$") or value
    end
  end
  return fields, vim.trim(body or text)
end

---@param path string
---@param text string
---@return rat.PromptFile? nil if there is nothing to send in it
local function parse(path, text)
  local name = name_of(path)
  local fields, body = split((text:gsub("\r\n", "\n")))
  local hint = fields["argument-hint"]
  if name and body ~= "" then
    return {
      name = name,
      description = fields.description or body:match("^[^\n]*"),
      hint = hint and (hint:match("^<(.*)>$") or hint),
      path = path,
      body = body,
    }
  end
end

--- The prompts of a project.
---@param project string
---@return string[] paths relative to its folder, sorted
local function files_of(project)
  local paths = {}
  for entry, kind in vim.fs.dir(vim.fs.joinpath(project, PROJECT)) do
    if kind ~= "directory" and name_of(entry) and #paths < MAX_FILES then
      paths[#paths + 1] = vim.fs.joinpath(PROJECT, entry)
    end
  end
  table.sort(paths)
  return paths
end

---@param path string
---@param problem string the end of a sentence
local function tell_problem(path, problem)
  local name = vim.fn.fnamemodify(path, ":~:.")
  trust.tell_once(path, problem, ("%s %s. It is not offered."):format(name, problem))
end

---@param cwd string
---@param files rat.TrustedFile[] that are not trusted
local function tell(cwd, files)
  local names, state = {}, {}
  for i, file in ipairs(files) do
    names[i] = vim.fs.joinpath(PROJECT, vim.fs.basename(file.path))
    state[i] = names[i] .. file.hash
  end
  if #files == 0 then
    return
  end
  local text = #files == 1 and "You have not trusted %s, so /%s is not offered."
    or "You have not trusted %s and %d more, so they are not offered."
  local second = #files == 1 and name_of(files[1].path) or #files - 1
  local message = (text .. " Read it, then use :trust in its buffer."):format(names[1], second)
  trust.tell_once(cwd .. "/" .. PROJECT, table.concat(state, "\n"), message)
end

--- Returns the prompts that a chat in a folder can use, by name in their order. Those of the project come before others of the
--- same name.
---@param cwd string
---@return rat.PromptFile[]
function M.list(cwd)
  local project = worktrees.project(cwd)
  local by_name, untrusted = {}, {}
  for _, path in ipairs(vim.api.nvim_get_runtime_file("rat/prompts/*.md", true)) do
    local name = name_of(path)
    local text, problem = text_file.read(path, MAX_BYTES)
    -- The first one in 'runtimepath' counts.
    if name and text and not by_name[name] then
      by_name[name] = parse(path, text)
    elseif problem then
      tell_problem(path, problem)
    end
  end
  for _, file in ipairs(trust.read(project, files_of(project), MAX_BYTES)) do
    if file.problem then
      tell_problem(file.path, file.problem)
    elseif file.trust == "trusted" then
      local found = parse(file.path, file.text)
      by_name[found and found.name or ""] = found
    elseif file.trust == "untrusted" then
      untrusted[#untrusted + 1] = file
    end
  end
  tell(project, untrusted)
  local list = vim.tbl_values(by_name)
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  return list
end

--- Splits arguments at blanks. Quotes keep them together.
---@param text string
---@return string[]
local function words(text)
  local found, rest = {}, vim.trim(text)
  while rest ~= "" do
    local quoted, behind = rest:match('^(%b"")(.*)$')
    if not quoted then
      quoted, behind = rest:match("^(%b'')(.*)$")
    end
    local word, after = rest:match("^(%S+)(.*)$")
    found[#found + 1] = quoted and quoted:sub(2, -2) or word
    rest = vim.trim(quoted and behind or after or "")
  end
  return found
end

---@param body string
---@param arguments string
---@return string
local function fill(body, arguments)
  local list, is_used = words(arguments), false
  ---@param first string
  ---@param rest string
  ---@return string?
  local function value(first, rest)
    local number = tonumber(first)
    if first == "$" then
      return "$" .. rest
    elseif number then
      is_used = true
      return (list[number] or "") .. rest
    elseif first .. rest == "ARGUMENTS" then
      is_used = true
      return arguments
    end
  end
  local filled = body:gsub("%$([%$1-9A-Z])([A-Z]*)", value)
  if not is_used and arguments ~= "" then
    filled = filled .. "\n\n" .. arguments
  end
  return vim.trim(filled)
end

--- Returns what a prompt stands for: the text of the file that its `/NAME` names, with the arguments after it; otherwise the
--- prompt itself. The agent's own commands come first.
---@param text string
---@param cwd string
---@param is_taken fun(name: string): boolean whether the agent has a command of this name
---@return string
function M.expand(text, cwd, is_taken)
  local name, rest = text:match("^/([%w_.-]+)(.*)$")
  if not name or not rest or is_taken(name) or rest ~= "" and not rest:match("^%s") then
    return text
  end
  for _, file in ipairs(M.list(cwd)) do
    if file.name == name then
      return fill(file.body, vim.trim(rest))
    end
  end
  return text
end

return M
