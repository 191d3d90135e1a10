--- Lets the user choose a session from the binary's list, and opens, forks, closes or deletes it. It stores no sessions.
local punctuation = require("rat.util.punctuation")
local chooser = require("rat.ask.chooser")
local current_chat = require("rat.chat.current")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local rpc = require("rat.rpc")

local M = {}

--- Longest title in the list, in characters.
local MAX_TITLE = 36

--- If the list takes longer than this, in milliseconds, it opens like something the user has not just asked for.
local EXPECTED_WITHIN_MS = 2000

--- When a list was last requested, in milliseconds of |uv.now()|.
local asked_at = -EXPECTED_WITHIN_MS

---@alias rat.Session rat.msg.ListedSession

---@alias rat.SessionAct rat.msg.SessionAct

--- The arguments of `:RatSessions`.
---@type rat.SessionAct[]
M.acts = { "open", "fork", "close", "delete" }

---@type table<rat.SessionAct, string>
local questions = {
  open = "Open which session?",
  fork = "Fork which session?",
  close = "Close which session?",
  delete = "Delete which session?",
}

--- Parses an ISO 8601 time to seconds since 1970; nil if it is not valid.
---@param text string?
---@return integer?
function M.time(text)
  local pattern = "^(%d+)%-(%d+)%-(%d+)[T ](%d+):(%d+):?(%d*)[%d.]*(.*)$"
  local year, month, day, hour, minute, second, zone = (text or ""):match(pattern)
  if not year then
    return nil
  end
  ---@cast zone string
  local at = os.time({
    year = tonumber(year) --[[@as integer]],
    month = tonumber(month) --[[@as integer]],
    day = tonumber(day) --[[@as integer]],
    hour = tonumber(hour) --[[@as integer]],
    min = tonumber(minute) --[[@as integer]],
    sec = tonumber(second) --[[@as integer?]] or 0,
    isdst = false,
  })
  -- `os.time` interprets the fields as local time, so the offset of local time from UTC at that moment is added.
  local utc = os.date("!*t", at)
  utc.isdst = false
  local seconds = at + os.difftime(at, os.time(utc))
  local sign, hours, minutes = zone:match("^([+-])(%d%d):?(%d%d)$")
  if sign then
    local offset = tonumber(hours) * 3600 + tonumber(minutes) * 60
    seconds = seconds - (sign == "+" and offset or -offset)
  end
  return math.floor(seconds)
end

--- Formats how long ago a time was; a date if it was more than a week ago.
---@param at integer? seconds since 1970
---@param now integer
---@return string # empty without a time
function M.age(at, now)
  if not at then
    return ""
  end
  local seconds = math.max(0, now - at)
  if seconds < 60 then
    return "now"
  elseif seconds < 3600 then
    return ("%d min ago"):format(seconds / 60)
  elseif seconds < 86400 then
    return ("%d h ago"):format(seconds / 3600)
  elseif seconds < 7 * 86400 then
    return ("%d d ago"):format(seconds / 86400)
  end
  return os.date("%Y-%m-%d", at) --[[@as string]]
end

---@param session rat.Session
---@return integer? seconds since 1970
local function last_change(session)
  local updated = M.time(session.updated_at)
  return session.used_at and updated and math.max(session.used_at, updated)
    or session.used_at
    or updated
end

---@param session rat.Session
---@return string
local function title(session)
  local text = vim.trim((session.title or ""):gsub("%s+", " "))
  return text ~= "" and text or session.session
end

--- Shortens a title so that what follows it stays visible.
---@param text string
---@return string
local function shortened(text)
  if vim.fn.strdisplaywidth(text) <= MAX_TITLE then
    return text
  end
  return vim.fn.strcharpart(text, 0, MAX_TITLE - 1) .. punctuation.own("…")
end

---@param session rat.Session
---@return string
local function describe(session)
  local current = current_chat.get()
  local state = session.elsewhere and "open in another Neovim"
    or session.chat and (current and current.id == session.chat and "current" or "open")
    or nil
  local parts = { shortened(title(session)), session.agent, M.age(last_change(session), os.time()) }
  parts[#parts + 1] = state
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ""
    end, parts),
    punctuation.own(" · ")
  )
end

---@type table<rat.SessionAct, fun(session: rat.Session, cwd: string)>
local acts = {}

function acts.open(session, cwd)
  local opts = { agent = session.agent, cwd = cwd, session = session.session, focus = true }
  launch.start(opts)
end

function acts.fork(session, cwd)
  local opts = { agent = session.agent, cwd = cwd, fork = session.session, focus = true }
  launch.start(opts)
end

function acts.close(session)
  rpc.notify("session_close", { agent = session.agent, session = session.session })
end

function acts.delete(session, cwd)
  local answers = { "Keep it", "Delete it" }
  local prompt = ('Delete "%s" for good?'):format(title(session))
  local opts = { prompt = prompt, careful = true, harmless = true, ignore_typeahead = true }
  chooser.open(answers, opts, function(_, index)
    if index == 2 then
      local payload = { agent = session.agent, session = session.session, cwd = cwd }
      rpc.notify("session_delete", payload)
    end
  end)
end

--- Requests the sessions of the current chat's folder from the binary, to let the user choose one.
---@param act rat.SessionAct
function M.list(act)
  local chat = current_chat.get()
  asked_at = vim.uv.now()
  rpc.request("sessions", { act = act, cwd = chat and chat.cwd or vim.fn.getcwd() })
end

--- Handles the list of sessions: lets the user choose one.
---@param payload rat.msg.Sessions
function M.show(payload)
  local items = payload.items
  table.sort(items, function(a, b)
    local at, bt = last_change(a) or 0, last_change(b) or 0
    return at ~= bt and at > bt or at == bt and a.session < b.session
  end)
  if #items == 0 and not payload.more then
    local none = payload.act == "close" and "No session is open" or "There are no sessions yet"
    return notify.info(("%s in %s"):format(none, vim.fn.fnamemodify(payload.cwd, ":~")))
  end
  local more = payload.more and punctuation.own("more …") or nil
  local choices = vim.list_extend(vim.list_slice(items), { more })
  local opts = {
    prompt = questions[payload.act],
    format_item = function(item)
      return type(item) == "string" and item or describe(item)
    end,
  }
  chooser.when_idle(choices, opts, function(item)
    if type(item) == "string" then
      asked_at = vim.uv.now()
      rpc.notify("sessions_more", {})
    elseif item then
      acts[payload.act](item, payload.cwd)
    end
  end, nil, vim.uv.now() - asked_at < EXPECTED_WITHIN_MS)
end

return M
