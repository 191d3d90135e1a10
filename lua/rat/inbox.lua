--- What the binary says, beside drawing: hands each message to who owns the matter. Decides nothing.
local say = require("rat.say")

local M = {}

--- Tells the screen and the user's autocommands that a chat stands differently.
---@param chat rat.Chat
---@param id integer the binary's number of it
function M.state_changed(chat, id)
  require("rat.window").refresh(chat)
  -- For those who have `statusline()` in theirs.
  vim.cmd.redrawstatus({ bang = true })
  say.event("RatState", {
    chat = id,
    agent = chat.agent,
    session_id = chat.status.session_id,
    state = chat.status.state,
    detail = chat.status.detail,
  })
end

---@type table<string, fun(payload: table)>
local handlers = {}

function handlers.chat(payload)
  local chat = require("rat.chat").opened(payload)
  require("rat.notice").watch()
  if payload.show then
    require("rat.window").open(chat, payload.focus)
  end
end

function handlers.status(payload)
  local chat, changed = require("rat.chat").updated(payload)
  if not chat then
    return
  end
  require("rat.clock").note(chat)
  if changed then
    M.state_changed(chat, payload.chat)
  else
    require("rat.window").refresh(chat)
  end
  require("rat.above").show(chat)
  require("rat.permission").update()
  require("rat.form").update()
  require("rat.login").update()
end

function handlers.notify(payload)
  local tell = say[payload.level] or say.info
  tell(payload.text)
end

function handlers.event(payload)
  local data = payload.data or {}
  local chat = payload.name == "RatTurnEnd" and require("rat.chat").get(data.chat)
  if chat then
    require("rat.notice").ended(chat, data.stop_reason)
  end
  say.event(payload.name, data)
end

function handlers.commands(payload)
  local chat = require("rat.chat").get(payload.chat)
  if chat then
    chat.commands = payload.commands
  end
end

function handlers.offer(payload)
  require("rat.content").offered(payload)
end

function handlers.exported(payload)
  require("rat.content").exported(payload)
end

function handlers.meta(payload)
  require("rat.meta").arrived(payload)
end

function handlers.login(payload)
  require("rat.login").wanted(payload)
end

function handlers.elicitation(payload)
  require("rat.form").asked(payload)
end

function handlers.problems(payload)
  require("rat.form").problems(payload)
end

function handlers.browse(payload)
  require("rat.form").browse(payload)
end

function handlers.options(payload)
  local chat = require("rat.chat").get(payload.chat)
  if chat then
    chat.options = payload.options
    require("rat.window").refresh(chat)
    vim.cmd.redrawstatus({ bang = true })
  end
end

function handlers.ask(payload)
  require("rat.question").asked(payload)
end

function handlers.unask(payload)
  require("rat.question").withdrawn(payload.id)
end

function handlers.sessions(payload)
  require("rat.sessions").show(payload)
end

function handlers.scratch(payload)
  require("rat.scratch").show(payload)
end

function handlers.terminal(payload)
  require("rat.terminal").arrived(payload)
end

function handlers.draft(payload)
  local chat = require("rat.chat").get(payload.chat)
  if chat then
    require("rat.attached").give_back(chat, payload.attachments or {})
    require("rat.prompt").give_back(chat, payload.text)
  end
end

function handlers.diff(payload)
  require("rat.diff").arrived(payload)
end

--- What opens windows, which cannot be done beside the command-line window; `chat` waits by itself.
local opens = { scratch = true, terminal = true, open = true, diff = true, exported = true }

--- What waits for the command-line window to close, in order.
---@type {[1]: string, [2]: table}[]
local waiting = {}

---@param kind string
---@param payload table
local function wait(kind, payload)
  waiting[#waiting + 1] = { kind, payload }
  if #waiting > 1 then
    return
  end
  local function go_on()
    local all = waiting
    waiting = {}
    for _, message in ipairs(all) do
      M.handle(message[1], message[2])
    end
  end
  vim.api.nvim_create_autocmd("CmdwinLeave", { once = true, callback = vim.schedule_wrap(go_on) })
end

--- Called by `ui` for every message of a batch that draws nothing, on the main loop.
---@param kind string
---@param payload table
function M.handle(kind, payload)
  if opens[kind] and (#waiting > 0 or vim.fn.getcmdwintype() ~= "") then
    return wait(kind, payload)
  end
  local handler = handlers[kind]
  if not handler then
    return say.warn(("the binary sent %s, which this version does not know"):format(kind))
  end
  -- One message that fails must not take the rest of its batch with it.
  say.guard(kind, handler)(payload)
end

return M
