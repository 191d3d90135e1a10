--- The tools that the user adds to the editor's own, with `require("rat").tool()`.
local notify = require("rat.util.notify")
local rpc = require("rat.rpc")

local M = {}

---@class rat.OwnTool
---@field name string lower-case letters, digits and underscores
---@field description string what it does, for the agent's model
---@field input_schema? table JSON schema of its arguments; none if it is missing
---@field read_only? boolean whether it changes nothing, so that you are not asked
---@field run fun(input: table, answer: fun(text: string)): string? returns the answer, or nothing and calls `answer` later

---@type table<string, rat.OwnTool>
local tools = {}

--- The names of the editor's own tools, which are taken.
local TAKEN = {
  "diagnostics",
  "references",
  "definition",
  "symbols",
  "open_buffers",
  "read_buffer",
  "rename_symbol",
  "code_action",
  "edit_buffer",
  "quickfix",
}

--- Tells the binary which tools there are.
function M.offer()
  local all = {}
  for name, tool in vim.spairs(tools) do
    local schema = tool.input_schema or { type = "object", properties = vim.empty_dict() }
    all[#all + 1] = {
      name = name,
      description = tool.description,
      input_schema = vim.json.encode(schema),
      read_only = tool.read_only or false,
    }
  end
  rpc.notify("offer_tools", { tools = all })
end

---@param tool any
---@return string? problem
local function problem_of(tool)
  if type(tool) ~= "table" then
    return "it must be a table"
  elseif
    type(tool.name) ~= "string"
    or not tool.name:match("^[a-z][a-z0-9_]*$")
    or #tool.name > 40
  then
    return "`name` must be lower-case letters, digits and underscores, at most 40"
  elseif vim.list_contains(TAKEN, tool.name) then
    return ("the name %s is taken"):format(tool.name)
  elseif type(tool.description) ~= "string" or vim.trim(tool.description) == "" then
    return "`description` must say what it does"
  elseif type(tool.run) ~= "function" then
    return "`run` must be a function"
  elseif tool.input_schema ~= nil and type(tool.input_schema) ~= "table" then
    return "`input_schema` must be a table"
  elseif tool.input_schema and tool.input_schema.type ~= "object" then
    return '`input_schema.type` must be "object"'
  elseif not pcall(vim.json.encode, tool.input_schema) then
    return "`input_schema` must hold only what JSON has"
  elseif tool.read_only ~= nil and type(tool.read_only) ~= "boolean" then
    return "`read_only` must be true or false"
  end
end

--- Adds a tool, or replaces the one of this name.
---@param tool rat.OwnTool
---@return boolean
function M.add(tool)
  local problem = problem_of(tool)
  if problem then
    notify.error(("The tool was not added: %s."):format(problem))
    return false
  end
  if next(tools) == nil then
    rpc.on_connected(M.offer)
  end
  tools[tool.name] = tool
  M.offer()
  return true
end

--- Runs a tool.
---@param question {name: string, input: string}
---@param answer rat.tools.Answer
function M.run(question, answer)
  local tool = tools[question.name]
  if not tool then
    return answer(nil, ("there is no tool %s"):format(question.name))
  end
  local input = vim.json.decode(question.input, { luanil = { object = true, array = true } })
  local function settle(text)
    if type(text) ~= "string" then
      return answer(nil, ("the tool %s gave no text"):format(question.name))
    end
    answer({ notes = { text } })
  end
  local function later(text)
    vim.schedule(function()
      settle(text)
    end)
  end
  local ok, result = xpcall(tool.run, debug.traceback, input or {}, later)
  if not ok then
    notify.failed(("Your tool %s failed"):format(question.name), result)
    return answer(nil, ("the tool failed: %s"):format(vim.split(tostring(result), "\n")[1]))
  elseif result ~= nil then
    settle(result)
  end
end

return M
