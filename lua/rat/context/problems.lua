--- The diagnostics of the project and the quickfix list, as context.
local editor = require("rat.context.editor")
local text_of = require("rat.util.text")

local M = {}

--- How many entries are attached; of more, the first.
local MAX_ENTRIES = 1000

---@type table<string, vim.diagnostic.Severity>
local severities = {
  error = vim.diagnostic.severity.ERROR,
  warn = vim.diagnostic.severity.WARN,
  info = vim.diagnostic.severity.INFO,
  hint = vim.diagnostic.severity.HINT,
}

--- Returns the diagnostics of the files in a folder, by file and line.
---@param cwd string
---@param least? vim.diagnostic.Severity
---@return {path: string, diagnostic: vim.Diagnostic}[]
local function diagnostics(cwd, least)
  local found, paths = {}, {}
  local wanted = { min = least or severities.hint, max = severities.error }
  for _, one in ipairs(vim.diagnostic.get(nil, { severity = wanted })) do
    local buf = one.bufnr --[[@as integer]]
    if paths[buf] == nil then
      local name = vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_name(buf) or ""
      paths[buf] = name ~= "" and editor.relative(name, cwd) or false
    end
    if paths[buf] then
      found[#found + 1] = { path = paths[buf], diagnostic = one }
    end
  end
  table.sort(found, function(a, b)
    local x, y = a.diagnostic, b.diagnostic
    if a.path ~= b.path then
      return a.path < b.path
    elseif x.lnum ~= y.lnum then
      return x.lnum < y.lnum
    end
    return x.col < y.col
  end)
  return found
end

--- Returns the first entries as an attachment, one a line.
---@param entries any[]
---@param line fun(entry: any): string
---@return rat.ContextText
local function listed(entries, line)
  local lines = {}
  for i = 1, math.min(#entries, MAX_ENTRIES) do
    lines[i] = text_of.one_line(line(entries[i]))
  end
  if #entries > MAX_ENTRIES then
    lines[#lines + 1] = ("… and %d more"):format(#entries - MAX_ENTRIES)
  end
  return { text = table.concat(lines, "\n") .. "\n", count = #entries }
end

---@param severity integer
---@return string
local function severity_name(severity)
  return vim.diagnostic.severity[severity]:lower()
end

---@type rat.ContextProvider
M.diagnostics = {
  name = "diagnostics",
  about = "problems in the project",
  describe = function(request)
    local parts, counts = {}, {}
    for _, one in ipairs(diagnostics(request.cwd)) do
      local severity = one.diagnostic.severity --[[@as integer]]
      counts[severity] = (counts[severity] or 0) + 1
    end
    for severity, count in vim.spairs(counts) do
      parts[#parts + 1] = ("%d %s"):format(count, severity_name(severity))
    end
    return #parts > 0 and table.concat(parts, ", ") or "none"
  end,
  complete = function()
    return {
      { word = "error", about = "errors only" },
      { word = "warn", about = "warnings and worse" },
      { word = "info", about = "information and worse" },
      { word = "hint", about = "all" },
    }
  end,
  resolve = function(request)
    local least = request.argument and severities[request.argument:lower()]
    if request.argument and not least then
      return nil, "takes error, warn, info or hint"
    end
    local found = diagnostics(request.cwd, least)
    if #found == 0 then
      return nil, least and "there is none in the project" or "there are none in the project"
    end
    return listed(found, function(entry)
      local one = entry.diagnostic
      local source = one.source and (" [%s]"):format(one.source) or ""
      local severity = severity_name(one.severity --[[@as integer]])
      local place = ("%s:%d:%d"):format(entry.path, one.lnum + 1, one.col + 1)
      return ("%s: %s: %s%s"):format(place, severity, one.message, source)
    end)
  end,
}

---@return {title: string, items: vim.quickfix.entry[]}
local function quickfix()
  return vim.fn.getqflist({ title = 1, items = 1 })
end

---@type rat.ContextProvider
M.quickfix = {
  name = "quickfix",
  about = "the quickfix list",
  describe = function()
    local count = vim.fn.getqflist({ size = 1 }).size
    return ("%d %s"):format(count, count == 1 and "entry" or "entries")
  end,
  resolve = function(request)
    local items = quickfix().items
    if #items == 0 then
      return nil, "the quickfix list is empty"
    end
    return listed(items, function(entry)
      if entry.valid ~= 1 or entry.bufnr == 0 then
        return entry.text
      end
      local name = vim.api.nvim_buf_get_name(entry.bufnr)
      local path = editor.relative(name, request.cwd) or name
      return ("%s:%d:%d: %s"):format(path, entry.lnum, entry.col, entry.text)
    end)
  end,
}

return M
