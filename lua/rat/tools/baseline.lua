--- What is wrong before an agent changes something, so that only what its edit has brought is told later. An edit must not have
--- to wait for this: what is wrong is counted anew only in buffers whose diagnostics have changed.
local edits = require("rat.document.edits")
local paths = require("rat.document.paths")

local api = vim.api
local M = {}

--- How far apart two changes are that count as two edits of an agent, in milliseconds.
local APART_MS = 300

--- A diagnostic, as Neovim and as servers have it.
---@alias rat.tools.Problem {severity: integer, message: string, source?: string, code?: any}

---@alias rat.tools.Diagnostic {path: string, line: integer, severity: integer, text: string, what: string}

--- How many diagnostics there are in each buffer, by what they say.
---@alias rat.tools.Baseline table<integer, {path: string, counts: table<string, integer>}>

--- Of the buffers whose diagnostics are the same since they were counted.
---@type rat.tools.Baseline
local counted = {}

--- What servers have answered last that have to be asked, by buffer and client: Neovim keeps it for visible buffers only.
---@type table<integer, table<integer, table[]>> LSP `Diagnostic[]`
local answers = {}

--- What was wrong before an agent changed a buffer, until it is known which chat's edit that is.
---@type table<integer, {at: integer, baseline: rat.tools.Baseline}>
local before_edit = {}

--- What was wrong before the last edit of each chat.
---@type table<integer, rat.tools.Baseline>
local before = {}

--- What was wrong before the latest of the changes that count as one edit, and when the last of them was made.
---@type {at: integer, baseline: rat.tools.Baseline}
local latest = { at = -APART_MS, baseline = {} }

---@param one rat.tools.Problem
---@return string
---@return string what what it is, whatever names are in it
local function describe(one)
  local severity = vim.diagnostic.severity[one.severity]:lower()
  local code = (type(one.code) == "string" or type(one.code) == "number") and tostring(one.code)
    or nil
  local where = vim.trim((one.source or "") .. " " .. (code or ""))
  -- pyright indents with spaces that do not break.
  local message = one.message:gsub("\194\160", " "):gsub("%s*\n%s*", "; ")
  local text = ("%s: %s%s"):format(severity, message, where ~= "" and (" [%s]"):format(where) or "")
  return text, code and ("%s %s"):format(severity, where) or text
end

--- Adds what is wrong in a line, counted from 0, unless it is there.
---@param found table<string, rat.tools.Diagnostic>
---@param path string
---@param line integer
---@param one rat.tools.Problem
local function add(found, path, line, one)
  local text, what = describe(one)
  local key = ("%s\0%d\0%s"):format(path, line, text)
  found[key] = { path = path, line = line + 1, severity = one.severity, text = text, what = what }
end

--- Adds what Neovim knows of a buffer, or of all.
---@param buf? integer
---@param found table<string, rat.tools.Diagnostic>
function M.add_known(buf, found)
  for _, one in ipairs(vim.diagnostic.get(buf)) do
    local where = one.bufnr --[[@as integer]]
    local name = api.nvim_buf_is_valid(where) and api.nvim_buf_get_name(where) or ""
    if name ~= "" then
      add(found, name, one.lnum, one --[[@as rat.tools.Problem]])
    end
  end
end

--- Adds what a server has answered that has to be asked.
---@param path string
---@param items table[] LSP `Diagnostic[]`
---@param found table<string, rat.tools.Diagnostic>
function M.add_answer(path, items, found)
  for _, item in ipairs(items) do
    add(found, path, item.range.start.line, {
      severity = item.severity or vim.diagnostic.severity.ERROR,
      message = item.message,
      source = item.source,
      code = item.code,
    })
  end
end

--- A server has answered that has to be asked.
---@param buf integer
---@param client integer
---@param items table[] LSP `Diagnostic[]`
function M.answered(buf, client, items)
  answers[buf] = answers[buf] or {}
  answers[buf][client], counted[buf] = items, nil
end

---@param buf integer
---@return {path: string, counts: table<string, integer>}
local function count(buf)
  local found, path = {}, api.nvim_buf_get_name(buf) ---@type table<string, rat.tools.Diagnostic>
  M.add_known(buf, found)
  -- The user may have typed since, but the server would most likely say the same.
  for _, items in pairs(answers[buf] or {}) do
    M.add_answer(path, items, found)
  end
  local counts = {}
  for _, one in pairs(found) do
    counts[one.what] = (counts[one.what] or 0) + 1
  end
  return { path = path, counts = counts }
end

--- Counts what is wrong now.
---@return rat.tools.Baseline
function M.now()
  local now = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
      counted[buf] = counted[buf] or count(buf)
      now[buf] = counted[buf]
    end
  end
  return now
end

--- Returns those that were not there before.
---@param found table<string, rat.tools.Diagnostic>
---@param baseline rat.tools.Baseline
---@return rat.tools.Diagnostic[]
function M.new(found, baseline)
  local known = {}
  for _, one in pairs(baseline) do
    known[one.path] = vim.deepcopy(one.counts)
  end
  local all = {}
  for _, one in vim.spairs(found) do
    local counts = known[one.path] or {}
    local left = counts[one.what] or 0
    counts[one.what] = left - 1
    if left <= 0 then
      all[#all + 1] = one
    end
  end
  return all
end

--- Returns what was wrong before these files were changed, if it is not known yet whose edit that was; else what was wrong before
--- the last edit of a chat.
---@param chat integer
---@param files string[] real paths
---@return rat.tools.Baseline
function M.before_edit(chat, files)
  local first ---@type {at: integer, baseline: rat.tools.Baseline}?
  for _, path in ipairs(files) do
    local buf = paths.find(path)
    local one = buf and before_edit[buf]
    if one and (not first or one.at < first.at) then
      first = one
    end
  end
  return first and first.baseline or before[chat] or {}
end

--- A chat has changed a file.
---@param chat integer
---@param path string real path
function M.changed(chat, path)
  local buf = paths.find(path)
  if buf and before_edit[buf] then
    before[chat], before_edit[buf] = before_edit[buf].baseline, nil
  end
end

--- A chat was closed.
---@param chat integer
function M.closed(chat)
  before[chat] = nil
end

edits.on_make(function(buf)
  local now = vim.uv.now()
  latest = { at = now, baseline = now - latest.at > APART_MS and M.now() or latest.baseline }
  before_edit[buf] = latest
end)

local group = api.nvim_create_augroup("rat_tools_baseline", {})
api.nvim_create_autocmd("DiagnosticChanged", {
  group = group,
  desc = "rat: count diagnostics anew",
  callback = function(event)
    counted[event.buf] = nil
  end,
})
-- Saving may take long, and the next change of the same edit comes after it.
api.nvim_create_autocmd("BufWritePost", {
  group = group,
  desc = "rat: note when an edit of an agent was saved",
  callback = function(event)
    if before_edit[event.buf] then
      latest = { at = vim.uv.now(), baseline = latest.baseline }
    end
  end,
})
api.nvim_create_autocmd({ "BufUnload", "BufFilePost" }, {
  group = group,
  desc = "rat: forget the diagnostics of a buffer",
  callback = function(event)
    counted[event.buf], answers[event.buf], before_edit[event.buf] = nil, nil, nil
  end,
})

return M
