--- Sessions to choose from: asks the binary for them, shows them, says what is done with the chosen one. Keeps nothing.
local rpc = require("rat.rpc")
local say = require("rat.say")

local M = {}

--- A title in the list has at most so many cells, roughly.
local TITLE = 36

--- A list that takes longer than this is not what the user is waiting for any more, in milliseconds.
local PATIENCE_MS = 2000

--- When a list was asked for last, in milliseconds.
local asked_at = -PATIENCE_MS

---@class rat.Session
---@field agent string its name in the configuration
---@field session string
---@field title? string
---@field used_at? integer seconds since 1970: when it was used here last
---@field updated_at? string ISO 8601: when the agent says it changed last
---@field chat? integer the chat that has it open
---@field elsewhere boolean another Neovim has it open

---@alias rat.SessionAct "open"|"fork"|"close"|"delete"

--- What `:RatSessions` takes.
---@type rat.SessionAct[]
M.acts = { "open", "fork", "close", "delete" }

---@type table<rat.SessionAct, string>
local questions = {
  open = "Open which session?",
  fork = "Begin a session from which one?",
  close = "Close which session?",
  delete = "Delete which session?",
}

--- The moment an ISO 8601 time names, in seconds since 1970; nil where it makes no sense.
---@param text string?
---@return integer?
function M.time(text)
  local pattern = "^(%d+)%-(%d+)%-(%d+)[T ](%d+):(%d+):?(%d*)[%d.]*(.*)$"
  local year, month, day, hour, minute, second, zone = (text or ""):match(pattern)
  if not year then
    return nil
  end
  local at = os.time({
    year = year,
    month = month,
    day = day,
    hour = hour,
    min = minute,
    sec = tonumber(second) or 0,
    isdst = false,
  })
  -- `os.time` took it for local time; what local time is at that moment, it tells as well.
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

--- How long ago, in two words at most.
---@param at integer? seconds since 1970
---@param now integer
---@return string
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

--- Cut, so that what follows it stays in sight.
---@param text string
---@return string
local function shortened(text)
  if vim.fn.strdisplaywidth(text) <= TITLE then
    return text
  end
  return vim.fn.strcharpart(text, 0, TITLE - 1) .. "…"
end

---@param session rat.Session
---@return string
local function describe(session)
  local current = require("rat.chat").current()
  local state = session.elsewhere and "open in another Neovim"
    or session.chat and (current and current.id == session.chat and "this one" or "open")
    or nil
  local parts = { shortened(title(session)), session.agent, M.age(last_change(session), os.time()) }
  parts[#parts + 1] = state
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ""
    end, parts),
    " · "
  )
end

---@type table<rat.SessionAct, fun(session: rat.Session, cwd: string)>
local acts = {}

function acts.open(session, cwd)
  local opts = { agent = session.agent, cwd = cwd, session = session.session, focus = true }
  require("rat.launch").start(opts)
end

function acts.fork(session, cwd)
  local opts = { agent = session.agent, cwd = cwd, fork = session.session, focus = true }
  require("rat.launch").start(opts)
end

function acts.close(session)
  rpc.notify("session_close", { agent = session.agent, session = session.session })
end

function acts.delete(session, cwd)
  local answers = { "Keep it", "Delete it" }
  local prompt = ('Delete "%s" for good?'):format(title(session))
  local opts = { prompt = prompt, careful = true, harmless = true, held = true }
  require("rat.select").open(answers, opts, function(_, index)
    if index == 2 then
      local payload = { agent = session.agent, session = session.session, cwd = cwd }
      rpc.notify("session_delete", payload)
    end
  end)
end

--- Asks the binary for the sessions of this folder, to do something with one.
---@param act rat.SessionAct
function M.list(act)
  local chat = require("rat.chat").current()
  asked_at = vim.uv.now()
  rpc.request("sessions", { act = act, cwd = chat and chat.cwd or vim.fn.getcwd() })
end

--- The sessions have come.
---@param payload {act: rat.SessionAct, cwd: string, items: rat.Session[], more: boolean}
function M.show(payload)
  local items = payload.items
  table.sort(items, function(a, b)
    local at, bt = last_change(a) or 0, last_change(b) or 0
    return at ~= bt and at > bt or at == bt and a.session < b.session
  end)
  if #items == 0 and not payload.more then
    local none = payload.act == "close" and "no session is open" or "there is no session yet"
    return say.info(("%s in %s"):format(none, vim.fn.fnamemodify(payload.cwd, ":~")))
  end
  local more = payload.more and "more …" or nil
  local choices = vim.list_extend(vim.list_slice(items), { more })
  local opts = {
    prompt = questions[payload.act],
    format_item = function(item)
      return type(item) == "string" and item or describe(item)
    end,
  }
  require("rat.select").when_idle(choices, opts, function(item)
    if type(item) == "string" then
      asked_at = vim.uv.now()
      rpc.notify("sessions_more", {})
    elseif item then
      acts[payload.act](item, payload.cwd)
    end
  end, nil, vim.uv.now() - asked_at < PATIENCE_MS)
end

return M
