--- The chats of this Neovim, their buffers and what the binary last said of them. Opens no windows and draws nothing.
local names = require("rat.names")
local presets = require("rat.presets")
local scratch = require("rat.scratch")

local M = {}

---@alias rat.View "chat"|"prompt"|"plan"|"tools"

---@class rat.Attachment
---@field uri string of the whole file
---@field label string what the user reads
---@field first? integer first line, from 1; nil for the whole file
---@field last? integer
---@field mime? string
---@field text? string
---@field path? string in place of a text: a file that goes as it is, read when the prompt goes out

---@class rat.Permission
---@field id integer
---@field tool_call string
---@field title string
---@field kind string
---@field command? string
---@field asks string all that is asked, in several lines
---@field revision integer it grows when what is asked changes
---@field options {id: string, name: string, kind: string}[] in the agent's order
---@field diffs integer how many files it shows changes of

---@class rat.Status
---@field state "stopped"|"starting"|"ready"|"running"|"waiting"|"cancelling"|"failed"
---@field session_id? string
---@field detail? string what the agent does, or why it failed
---@field queued string[] prompts that wait for the end of the turn
---@field queue_paused boolean
---@field permissions rat.Permission[]
---@field elicitations {id: integer, mode: "form"|"url", message: string}[]
---@field usage? {used: integer, size: integer, cost: number?, unit: string?}
---@field mode? string
---@field plan? {done: integer, total: integer}

---@class rat.Chat
---@field id? integer the binary's; nil once the binary it belonged to is gone
---@field agent string
---@field title string
---@field cwd string
---@field name string of its transcript, rat://AGENT/N
---@field buffers table<rat.View, integer>
---@field numbers table<rat.Page, {last: integer, by_id: table<string, integer>}> what its other buffers are named by
---@field status rat.Status
---@field attachments rat.Attachment[] what goes with the next prompt
---@field sent table<string, rat.Attachment[]> what goes with the prompts in the queue, by their text
---@field draft_file? string where the draft is kept
---@field draft? string[] the text of its prompt while that has no buffer
---@field commands {name: string, description: string, hint: string?}[]
---@field options? rat.ConfigOption[] what can be set in its session
---@field meta? table what the agent added to what it said of its session
---@field restored? boolean made from a buffer's name, no agent has ever spoken in it
---@field used integer larger is more recent

---@type rat.Chat[]
local chats = {}
local clock = 0

---@type table<rat.View, {suffix: string, filetype: string}>
local views = {
  chat = { suffix = "", filetype = "rat" },
  prompt = { suffix = "/prompt", filetype = "ratprompt" },
  plan = { suffix = "/plan", filetype = "ratplan" },
  tools = { suffix = "/tools", filetype = "rattools" },
}

---@param state string
---@param detail? string
---@return rat.Status
local function blank_status(state, detail)
  return {
    state = state,
    detail = detail,
    queued = {},
    queue_paused = false,
    permissions = {},
    elicitations = {},
  }
end

---@param agent string
---@param cwd string
---@param name string
---@return rat.Chat
local function add(agent, cwd, name)
  local chat = {
    agent = agent,
    title = presets[agent] and presets[agent].title or agent,
    cwd = cwd,
    name = name,
    buffers = {},
    numbers = {},
    sent = {},
    status = blank_status("starting"),
    attachments = {},
    commands = {},
    used = 0,
  }
  chats[#chats + 1] = chat
  return chat
end

--- Notes that the user has to do with a chat now.
---@param chat rat.Chat
function M.touch(chat)
  clock = clock + 1
  chat.used = clock
end

--- All chats, the most recent first.
---@return rat.Chat[]
function M.list()
  local list = vim.list_slice(chats)
  table.sort(list, function(a, b)
    return a.used > b.used
  end)
  return list
end

--- The chat with the binary's number.
---@param id integer
---@return rat.Chat?
function M.get(id)
  for _, chat in ipairs(chats) do
    if chat.id == id then
      return chat
    end
  end
end

--- The chat a buffer belongs to.
---@param buf integer
---@return rat.Chat?
---@return rat.View?
function M.of(buf)
  for _, chat in ipairs(chats) do
    for view, own in pairs(chat.buffers) do
      if own == buf then
        return chat, view
      end
    end
  end
end

--- The chat of the folder the user works in, or of the nearest folder above it.
---@param list rat.Chat[] the most recent first
---@return rat.Chat?
local function of_folder(list)
  local here, best = vim.fn.getcwd() .. "/", nil
  for _, chat in ipairs(list) do
    local is_above = vim.startswith(here, (chat.cwd:gsub("/*$", "/")))
    if is_above and (not best or #chat.cwd > #best.cwd) then
      best = chat
    end
  end
  return best
end

--- The chat that commands act on: that of the current window, else the one the tab page shows, else the one of the folder
--- the user works in, else the most recent. Chats with a running binary come first.
---@return rat.Chat?
function M.current()
  local here = M.of(vim.api.nvim_get_current_buf()) or require("rat.window").visible()
  if here then
    return here
  end
  local list = M.list()
  local living = vim.tbl_filter(function(chat)
    return chat.id ~= nil
  end, list)
  return of_folder(living) or living[1] or of_folder(list) or list[1]
end

--- The agent of a chat and its folder, for messages about chats that are out of sight.
---@param chat rat.Chat
---@return string
function M.label(chat)
  return ("%s in %s"):format(chat.title, vim.fn.fnamemodify(chat.cwd, ":t"))
end

--- The chat that was opened after this one, or before it. Wraps around.
---@param chat rat.Chat
---@param step 1|-1
---@return rat.Chat
function M.neighbour(chat, step)
  for at, one in ipairs(chats) do
    if one == chat then
      return chats[(at - 1 + step) % #chats + 1]
    end
  end
  return chat
end

--- Has the binary draw a view whole: its buffer is empty.
---@param chat rat.Chat
---@param view rat.View
function M.draw_anew(chat, view)
  if chat.id and view ~= "prompt" then
    require("rat.rpc").notify("redraw", { chat = chat.id, view = view })
  end
end

--- Makes an empty buffer a view of a chat.
---@param chat rat.Chat
---@param view rat.View
---@param buf integer
local function furnish(chat, view, buf)
  chat.buffers[view] = buf
  require("rat.keys").attach(buf, view)
  require("rat.dress").follow(buf, view)
  if view == "prompt" then
    require("rat.prompt").attach(buf)
    scratch.fill(buf, chat.draft or {})
    chat.draft = nil
  else
    if view == "chat" then
      require("rat.reader").attach(buf)
    end
    require("rat.ui").attach(buf)
    M.draw_anew(chat, view)
  end
end

---@param chat rat.Chat
---@param view rat.View
---@return integer buf
local function make_buffer(chat, view)
  local buf = scratch.make(chat.name .. views[view].suffix, views[view].filetype, view == "prompt")
  furnish(chat, view, buf)
  return buf
end

--- The buffer of a chat's view, if it is there to be drawn in.
---@param id integer
---@param view rat.View
---@return integer? buf
function M.shown_buffer(id, view)
  local chat = M.get(id)
  local buf = chat and chat.buffers[view]
  return buf and vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

--- The buffer of a chat's view, made if there is none.
---@param id integer|rat.Chat
---@param view rat.View
---@return integer buf
function M.buffer(id, view)
  local chat = type(id) == "table" and id or assert(M.get(id), "no chat " .. tostring(id))
  local buf = chat.buffers[view]
  if buf and vim.api.nvim_buf_is_valid(buf) then
    return buf
  end
  return make_buffer(chat, view)
end

---@param agent string
---@param number integer
---@return string
local function free_name(agent, number)
  local name
  repeat
    name = names.chat(agent, number)
    number = number + 1
  until not scratch.find(name)
  return name
end

--- A chat of an earlier Neovim or binary that a new one with the same agent goes on from.
---@param agent string
---@param cwd string
---@return rat.Chat?
local function ended(agent, cwd)
  for _, chat in ipairs(M.list()) do
    if not chat.id and chat.agent == agent and (chat.cwd == cwd or chat.restored) then
      return chat
    end
  end
end

--- Takes over what the user had written for a chat that ended.
---@param chat rat.Chat
---@param from rat.Chat
local function inherit(chat, from)
  chat.attachments, from.attachments = from.attachments, {}
  local old = from.buffers.prompt
  if old and vim.api.nvim_buf_is_valid(old) then
    scratch.fill(M.buffer(chat, "prompt"), vim.api.nvim_buf_get_lines(old, 0, -1, false))
    scratch.fill(old, {})
  end
end

--- The binary has a chat: makes its buffers.
---@param payload {chat: integer, agent: string, title: string?, cwd: string}
---@return rat.Chat
function M.opened(payload)
  require("rat.launch").settled()
  local chat = M.get(payload.chat)
  if not chat then
    local before = ended(payload.agent, payload.cwd)
    if before and before.restored then
      chat, before.restored = before, nil
      scratch.fill(M.buffer(chat, "chat"), {})
      require("rat.ui").attach(chat.buffers.chat)
    else
      chat = add(payload.agent, payload.cwd, free_name(payload.agent, payload.chat))
    end
    for view in pairs(views) do
      M.buffer(chat, view)
    end
    chat.id = payload.chat
    chat.status = blank_status("starting")
    if before and before ~= chat then
      inherit(chat, before)
    end
    chat.cwd = payload.cwd
    require("rat.prompt").restore(chat)
    require("rat.leave").watch()
    require("rat.attached").settle(chat)
  end
  chat.title = payload.title or chat.title
  chat.cwd = payload.cwd
  M.touch(chat)
  return chat
end

--- The binary says how a chat stands.
---@param payload rat.Status | {chat: integer, title: string?}
---@return rat.Chat?
---@return boolean changed its state is another
function M.updated(payload)
  local chat = M.get(payload.chat)
  if not chat then
    return nil, false
  end
  local changed = chat.status.state ~= payload.state
  if chat.status.session_id ~= payload.session_id then
    chat.meta = nil
  end
  chat.title = payload.title or chat.title
  local queued = #chat.status.queued
  chat.status = vim.tbl_extend("keep", payload, blank_status(payload.state))
  require("rat.leave").updated(chat)
  if queued + #chat.status.queued > 0 then
    require("rat.drafts").changed(chat)
  end
  return chat, changed
end

---@param chat rat.Chat
---@return boolean
local function is_in_turn(chat)
  return vim.list_contains({ "running", "waiting", "cancelling" }, chat.status.state)
end

--- The binary is gone: every chat has failed, and every turn; buffers and drafts stay.
---@param reason string
function M.lost(reason)
  require("rat.launch").settled()
  for _, chat in ipairs(chats) do
    if chat.id then
      local id, in_turn = chat.id, is_in_turn(chat)
      chat.id = nil
      chat.status = blank_status("failed", reason)
      require("rat.inbox").state_changed(chat, id)
      if in_turn then
        require("rat.say").event("RatTurnEnd", { chat = id, stop_reason = "error" })
      end
    end
  end
  require("rat.permission").update()
  require("rat.question").lost()
  require("rat.form").update()
end

---@param name string
---@return string? agent
---@return rat.View? view
---@return string? base
local function parse(name)
  local base, agent, suffix = names.parse(name)
  for view, spec in pairs(views) do
    if base and suffix == spec.suffix then
      return agent, view, base
    end
  end
end

--- Fills a buffer that was opened by its name, by `:edit` or from a session file.
---@param buf integer
function M.read(buf)
  if scratch.naming() or require("rat.terminal").owns(buf) then
    return
  end
  local chat, view = M.of(buf)
  if chat and view then
    -- `:edit` or `:bdelete` emptied it.
    scratch.dress(buf, views[view].filetype, view == "prompt")
    return furnish(chat, view, buf)
  end
  local name = vim.api.nvim_buf_get_name(buf)
  local agent, wanted, base = parse(name)
  if not (agent and wanted and base) then
    scratch.dress(buf, "")
    return scratch.fill(buf, { "There is nothing to show under " .. name .. "." })
  end
  chat = vim.iter(chats):find(function(one)
    return one.name == base
  end)
  if not chat then
    chat = add(agent, vim.fn.getcwd(), base)
    chat.restored = true
    chat.status = blank_status("stopped", "a chat of an earlier Neovim")
  end
  M.buffer(chat, wanted)
  if wanted ~= "prompt" and not chat.id then
    scratch.fill(buf, { ("This chat ended. `:RatStart %s` starts a new one."):format(agent) })
  end
end

return M
