--- The settings of a project, in a file of its folder that the user has to trust: which agent it uses, options of sessions and
--- MCP servers.
local config = require("rat.config")
local json_place = require("rat.util.json_place")
local schema = require("rat.config.schema")
local trust = require("rat.util.trust")

local M = {}

--- Relative to the folder of a session.
M.FILE = ".rat/settings.json"

--- Larger files are not read.
local MAX_BYTES = 256 * 1024

---@class rat.ProjectSettings
---@field default_agent? string
---@field options? table<string, string> for all agents
---@field mcp_servers? table<string, table> for all agents
---@field agents? table<string, {options: table<string, string>?, mcp_servers: table<string, table>?}>

---@param fields rat.Option[]
---@param names string[]
---@return rat.Option[]
local function only(fields, names)
  return vim.tbl_filter(function(field)
    return vim.list_contains(names, field.name)
  end, fields)
end

--- What the file may hold: parts of what `setup()` takes.
---@return rat.Option
local function expected()
  local fields = only(schema.fields, { "default_agent", "mcp_servers" })
  local agents = only(schema.fields, { "agents" })[1]
  local agent = only(agents.items.fields or {}, { "options", "mcp_servers" })
  vim.list_extend(fields, only(agent, { "options" }))
  fields[#fields + 1] =
    { name = "agents", type = "map", items = { type = "table", fields = agent } }
  return { type = "table", fields = fields }
end

--- Says where a text is no JSON, if the decoder says that.
---@param text string
---@param problem string
---@return string
local function syntax_problem(text, problem)
  local what, at = problem:match("(Expected .-) at character (%d+)")
  if not at then
    return "is not a JSON object"
  end
  local place = json_place.name(text, tonumber(at) --[[@as integer]])
  return ("is not a JSON object (%s: %s)"):format(place, what)
end

---@param text string
---@return rat.ProjectSettings? settings
---@return string? problem the rest of a sentence that begins with the name of the file
local function parse(text)
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not ok or type(value) ~= "table" then
    return nil, ok and "is not a JSON object" or syntax_problem(text, tostring(value))
  end
  local found = json_place.find(text)
  local problems = config.problems(expected(), value)
  for _, path in ipairs(found.twice) do
    problems[#problems + 1] = { path = path, text = path .. ": is there twice" }
  end
  if #problems > 0 then
    local lines = vim.tbl_map(function(problem)
      local place = json_place.name(text, found.keys[problem.path] or 1)
      return ("%s (%s)"):format(problem.text, place)
    end, problems)
    return nil, "is wrong: " .. table.concat(lines, "; ")
  end
  return value
end

--- Returns the settings of a folder; none if there is no file or the user has not trusted it, which they are told once.
---@param cwd string absolute
---@return rat.ProjectSettings
---@return string? problem why no agent can be started with what they are to say, in a sentence
function M.read(cwd)
  local path = vim.fs.joinpath(cwd, M.FILE)
  local file = trust.read(cwd, { M.FILE }, MAX_BYTES)[1]
  if not file or file.trust == "denied" then
    return {}
  elseif file.problem then
    trust.tell_once(path, file.problem, ("%s %s. It is not used."):format(M.FILE, file.problem))
    return {}
  elseif file.trust == "untrusted" then
    local text = "You have not trusted the current %s, so it is not used."
      .. " Read it, use :trust in its buffer, then :RatStart."
    trust.tell_once(path, file.hash, text:format(M.FILE))
    return {}
  end
  local settings, problem = parse(file.text)
  if not settings then
    return {}, ("%s %s. No agent starts here until you correct it."):format(M.FILE, problem)
  end
  return settings
end

--- Says what the settings of a folder change for an agent, a line each.
---@param settings rat.ProjectSettings
---@param agent string
---@return string[]
function M.describe(settings, agent)
  local lines = {}
  if settings.default_agent then
    lines[1] = "agent " .. settings.default_agent
  end
  local own = (settings.agents or {})[agent] or {}
  local options = vim.tbl_extend("force", settings.options or {}, own.options or {})
  for name, value in vim.spairs(options) do
    lines[#lines + 1] = ("option %s = %s"):format(name, value)
  end
  local servers = vim.tbl_extend("force", settings.mcp_servers or {}, own.mcp_servers or {})
  for name in vim.spairs(servers) do
    lines[#lines + 1] = "MCP server " .. name
  end
  return lines
end

return M
