--- Makes the parts of doc/rat.txt that other files know: the version, options, presets, highlight groups.
--- `nvim -l tests/support/help.lua` writes them, with `--check` it only says whether they are up to date.
local this = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(this)))
vim.opt.runtimepath:prepend(root)

local config = require("rat.config")
local schema = require("rat.config.schema")

local M = {}

---@param text string
---@return string[]
local function wrap(text)
  local lines, line = {}, "   "
  for word in text:gmatch("%S+") do
    if #line + #word + 1 > 78 then
      lines[#lines + 1] = line
      line = "   "
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
  return lines
end

---@param option rat.Option
---@return string
local function kind(option)
  if option.type == "list" then
    return "list of " .. option.items.type .. "s"
  elseif option.type == "icons" then
    return '"unicode" | "ascii" | table'
  elseif option.type == "map" then
    return "table of " .. option.items.type .. "s by name"
  elseif option.type == "confine" then
    return 'false | "write" | table'
  elseif option.choices then
    return table.concat(vim.tbl_map(vim.inspect, option.choices), " | ")
  end
  return option.type
end

---@param option rat.Option
---@return string
local function default(option)
  if option.fields then
    return ""
  end
  local value = config.default(option)
  return ", default " .. (value == nil and "unset" or vim.inspect(value))
end

---@param fields rat.Option[]
---@param path string
---@param lines string[]
local function describe(fields, path, lines)
  for _, option in ipairs(fields) do
    local name = path .. option.name
    local tag = ("*rat-option-%s*"):format(name:gsub("{", ""):gsub("}", ""))
    local room = 78 - #name - #tag
    if room > 0 then
      vim.list_extend(lines, { name .. (" "):rep(room) .. tag })
    else
      vim.list_extend(lines, { (" "):rep(78 - #tag) .. tag, name })
    end
    vim.list_extend(lines, wrap(kind(option) .. default(option)))
    vim.list_extend(lines, wrap(option.doc))
    lines[#lines + 1] = ""
    if option.fields then
      describe(option.fields, name .. ".", lines)
    elseif option.items and option.items.fields then
      -- Servers have the same keys wherever they stand.
      if not name:find("agents.{name}.mcp_servers", 1, true) then
        describe(option.items.fields, name .. ".{name}.", lines)
      end
    end
  end
end

---@return string[]
local function options()
  local lines = {}
  describe(schema.fields, "", lines)
  lines[#lines] = nil
  return lines
end

---@return string[]
local function presets()
  local lines = {}
  for name, preset in vim.spairs(require("rat.config.presets")) do
    local command = table.concat({ preset.command, unpack(preset.args) }, " ")
    lines[#lines + 1] = ("    %-11s `%s`"):format(name, command)
    lines[#lines + 1] = ("    %-11s %s"):format("", preset.install_hint)
  end
  return lines
end

--- What each highlight group is for.
---@type table<string, string>
local meanings = {
  RatActive = "What is running: a tool call, a step of the plan.",
  RatAdded = "Added lines of a diff in the chat.",
  RatAttachment = "Names of attachments in the prompt.",
  RatBad = "What has failed, and rejections.",
  RatBar = "The titles in winbars.",
  RatBody = "Output of tool calls.",
  RatChecked = "The box of a finished item in a list.",
  RatChoice = "The answers to a permission request.",
  RatCode = "Inline code.",
  RatCodeBlock = "Code blocks without highlighting of their own.",
  RatComment = "Your comments in a review.",
  RatConflict = "Lines where an agent's change meets yours.",
  RatDeleted = "Removed lines of a diff in the chat.",
  RatDiffHead = "The names of files above diffs.",
  RatDim = "Frames, and what matters less.",
  RatEmphasis = "Emphasized text.",
  RatError = "Errors in the transcript.",
  RatFence = "The lines around code blocks.",
  RatGood = "What is done, and approvals.",
  RatHeaderAgent = "The header of what the agent says.",
  RatHeaderUser = "The header of your prompts.",
  RatHint = "Hints, such as the keys under the prompt.",
  RatHtml = "HTML in messages.",
  RatKey = "Keys that can be pressed.",
  RatLink = "The text of links.",
  RatLocation = "Files and lines that <CR> opens.",
  RatMarker = "The markers of list items.",
  RatNote = "Notes of rat.nvim in the transcript.",
  RatPendingAdd = "The sign of pending lines that were added.",
  RatPendingChange = "The sign of pending lines that were changed.",
  RatPendingDelete = "The sign where pending lines were removed.",
  RatQuote = "Quoted text.",
  RatReviewAdd = "Added lines in a review.",
  RatReviewDelete = "Removed lines in a review.",
  RatReviewFile = "The names of files in a review.",
  RatReviewHunk = "The headers of hunks in a review.",
  RatRule = "Horizontal rules.",
  RatStateCancelling = "A chat that is being cancelled.",
  RatStateFailed = "A chat that has failed.",
  RatStateReady = "A chat that waits for a prompt.",
  RatStateRunning = "A chat whose agent works.",
  RatStateStarting = "A chat that is being started.",
  RatStateStopped = "A chat without an agent.",
  RatStateWaiting = "A chat that waits for your answer.",
  RatStrike = "Text that is struck through.",
  RatStrong = "Strong text.",
  RatTable = "Tables.",
  RatTableHead = "The heads of tables.",
  RatThought = "The agent's thoughts.",
  RatTitle = "The titles of tool calls.",
  RatUnchecked = "The box of an open item in a list.",
  RatUrl = "Addresses.",
  RatWarning = "Warnings in the transcript.",
}
for level = 1, 6 do
  meanings["RatHeading" .. level] = "Headings of level " .. level .. "."
end

---@return string[]
local function groups()
  require("rat.view.groups").define()
  require("rat.view.decoration").attach(vim.api.nvim_get_current_buf())
  local lines = {}
  for name, group in vim.spairs(vim.api.nvim_get_hl(0, {})) do
    if name:match("^Rat") then
      lines[#lines + 1] = ("    *hl-%s*%s%s"):format(name, (" "):rep(24 - #name), group.link)
      lines[#lines + 1] = "        " .. assert(meanings[name], name .. " has no meaning")
    end
  end
  return lines
end

---@return string[]
local function version()
  return { "    Version " .. require("rat.version") }
end

--- The parts: the tag they follow, what they end before, what makes them.
---@type {after: string, before: string, make: fun(): string[]}[]
local parts = {
  { after = "*rat-version*", before = "\n    CHANGELOG", make = version },
  { after = "*rat-option-list*", before = "\n[^\n]*%*rat%-json%*", make = options },
  { after = "*rat-presets*", before = "\n    tour ", make = presets },
  { after = "*rat-groups*", before = "\n\n====", make = groups },
}

--- The help with the parts as the sources have them.
---@param text string
---@return string
function M.update(text)
  for _, part in ipairs(parts) do
    local _, first = text:find(part.after, 1, true)
    assert(first, part.after)
    local last = assert(text:find(part.before, first), part.before)
    text = text:sub(1, first) .. "\n" .. table.concat(part.make(), "\n") .. text:sub(last)
  end
  return text
end

M.path = root .. "/doc/rat.txt"

---@return string
function M.read()
  local file = assert(io.open(M.path, "r"))
  local text = file:read("*a")
  file:close()
  return text
end

if arg and arg[0] and arg[0]:match("support/help%.lua$") then
  local text = M.read()
  local updated = M.update(text)
  if arg[1] == "--check" and updated ~= text then
    io.stderr:write("doc/rat.txt: not up to date, run this without --check\n")
    os.exit(1)
  elseif arg[1] ~= "--check" then
    local file = assert(io.open(M.path, "w"))
    file:write(updated)
    file:close()
  end
end

return M
