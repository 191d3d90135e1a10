--- Answers what the binary asks for the editor's own tools (|rat-editor-tools|): what language servers know, diagnostics, and
--- what the user looks at. Every question gets one answer, within a limit, and nothing blocks the editor.
local rpc = require("rat.rpc")

local M = {}

--- How long an answer may take, in milliseconds.
M.limit = 20000

--- How many places are sent at most.
local MOST = 2000

--- What is told of an answer.
---@class rat.tools.Findings
---@field places? rat.notify.FoundPlace[]
---@field edits? rat.notify.FoundEdits[]
---@field notes? string[]

--- Answers a question: with what was found, or with what is wrong. Only the first answer counts.
---@alias rat.tools.Answer fun(findings: rat.tools.Findings?, problem: string?)

--- What answers each kind of question.
---@type table<string, fun(question: table, answer: rat.tools.Answer)>
local kinds = {
  diagnostics = function(...)
    require("rat.tools.diagnostics").find(...)
  end,
  settle = function(...)
    require("rat.tools.diagnostics").settle(...)
  end,
  references = function(...)
    require("rat.tools.symbols").references(...)
  end,
  definition = function(...)
    require("rat.tools.symbols").definition(...)
  end,
  file_symbols = function(...)
    require("rat.tools.symbols").of_file(...)
  end,
  project_symbols = function(...)
    require("rat.tools.symbols").of_project(...)
  end,
  rename = function(...)
    require("rat.tools.changes").rename(...)
  end,
  actions = function(...)
    require("rat.tools.changes").actions(...)
  end,
  action = function(...)
    require("rat.tools.changes").action(...)
  end,
  open_buffers = function(...)
    require("rat.tools.editor").open_buffers(...)
  end,
  quickfix = function(...)
    require("rat.tools.editor").quickfix(...)
  end,
  set_quickfix = function(...)
    require("rat.tools.editor").set_quickfix(...)
  end,
  own = function(...)
    require("rat.tools.own").run(...)
  end,
}

---@param text string
---@return string
local function valid(text)
  return (vim.fn.iconv(text, "utf-8", "utf-8"))
end

---@param id integer
---@param findings rat.tools.Findings
local function tell(id, findings)
  local places, sent = findings.places or {}, {}
  for index = 1, math.min(#places, MOST) do
    local place = places[index]
    sent[index] = {
      path = valid(place.path),
      line = place.line,
      text = place.text and valid(place.text) or nil,
    }
  end
  rpc.notify("found", {
    id = id,
    places = sent,
    total = #places,
    edits = findings.edits,
    notes = vim.tbl_map(valid, findings.notes or {}),
  })
end

--- Asks a question.
---@param id integer
---@param question table
function M.ask(id, question)
  local is_answered = false
  local timer = assert(vim.uv.new_timer())
  ---@param findings rat.tools.Findings?
  ---@param problem string?
  local function answer(findings, problem)
    if is_answered then
      return
    end
    is_answered = true
    timer:close()
    if findings then
      tell(id, findings)
    else
      rpc.notify("found", { id = id, error = problem or "nothing was found" })
    end
  end
  timer:start(
    M.limit,
    0,
    vim.schedule_wrap(function()
      answer(nil, ("the language server has not answered within %d s"):format(M.limit / 1000))
    end)
  )
  local ok, problem = xpcall(kinds[question.kind], debug.traceback, question, answer)
  if not ok then
    rpc.notify("problem", { text = tostring(problem) })
    answer(nil, "an error in rat.nvim; its log has it")
  end
end

return M
