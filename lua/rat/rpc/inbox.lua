--- Receives messages from the binary and passes each one to the module that handles it.
local notify = require("rat.util.notify")

local M = {}

require("rat.chat.clock").on_tick(function(running)
  vim.iter(running):each(require("rat.view.window").refresh)
  vim.iter(running):each(function(chat)
    if chat.edit then
      require("rat.in_place").updated(chat)
    end
  end)
  require("rat.chat.status").redraw()
end)

--- Handlers by message name.
local handlers = {}

---@param payload rat.msg.Draw
function handlers.draw(payload)
  require("rat.chats.attention").touch(payload.chat)
  require("rat.view.ui").draw(payload)
end

---@param payload rat.msg.Opened
function handlers.chat(payload)
  local chat = require("rat.chat").opened(payload)
  require("rat.chat.alert").watch()
  if payload.edit then
    require("rat.in_place").opened(chat, payload.edit)
  end
  if payload.show then
    require("rat.view.window").open(chat, payload.focus)
  end
end

---@param payload rat.msg.Edited
function handlers.edited(payload)
  require("rat.in_place").over(payload)
end

---@param payload rat.msg.Status
function handlers.status(payload)
  local chat, changed = require("rat.chat").updated(payload)
  if not chat then
    return
  end
  require("rat.chat.clock").update(chat)
  if changed then
    require("rat.chat").state_changed(chat, payload.chat)
  else
    require("rat.view.window").refresh(chat)
  end
  if chat.edit then
    require("rat.in_place").updated(chat)
  end
  if not require("rat.chat.registry").is_background(chat) then
    require("rat.chat.placeholder").show(chat)
    require("rat.chat.prompt_header").show(chat)
  end
  require("rat.ask.permission").update()
  require("rat.ask.form").update()
  require("rat.ask.login").update()
end

---@param payload rat.msg.Closed
function handlers.closed(payload)
  local chat = require("rat.chat.registry").get(payload.chat)
  if chat then
    if chat.edit then
      require("rat.in_place").closed(chat)
    end
    require("rat.tools.after_turn").closed(payload.chat)
    require("rat.tools.baseline").closed(payload.chat)
    require("rat.chat").closed(chat)
  end
end

---@param payload rat.msg.Notify
function handlers.notify(payload)
  local tell = notify[payload.level] or notify.info
  tell(payload.text)
end

---@param change rat.msg.EventData
local function file_changed(change)
  local chat, path = assert(change.chat), assert(change.path)
  require("rat.tools.after_turn").changed(chat, path)
  require("rat.tools.baseline").changed(chat, path)
  require("rat.tools.disk").changed(path, change.created == true)
end

---@param payload rat.msg.Rewritten
function handlers.rewritten(payload)
  for _, path in ipairs(payload.paths) do
    require("rat.tools.disk").changed(path)
  end
end

---@param payload rat.msg.Event
function handlers.event(payload)
  local data = payload.data or {}
  local chat = data.chat and require("rat.chat.registry").get(data.chat)
  if chat and payload.name == "RatTurnEnd" then
    if not require("rat.chat.registry").is_background(chat) then
      require("rat.chat.alert").ended(chat, data.stop_reason --[[@as string]], data.next)
      require("rat.chats.attention").ended(chat, data.stop_reason --[[@as string]], data.next)
    end
  elseif chat and payload.name == "RatTurnStart" then
    require("rat.chat.clock").restart(chat)
    require("rat.tools.after_turn").began(data.chat --[[@as integer]])
  elseif chat and payload.name == "RatFileChanged" then
    file_changed(data)
  end
  notify.event(payload.name, data)
end

---@param payload rat.msg.Happened
function handlers.update(payload)
  require("rat.rpc.listeners").tell(payload.name, payload.data)
end

---@param payload rat.msg.Commands
function handlers.commands(payload)
  local chat = require("rat.chat.registry").get(payload.chat)
  if chat then
    chat.commands = payload.commands
  end
end

---@param payload rat.msg.Offer
function handlers.offer(payload)
  require("rat.view.content").offered(payload)
end

---@param payload rat.msg.Exported
function handlers.exported(payload)
  require("rat.view.content").exported(payload)
end

---@param payload rat.msg.Meta
function handlers.meta(payload)
  require("rat.chat.meta").arrived(payload)
end

---@param payload rat.msg.Login
function handlers.login(payload)
  require("rat.ask.login").wanted(payload)
end

---@param payload rat.msg.ElicitationRequest
function handlers.elicitation(payload)
  require("rat.ask.form").asked(payload)
end

---@param payload rat.msg.FormProblems
function handlers.problems(payload)
  require("rat.ask.form").problems(payload)
end

---@param payload rat.msg.Browse
function handlers.browse(payload)
  require("rat.ask.form").browse(payload)
end

---@param payload rat.msg.Options
function handlers.options(payload)
  local chat = require("rat.chat.registry").get(payload.chat)
  if chat then
    chat.options = payload.options
    require("rat.view.window").refresh(chat)
    require("rat.chat.status").redraw()
  end
end

---@param payload rat.msg.Ask
function handlers.ask(payload)
  require("rat.ask.question").asked(payload)
end

---@param payload rat.msg.Unask
function handlers.unask(payload)
  require("rat.ask.question").settled(payload.id)
end

---@param payload rat.msg.Rules
function handlers.rules(payload)
  require("rat.view.rules_page").show(payload)
end

---@param payload rat.msg.Suggestion
function handlers.rule(payload)
  require("rat.ask.rule").arrived(payload)
end

---@param payload rat.msg.RuleProblems
function handlers.rule_problems(payload)
  require("rat.view.rules_page").problems(payload)
end

---@param payload rat.msg.Sessions
function handlers.sessions(payload)
  require("rat.chat.sessions").show(payload)
end

---@param payload rat.msg.Found
function handlers.found(payload)
  require("rat.chats.search").found(payload)
end

---@param payload rat.msg.Worktree
function handlers.worktree(payload)
  require("rat.chat.worktree").created(payload)
end

---@param payload rat.msg.Scratch
function handlers.scratch(payload)
  require("rat.view.text_page").show(payload)
end

---@param payload rat.msg.TerminalOutput
function handlers.terminal(payload)
  require("rat.view.terminal").arrived(payload)
end

---@param payload rat.msg.Draft
function handlers.draft(payload)
  local chat = require("rat.chat.registry").get(payload.chat)
  if chat then
    require("rat.chat.attachment_list").give_back(chat, payload.attachments or {})
    require("rat.chat.prompt").give_back(chat, payload.text, payload.taken)
  end
end

---@param payload rat.msg.Pending
function handlers.pending(payload)
  require("rat.review.pending").arrived(payload)
end

---@param payload rat.msg.Review
function handlers.review(payload)
  require("rat.review.list").arrived(payload)
end

---@param payload rat.msg.Turns
function handlers.turns(payload)
  if payload.request then
    require("rat.review.calls").answer(payload.request, payload.items)
  else
    require("rat.chat.turns").show(payload)
  end
end

---@param payload rat.msg.Changes
function handlers.changes(payload)
  require("rat.review.calls").answer(payload.request, payload.items)
end

---@param payload rat.msg.PendingCounts
function handlers.pending_counts(payload)
  require("rat.chats.page").counted(payload)
end

---@param payload rat.msg.Compare
function handlers.compare(payload)
  require("rat.review.compare").arrived(payload)
end

---@param payload rat.msg.Proposal
function handlers.proposal(payload)
  require("rat.diff.proposal").arrived(payload)
end

---@param payload rat.msg.Trace
function handlers.trace(payload)
  require("rat.view.trace_page").arrived(payload)
end

---@param payload rat.msg.Diff
function handlers.diff(payload)
  require("rat.diff").arrived(payload)
end

--- Messages that open windows, which is not possible in the command-line window. `chat` is missing because its handler
--- defers opening by itself.
local opens_window = {
  scratch = true,
  trace = true,
  terminal = true,
  diff = true,
  proposal = true,
  review = true,
  compare = true,
  exported = true,
}

--- Messages deferred until the command-line window closes, in order.
---@type {[1]: string, [2]: table}[]
local deferred = {}

---@param kind string
---@param payload table
local function defer(kind, payload)
  deferred[#deferred + 1] = { kind, payload }
  if #deferred > 1 then
    return
  end
  local function handle_deferred()
    local messages = deferred
    deferred = {}
    for _, message in ipairs(messages) do
      M.handle(message[1], message[2])
    end
  end
  local callback = vim.schedule_wrap(handle_deferred)
  vim.api.nvim_create_autocmd("CmdwinLeave", { once = true, callback = callback })
end

--- Handles one message other than `draw`.
---@param kind string
---@param payload table
function M.handle(kind, payload)
  if opens_window[kind] and (#deferred > 0 or vim.fn.getcmdwintype() ~= "") then
    return defer(kind, payload)
  end
  local handler = handlers[kind]
  if not handler then
    return notify.warn(("Unknown message from rat-nvim: %s. See :checkhealth rat."):format(kind))
  end
  -- One message that fails must not prevent the rest of its frame.
  notify.guard(kind, handler)(payload)
  require("rat.chats.attention").refresh()
end

--- A frame that arrived while text was locked and has not been applied.
---@type {[1]: string, [2]: table}[]?
local stored_frame

--- Applies a frame, in order. Called over RPC, on the main loop. While text is locked (|textlock|) the whole frame is
--- stored instead; the binary then calls again without a frame until it has been applied.
---@param frame? {[1]: string, [2]: table}[] kind and payload; nil for the stored one
---@return rat.call.FrameAnswer
function M.apply(frame)
  frame, stored_frame = frame or stored_frame, nil
  if not frame then
    return { lost = true }
  elseif require("rat.document.busy").is_text_locked() then
    stored_frame = frame
    return { busy = true }
  end
  local problems, undrawn = {}, {}
  for _, item in ipairs(frame) do
    local kind, payload = item[1], item[2]
    local ok, problem
    if kind == "draw" then
      ok, problem = pcall(handlers.draw, payload)
      if not ok then
        undrawn[#undrawn + 1] = { chat = payload.chat, view = payload.view }
      elseif payload.view ~= "chat" then
        ok, problem = pcall(require("rat.view.window").fit_stacked, payload.chat)
      end
    else
      ok, problem = pcall(M.handle, kind, payload)
    end
    if not ok then
      problems[#problems + 1] = kind .. ": " .. tostring(problem)
    end
  end
  return { problems = problems, undrawn = undrawn }
end

--- Whether a frame is stored that has not been applied.
---@return boolean
function M.is_waiting()
  return stored_frame ~= nil
end

return M
