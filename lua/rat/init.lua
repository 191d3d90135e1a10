--- The public Lua API, |rat-lua|. Each function loads the modules it needs when it is called.
local arguments = require("rat.util.arguments")

local M = {}

--- Sets the options, |rat-options|. Calling it is optional: every option has a default. If one is wrong, the user is told
--- and nothing is set.
---@param opts? rat.Options
function M.setup(opts)
  local problems = require("rat.config").set(opts)
  if #problems > 0 then
    local text = "setup: %s (no option was set)"
    return require("rat.util.notify").error(text:format(table.concat(problems, "; ")))
  end
  require("rat.rpc").configure()
end

--- Starts an agent, or shows the chat that is open with it. Returns without waiting for the agent.
---@param opts? {agent: string?, cwd: string?, new: boolean?, session: string?}
function M.start(opts)
  local keys = { agent = "string", cwd = "string", new = "boolean", session = "string" }
  arguments.options("start", opts, keys)
  opts = opts or {}
  require("rat.chat") -- connects the modules of a chat
  require("rat.chat.launch").start({
    agent = opts.agent,
    cwd = opts.cwd,
    new = opts.new,
    session = opts.session,
    focus = true,
  })
end

--- Turns context into attachments. What cannot be attached is reported and left out.
---@param items rat.Context[]
---@param callback fun(attachments: rat.Attachment[])
local function gather(items, callback)
  require("rat.context.resolve").items(items, nil, function(attachments, problems)
    for _, problem in ipairs(problems) do
      require("rat.util.notify").warn(problem)
    end
    callback(attachments)
  end)
end

---@param session string|integer|nil a session id, or the number of a chat
---@return rat.Chat?
local function find_chat(session)
  if session == nil then
    return require("rat.chat.current").for_prompt()
  end
  return vim.iter(require("rat.chat.registry").list()):find(function(chat)
    return chat.id == session or chat.status.session_id == session
  end)
end

--- Sends a prompt. If no agent is running, the default one is started first. Returns without waiting for either.
---@param text string
---@param opts? {context: rat.Context[]?, session: (string|integer)?, now: boolean?}
function M.send(text, opts)
  arguments.expect("send", "text", text, "string")
  local session = type(opts) == "table" and type(opts.session) == "number" and "integer" or "string"
  arguments.options("send", opts, { context = "table", session = session, now = "boolean" })
  opts = opts or {}
  if opts.context and not vim.islist(opts.context) then
    arguments.refuse("send", "context: expected a list")
  end
  require("rat.chat") -- connects the modules of a chat
  local chat = find_chat(opts.session)
  if opts.session and not chat then
    arguments.refuse("send", ("no such session: %s"):format(opts.session))
  end
  gather(opts.context or {}, function(attachments)
    if vim.trim(text) ~= "" or #attachments > 0 then
      local message = { text = text, attachments = attachments, chat = chat, now = opts.now }
      require("rat.chat.prompt").send(message)
    end
  end)
end

--- Adds a tool to those of the editor that agents can call, |rat.tool()|.
---@param tool rat.OwnTool
---@return boolean added
function M.tool(tool)
  return require("rat.tools.own").add(tool)
end

--- Adds a provider of context: what `@name` in a prompt stands for, |rat.context()|.
---@param provider rat.ContextProvider
function M.context(provider)
  local problem = require("rat.context").add(provider)
  if problem then
    arguments.refuse("context", problem)
  end
end

--- Attaches something to the next prompt, like |:RatAdd|. Returns without waiting for files to be read.
---@param item rat.Context|rat.Context[]
function M.add(item)
  local is_list = type(item) == "table" and vim.islist(item)
  assert(
    is_list or type(item) == "table" or type(item) == "string",
    "rat.add: expected a path, a table or a list of these"
  )
  require("rat.chat") -- connects the modules of a chat
  require("rat.chat.adding").items((is_list and item or { item }) --[[@as rat.Context[] ]])
end

--- Has an agent change lines of the current buffer in place, |rat.edit()|. Returns without waiting for it.
---@param opts? {text: string?, first: integer?, last: integer?, agent: string?}
function M.edit(opts)
  local keys = { text = "string", first = "integer", last = "integer", agent = "string" }
  arguments.options("edit", opts, keys)
  opts = opts or {}
  arguments.lines("edit", opts, vim.api.nvim_buf_line_count(0))
  require("rat.chat") -- connects the modules of a chat
  require("rat.in_place").start(opts)
end

--- Cancels the turn of the current chat, like |:RatCancel|.
function M.cancel()
  require("rat.commands").RatCancel()
end

--- Stops the agent of the current chat, like |:RatStop|.
function M.stop()
  require("rat.commands").RatStop({ bang = false })
end

---@return integer? number of the current chat, if the binary knows it
local function chat_number()
  local chat = require("rat.chat.current").get()
  return chat and chat.id
end

--- Calls a function with each event of a conversation, |rat.on()|; for "*" with all, the name first.
---@generic K: keyof rat.event.Payloads
---@param event K
---@param listener fun(data: rat.event.Payloads[K])
---@return fun() remove
---@overload fun(event: "*", listener: fun(name: string, data: table)): fun()
function M.on(event, listener)
  return require("rat.rpc.listeners").add(event --[[@as string]], listener)
end

--- Passes the turns of the current chat's folder whose changes are kept to a callback, the newest first, |rat.turns()|.
---@param callback fun(turns: rat.msg.ListedTurn[])
function M.turns(callback)
  arguments.expect("turns", "callback", callback, "function")
  require("rat.review.calls").turns(chat_number(), callback)
end

--- Passes the pending hunks to a callback, |rat.changes()|.
---@param opts rat.ChangesOptions?
---@param callback fun(changes: rat.msg.Change[])
function M.changes(opts, callback)
  local scopes = { "all", "session", "turn", "tool" }
  local keys = { scope = scopes, path = "string", turn = "integer", tool = "string" }
  arguments.options("changes", opts, keys)
  opts = opts or {}
  arguments.expect("changes", "callback", callback, "function")
  require("rat.review.calls").changes(chat_number(), opts, callback)
end

---@param keep boolean
---@param opts {path: string?, first: integer?, last: integer?, scope: ("all"|"turn")?}?
local function decide(keep, opts)
  local name = keep and "accept" or "reject"
  local keys = { path = "string", first = "integer", last = "integer", scope = { "all", "turn" } }
  arguments.options(name, opts, keys)
  opts = opts or {}
  arguments.lines(name, opts)
  if opts.first and not opts.path then
    arguments.refuse(name, "first: it needs path")
  end
  require("rat.rpc").notify("review", {
    chat = chat_number(),
    keep = keep,
    path = opts.path and vim.fn.fnamemodify(opts.path, ":p"),
    first = opts.first,
    last = opts.last or opts.first,
    scope = opts.scope or "all",
    decision = require("rat.review.decisions").next_number(),
  })
end

--- Accepts pending hunks: those of a file that touch lines, of a file, of the last turn, or all, |rat.accept()|.
---@param opts {path: string?, first: integer?, last: integer?, scope: ("all"|"turn")?}?
function M.accept(opts)
  decide(true, opts)
end

--- Rejects pending hunks, as |rat.accept()| accepts them.
---@param opts {path: string?, first: integer?, last: integer?, scope: ("all"|"turn")?}?
function M.reject(opts)
  decide(false, opts)
end

--- Undoes a turn after a question, by default the last one, like |:RatUndo|.
---@param turn rat.msg.ListedTurn? one that |rat.turns()| gave
function M.undo(turn)
  if turn ~= nil then
    local is_turn = type(turn) == "table"
      and type(turn.root) == "string"
      and type(turn.id) == "string"
    if not is_turn then
      local found = type(turn) == "string" and ('"%s"'):format(turn) or type(turn)
      arguments.refuse("undo", ("expected a turn that rat.turns() gave, got %s"):format(found))
    end
    local payload = { chat = chat_number(), root = turn.root, id = turn.id }
    require("rat.rpc").notify("undo", payload)
  else
    require("rat.commands").RatUndo()
  end
end

--- Redoes the turn that was undone last after a question, like |:RatRedo|.
function M.redo()
  require("rat.commands").RatRedo()
end

--- Returns the status of the current chat, |rat-status()|.
---@return table
function M.status()
  return require("rat.chat.status").status(require("rat.chat.current").get())
end

--- Shows the next chat that waits for an answer, or that has finished or failed unseen, |rat.next_waiting()|.
function M.next_waiting()
  require("rat.chat") -- connects the modules of a chat
  require("rat.chats.page").open_next()
end

--- Returns how many chats wait, have failed, have finished unseen and are running, |rat.counts()|. Loads nothing before the
--- first chat.
---@return rat.ChatCounts
function M.counts()
  local attention = package.loaded["rat.chats.attention"]
  return attention and attention.counts() or { waiting = 0, failed = 0, done = 0, running = 0 }
end

--- Returns a short text for 'statusline', escaped; empty if there is no chat. With `chats` it tells of all chats, else of the
--- current one. Loads nothing before the first chat.
---@param opts? {chats: boolean?}
---@return string
function M.statusline(opts)
  if not package.loaded["rat.chat.registry"] then
    return ""
  elseif type(opts) == "table" and opts.chats then
    return require("rat.chats.attention").summary()
  end
  local chat = require("rat.chat.current").get()
  local requests = require("rat.ask.permission").all()
  vim.list_extend(requests, require("rat.ask.form").all())
  local count = #requests + require("rat.ask.question_list").count()
  return require("rat.chat.status").statusline(chat, count)
end

return M
