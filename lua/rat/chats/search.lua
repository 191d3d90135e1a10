--- The page of `:RatSearch`: sessions of all folders that have some words, the one used last first. The binary searches.
local punctuation = require("rat.util.punctuation")
local found = require("rat.chats.found")
local groups = require("rat.view.groups")
local input = require("rat.ask.input")
local key_list = require("rat.view.key_list")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local one_line = require("rat.util.text").one_line
local page = require("rat.view.page")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local sessions = require("rat.chat.sessions")
local worktrees = require("rat.config.worktrees")

local api = vim.api
local M = {}

local NAME = "rat://search"
local INDENT = "    "

--- What the binary takes, in bytes.
local MAX_BYTES = 250

--- The last search.
---@type string?
local words

--- Its number.
local request = 0

--- What the lines of the page are about, from the first one on.
---@type rat.msg.FoundSession[]
local places = {}

---@param marks integer[] the first byte and the end of each
---@param offset integer bytes before the marked text
---@param spans rat.Span[]
local function add_marks(marks, offset, spans)
  for at = 1, #marks, 2 do
    spans[#spans + 1] =
      { first = offset + marks[at], last = offset + marks[at + 1], group = "Search" }
  end
end

--- Returns the lines of what was found, what is highlighted in them, and what each is about.
---@param items rat.msg.FoundSession[]
---@return string[] lines
---@return rat.Span[][] spans
---@return rat.msg.FoundSession[] about
local function compose(items)
  local lines, spans, about = {}, {}, {}
  for _, item in ipairs(items) do
    local facts = {
      one_line(item.agent),
      one_line(worktrees.shown(item.cwd)),
      sessions.age(item.used_at, os.time()),
    }
    local rest = punctuation.own(" · ") .. punctuation.join(facts)
    local at = #lines + 1
    lines[at], about[at] = item.title .. rest, item
    spans[at] = { { first = #item.title, last = #item.title + #rest, group = "RatHint" } }
    add_marks(item.title_marks, 0, spans[at])
    if item.line then
      lines[at + 1], about[at + 1], spans[at + 1] = INDENT .. item.line, item, {}
      add_marks(item.marks, #INDENT, spans[at + 1])
    end
  end
  return lines, spans, about
end

---@param payload rat.msg.Found
---@return string
local function summary(payload)
  local sessions_searched = payload.searched == 1 and "1 session"
    or ("%d sessions"):format(payload.searched)
  if payload.count > #payload.items then
    return ("the last %d of %d in %s"):format(#payload.items, payload.count, sessions_searched)
  end
  return ("%d of %s"):format(payload.count, sessions_searched)
end

--- Opens the session under the cursor, in its folder, at the line that was found.
local function open()
  local item = places[vim.fn.line(".")]
  if not item then
    return
  elseif not vim.uv.fs_stat(item.cwd) then
    local folder = vim.fn.fnamemodify(item.cwd, ":~")
    return notify.error(("The folder of this session does not exist any more: %s"):format(folder))
  end
  launch.start({ agent = item.agent, cwd = item.cwd, session = item.session, focus = true })
  found.go(item)
end

--- Goes to another session, count times.
---@param step 1|-1
---@return fun()
local function go(step)
  return function()
    local line = vim.fn.line(".")
    for _ = 1, vim.v.count1 do
      local other = line + step
      -- The first line of a session is the one where another begins.
      while places[other] and places[other] == places[other - 1] do
        other = other + step
      end
      line = places[other] and other or line
    end
    api.nvim_win_set_cursor(0, { line, 0 })
  end
end

local function ask()
  local function run(typed)
    if vim.trim(typed) ~= "" then
      M.run(typed)
    end
  end
  input.open("Search all sessions for", words or "", false, run, function() end, {
    footer = punctuation.own(" <CR> search · <C-c> go back "),
    leaving = "back",
  })
end

local function search_again()
  M.run("")
end

---@type rat.PageKey[]
local KEYS = {
  { { "n" }, "<CR>", open, "open the session" },
  { { "n" }, "]]", go(1), "next session" },
  { { "n" }, "[[", go(-1), "previous session" },
  { { "n" }, "R", search_again, "search again" },
  { { "n" }, "c", ask, "change the words" },
}

---@return integer buf
local function make()
  local buf = scratch.make(NAME, "ratsearch")
  vim.bo[buf].bufhidden = "wipe"
  key_list.map(buf, KEYS, { { "q", "close the page" } })
  api.nvim_create_autocmd("BufReadCmd", {
    buffer = buf,
    desc = "rat: |:edit| searches again",
    callback = function()
      places = {}
      M.run("")
    end,
  })
  return buf
end

--- Searches, and opens the page. Without words it repeats the last search, and without that asks for some.
---@param typed string
function M.run(typed)
  typed = vim.trim(typed)
  if typed == "" and not words then
    return ask()
  elseif #typed > MAX_BYTES then
    return notify.error((":RatSearch takes at most %d bytes"):format(MAX_BYTES))
  end
  words, request = typed ~= "" and typed or words, request + 1
  if
    not rpc.request("search", {
      request = request,
      words = words --[[@as string]],
    })
  then
    return
  end
  groups.define()
  local buf = scratch.find(NAME) or make()
  page.open(buf, "Search: " .. words, { focus = true, wrap = false })
  if scratch.is_empty(buf) then
    scratch.fill(buf, { "Searching .." })
  end
end

--- Shows what was found. The answer to an earlier search is not shown.
---@param payload rat.msg.Found
function M.found(payload)
  local buf = scratch.find(NAME)
  if not buf or payload.request ~= request then
    return
  end
  local lines, spans, about = compose(payload.items)
  places = about
  if #lines == 0 then
    lines =
      { payload.searched == 0 and "No session is saved yet." or "No session has all these words." }
  end
  scratch.fill(buf, lines)
  scratch.highlight_spans(buf, spans)
  page.set_title(buf, ("Search: %s (%s)"):format(words, summary(payload)))
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_set_cursor(win, { 1, 0 })
  end
end

return M
