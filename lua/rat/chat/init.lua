--- Creates, updates and ends chats as the binary reports them, and connects the modules that make up a chat by their
--- listeners. Code that may create a chat loads this module first; the modules it connects never load it.
local attachment_list = require("rat.chat.attachment_list")
local attention = require("rat.chats.attention")
local autoscroll = require("rat.view.autoscroll")
local buffers = require("rat.chat.buffers")
local chips = require("rat.chat.chips")
local config = require("rat.config")
local drafts = require("rat.chat.drafts")
local elsewhere = require("rat.chat.elsewhere")
local form = require("rat.ask.form")
local keys = require("rat.chat.keys")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local outbox = require("rat.chat.outbox")
local permission = require("rat.ask.permission")
local placeholder = require("rat.chat.placeholder")
local prompt = require("rat.chat.prompt")
local prompt_header = require("rat.chat.prompt_header")
local question = require("rat.ask.question")
local queue_page = require("rat.view.queue_page")
local quit_guard = require("rat.chat.quit_guard")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local session_file = require("rat.view.session_file")
local status = require("rat.chat.status")
local terminal = require("rat.view.terminal")
local ui = require("rat.view.ui")
local window = require("rat.view.window")
local window_options = require("rat.view.window_options")

local M = {}

--- The commands that open pages, which a session file brings back empty.
---@type table<string, string>
local PAGES = {
  chats = ":RatChats",
  queue = ":RatQueue",
  review = ":RatReview",
  search = ":RatSearch",
}

--- Sets up an empty buffer as a view: its keys, the options of its windows and its text.
---@param chat rat.Chat
---@param view rat.View
---@param buf integer
local function set_up(chat, view, buf)
  keys.attach(buf, view)
  window_options.follow(buf, view)
  if view == "prompt" then
    prompt.attach(buf)
    scratch.load(buf, scratch.fill, chat.draft or {})
    chat.draft = nil
    placeholder.show(chat)
    -- Its marks go with the text of a buffer that was unloaded.
    vim.schedule(function()
      if chat.buffers.prompt == buf and vim.api.nvim_buf_is_loaded(buf) then
        prompt_header.show(chat)
      end
    end)
    return
  end
  if view == "chat" then
    autoscroll.attach(buf)
  end
  ui.attach(buf)
  if chat.id then
    -- The buffer is empty, so the binary has to draw the whole view.
    rpc.notify("redraw", { chat = chat.id, view = view })
  end
end

buffers.on_create(set_up)
attachment_list.on_change(prompt_header.show)
chips.on_change(prompt_header.show)
prompt.on_change(placeholder.show)

--- Returns a chat without a binary that a new chat with this agent continues: its binary has exited, or its buffers come
--- from a session file.
---@param agent string
---@param cwd string
---@return rat.Chat?
local function find_ended(agent, cwd)
  for _, chat in ipairs(registry.list()) do
    if not chat.id and chat.agent == agent and (chat.cwd == cwd or chat.restored) then
      return chat
    end
  end
end

--- Moves the unsent text and attachments of a chat that has ended to another one.
---@param chat rat.Chat
---@param from rat.Chat
local function move_draft(chat, from)
  vim.list_extend(chat.attachments, from.attachments)
  from.attachments = {}
  prompt.move(chat, from)
end

--- Removes chats that were opened before the binary answered, and for which it has shown an existing chat with the same
--- agent instead. Those of other agents may still be opened.
---@param instead rat.Chat
local function drop_expected(instead)
  for _, chat in ipairs(registry.all()) do
    if chat.expected and chat.agent == instead.agent then
      move_draft(instead, chat)
      registry.remove(chat)
      vim.schedule(function()
        for _, buf in pairs(chat.buffers) do
          pcall(vim.api.nvim_buf_delete, buf, { force = true })
        end
      end)
    end
  end
end

--- Handles a chat for a change in place: unless the user looks at it, it gets no buffers and is nobody's current chat.
---@param payload rat.msg.Opened
---@return rat.Chat
local function opened_in_background(payload)
  local chat = registry.get(payload.chat)
  if not chat then
    local name = buffers.free_name(payload.agent, payload.chat)
    chat = registry.add(payload.agent, payload.cwd, name)
    chat.id, chat.edit = payload.chat, payload.edit
    quit_guard.watch()
  end
  chat.title = payload.title or chat.title
  return chat
end

--- Handles a chat that the binary has opened or shows again: creates its buffers if it is new.
---@param payload rat.msg.Opened
---@return rat.Chat
function M.opened(payload)
  if payload.edit and not payload.show then
    return opened_in_background(payload)
  end
  launch.finished()
  local chat = registry.get(payload.chat)
  if not chat then
    local before = find_ended(payload.agent, payload.cwd)
    if before and before.restored then
      chat, before.restored, before.expected = before, nil, nil
      scratch.fill(buffers.get(chat, "chat"), {})
      ui.attach(chat.buffers.chat)
    else
      chat =
        registry.add(payload.agent, payload.cwd, buffers.free_name(payload.agent, payload.chat))
    end
    for view in pairs(registry.VIEWS) do
      buffers.get(chat, view)
    end
    chat.id = payload.chat
    chat.status = registry.blank_status("starting")
    if config.get().follow then
      require("rat.chat.follow").start()
    end
    if before and before ~= chat then
      move_draft(chat, before)
    end
    chat.cwd = payload.cwd
    prompt.restore(chat)
    quit_guard.watch()
    attachment_list.take_early(chat)
  end
  drop_expected(chat)
  chat.title = payload.title or chat.title
  chat.cwd = payload.cwd
  if payload.show then
    elsewhere.allow(chat)
  end
  registry.touch(chat)
  return chat
end

--- Handles a new status of a chat.
---@param payload rat.msg.Status
---@return rat.Chat?
---@return boolean changed whether its state has changed
function M.updated(payload)
  local chat = registry.get(payload.chat)
  if not chat then
    return nil, false
  end
  local changed = chat.status.state ~= payload.state
  if chat.status.session_id ~= payload.session_id then
    chat.meta = nil
  end
  chat.title = payload.title or chat.title
  local queued = #chat.status.queued
  chat.status = vim.tbl_extend("keep", payload, registry.blank_status(payload.state))
  quit_guard.updated(chat)
  if queued + #chat.status.queued > 0 then
    drafts.changed(chat)
    queue_page.updated(chat)
  end
  return chat, changed
end

--- Updates the screen after a change of state, and fires RatState.
---@param chat rat.Chat
---@param id integer number of the chat, which `chat.id` may no longer have
function M.state_changed(chat, id)
  window.refresh(chat)
  status.redraw()
  notify.event("RatState", {
    chat = id,
    agent = chat.agent,
    session_id = chat.status.session_id,
    state = chat.status.state,
    detail = chat.status.detail,
  })
end

---@param chat rat.Chat
---@return boolean
local function is_in_turn(chat)
  return vim.list_contains({ "running", "waiting", "cancelling" }, chat.status.state)
end

--- Puts prompts that the binary held back into the prompt buffer.
---@param chat rat.Chat
---@param prompts string[]
local function return_prompts(chat, prompts)
  for at = #prompts, 1, -1 do
    local text = prompts[at]
    attachment_list.give_back(chat, chat.sent[text] or {})
    chat.sent[text] = nil
    prompt.give_back(chat, text)
  end
end

--- Handles the end of a chat that was closed: its windows and buffers go. What the user has written in it is kept for the next
--- chat with the agent in this folder.
---@param chat rat.Chat
function M.closed(chat)
  local id, queued = chat.id, chat.status.queued
  chat.id, chat.status = nil, registry.blank_status("stopped")
  return_prompts(chat, queued)
  queue_page.updated(chat)
  if id then
    M.state_changed(chat, id)
  end
  local kept, problem = drafts.release(chat)
  if problem then
    local text = "Could not save what you have not sent, so the prompt stays open: %s"
    return notify.error(text:format(problem))
  end
  outbox.withdraw(chat)
  window.close(chat)
  registry.remove(chat)
  for _, buf in pairs(chat.buffers) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  permission.update()
  form.update()
  attention.refresh()
  if kept then
    notify.info(("Your unsent text is kept for the next chat with %s here"):format(chat.title))
  end
end

--- Closes a chat, like |:RatStop|!.
---@param chat rat.Chat
function M.close(chat)
  if chat.id then
    rpc.notify("close", { chat = chat.id })
  else
    -- The binary does not know it.
    M.closed(chat)
  end
end

--- Handles the exit of the binary: all chats fail and all turns end. Buffers and drafts stay.
---@param reason string
function M.lost(reason)
  launch.finished()
  for _, chat in ipairs(registry.all()) do
    local buf = chat.buffers.chat
    if buf and vim.api.nvim_buf_is_loaded(buf) then
      ui.withdraw_requests(buf)
    end
    if chat.id then
      local id, in_turn, was = chat.id, is_in_turn(chat), chat.status
      chat.id = nil
      chat.status = registry.blank_status("failed", reason)
      -- The agent was working on the first one.
      return_prompts(chat, vim.list_extend({ was.prompt }, was.queued) --[[@as string[] ]])
      M.state_changed(chat, id)
      if in_turn then
        chat.status.stop_reason = "error"
        notify.event("RatTurnEnd", { chat = id, stop_reason = "error" })
      end
    elseif chat.expected then
      chat.expected, chat.status = nil, registry.blank_status("failed", reason)
    end
  end
  permission.update()
  question.lost()
  form.update()
  attention.refresh()
end

rpc.on_lost(M.lost)

-- Also when a window with a folder of its own is entered.
vim.api.nvim_create_autocmd("DirChanged", {
  group = vim.api.nvim_create_augroup("rat_elsewhere", {}),
  desc = "rat: name the projects of chats that are of another one",
  callback = function()
    vim.iter(registry.list()):each(window.refresh)
  end,
})

--- Fills a rat:// buffer that was opened by name.
---@param buf integer
---@return rat.Chat? # the chat that the buffer is a view of
local function fill(buf)
  local chat, view = registry.of(buf)
  if chat and view then
    buffers.renew(chat, view, buf)
    return chat
  end
  local name = vim.api.nvim_buf_get_name(buf)
  local agent, wanted, base = buffers.parse(name)
  if not (agent and wanted and base) then
    scratch.set_options(buf, "")
    local command = PAGES[name:match("^rat://(%a+)$")]
    local again = command and (" %s opens the page again."):format(command) or ""
    scratch.fill(buf, { ("Nothing to show for %s.%s"):format(name, again) })
    return nil
  end
  chat = vim.iter(registry.all()):find(function(candidate)
    return candidate.name == base
  end)
  if not chat then
    chat = registry.add(agent, vim.fn.getcwd(), base)
    chat.restored = true
    chat.status = registry.blank_status("stopped", "not connected")
  end
  buffers.get(chat, wanted)
  if wanted ~= "prompt" and not chat.id then
    scratch.fill(buf, { "Not connected. Send a prompt to resume." })
  end
  return chat
end

session_file.on_loaded(function(bufs)
  local chats = {} ---@type table<rat.Chat, true>
  for _, buf in ipairs(bufs) do
    local chat = fill(buf)
    if chat then
      chats[chat] = true
    end
  end
  for chat in pairs(chats) do
    window.apply_restored(chat)
  end
end)

--- Fills a rat:// buffer that was opened by name, by `:edit` or from a session file.
---@param buf integer
function M.read(buf)
  -- A text of ours that can be written fills itself.
  if scratch.is_naming() or terminal.owns(buf) or vim.bo[buf].buftype == "acwrite" then
    return
  elseif not session_file.take(buf) then
    fill(buf)
  end
end

return M
