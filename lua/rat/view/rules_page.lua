--- The page of `:RatRules`: the rules that the user has made, as a buffer that |:write| applies. What is wrong with a line is a
--- diagnostic there.
local punctuation = require("rat.util.punctuation")
local notify = require("rat.util.notify")
local page = require("rat.view.page")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")

local api = vim.api
local M = {}

local NAME = "rat://rules"
local NOTES = api.nvim_create_namespace("rat_rules")
local PROBLEMS = api.nvim_create_namespace("rat_rules_problems")

--- The chat whose rules the page shows, and the headings of its lists.
---@type {chat: integer, cwd: string, headings: table<string, rat.notify.Extent>}?
local shown

--- The rows of the lines that were sent, by list.
---@type table<string, integer[]>
local rows_sent = {}

---@param seconds integer since 1970
---@return string
local function day(seconds)
  return os.date("%Y-%m-%d", seconds) --[[@as string]]
end

---@param rule rat.msg.KeptRule
---@return string
local function note_of(rule)
  local parts = {}
  parts[1] = rule.decided == 1 and "decided 1 request"
    or ("decided %d requests"):format(rule.decided)
  if rule.since then
    parts[#parts + 1] = day(rule.since)
  end
  if rule.from then
    parts[#parts + 1] = ('from "%s"'):format(rule.from)
  end
  return punctuation.join(parts)
end

---@param payload rat.msg.Rules
---@return string[] lines
---@return table<integer, string> notes by row
---@return table<string, rat.notify.Extent> headings
local function compose(payload)
  local titles = {
    everywhere = "# For all projects",
    project = "# For " .. vim.fn.fnamemodify(payload.cwd, ":~"),
    session = ("# Until this session of %s ends"):format(payload.agent),
  }
  local lines, notes, headings = {}, {}, {}
  for _, list in ipairs(payload.lists) do
    headings[titles[list.extent]] = list.extent --[[@as rat.notify.Extent]]
    lines[#lines + 1] = titles[list.extent]
    for _, rule in ipairs(list.rules) do
      notes[#lines] = note_of(rule)
      lines[#lines + 1] = rule.line
    end
    lines[#lines + 1] = ""
  end
  lines[#lines + 1] = #payload.configured > 0 and "# From setup() and .rat/rules: edit them there"
    or "# :w applies your changes. :help rat-rules"
  for _, rule in ipairs(payload.configured) do
    lines[#lines + 1] = "#   " .. rule
  end
  return lines, notes, headings
end

--- Collects the lines of each list. What is above the first heading belongs to none, and is told.
---@param buf integer
---@return {extent: rat.notify.Extent, lines: string[]}[]? lists
local function collect(buf)
  local lists, by_extent, current = {}, {}, nil
  rows_sent = {}
  for row, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, true)) do
    local extent = shown and shown.headings[vim.trim(line)]
    if extent then
      current = by_extent[extent]
      if not current then
        current = { extent = extent, lines = {} }
        by_extent[extent], rows_sent[extent] = current, {}
        lists[#lists + 1] = current
      end
    elseif vim.trim(line) ~= "" and not vim.startswith(vim.trim(line), "#") then
      if not current then
        notify.error(("Line %d: put the rule below one of the headings"):format(row))
        return nil
      end
      table.insert(current.lines, line)
      table.insert(rows_sent[current.extent], row - 1)
    end
  end
  for heading, extent in pairs(shown and shown.headings or {}) do
    if not by_extent[extent] then
      notify.error(("The heading is missing: %s"):format(heading))
      return nil
    end
  end
  return lists
end

---@param buf integer
local function write(buf)
  local lists = shown and collect(buf)
  if shown and lists then
    rpc.notify("set_rules", { chat = shown.chat, cwd = shown.cwd, lists = lists })
  end
end

---@return integer buf
local function make()
  local buf = scratch.find(NAME)
  if not buf then
    buf = scratch.editable(NAME, "ratrules", write, function()
      require("rat.commands").RatRules()
    end)
    vim.bo[buf].commentstring = "# %s"
  end
  return buf
end

--- Shows the rules. A page with changes that were not written stays as it is.
---@param payload rat.msg.Rules
function M.show(payload)
  local buf = make()
  if not vim.bo[buf].modified then
    local lines, notes, headings = compose(payload)
    shown = { chat = payload.chat, cwd = payload.cwd, headings = headings }
    scratch.load(buf, scratch.fill, lines)
    vim.bo[buf].modifiable = true
    vim.bo[buf].modified = false
    api.nvim_buf_clear_namespace(buf, NOTES, 0, -1)
    vim.diagnostic.reset(PROBLEMS, buf)
    for row, line in ipairs(lines) do
      if vim.startswith(line, "#") then
        api.nvim_buf_set_extmark(buf, NOTES, row - 1, 0, { line_hl_group = "Comment" })
      end
    end
    for row, note in pairs(notes) do
      api.nvim_buf_set_extmark(buf, NOTES, row, 0, {
        virt_text = { { "  " .. note, "Comment" } },
        hl_mode = "combine",
      })
    end
  end
  page.open(buf, "Rules", { focus = true, wrap = false })
end

--- Shows what is wrong with the lines that were written; nothing if they hold now.
---@param payload rat.msg.RuleProblems
function M.problems(payload)
  local buf = scratch.find(NAME)
  if not buf then
    return
  end
  local found = vim.tbl_map(function(problem)
    local rows = rows_sent[problem.extent] or {}
    return {
      lnum = rows[problem.index] or 0,
      col = 0,
      message = problem.why,
      severity = vim.diagnostic.severity.ERROR,
      source = "rat",
    }
  end, payload.problems)
  vim.diagnostic.set(PROBLEMS, buf, found)
  if #found == 0 then
    vim.bo[buf].modified = false
    return notify.info("The rules are in force")
  end
  notify.error(("Line %d: %s. No rule was changed."):format(found[1].lnum + 1, found[1].message))
end

return M
