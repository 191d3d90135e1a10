--- The public Lua interface, |rat-lua|; loads what it needs when it is called.
local M = {}

--- Takes options, |rat-options|. Nothing needs it: without it every option has its default.
---@param opts table?
function M.setup(opts)
  require("rat.launch").setup(opts)
end

--- Starts an agent, or shows the chat there is with it. Returns at once.
---@param opts? {agent: string?, cwd: string?, new: boolean?, session: string?}
function M.start(opts)
  opts = opts or {}
  require("rat.launch").start({
    agent = opts.agent,
    cwd = opts.cwd,
    new = opts.new,
    session = opts.session,
    focus = true,
  })
end

--- What may be given as context: a file's path, lines of a buffer, or an attachment as it is.
---@alias rat.Context string | {buf: integer?, first: integer?, last: integer?} | rat.Attachment

---@param items rat.Context[]
---@param callback fun(attachments: rat.Attachment[])
local function gather(items, callback)
  local context = require("rat.context")
  local found, open = {}, 1
  local function arrived()
    open = open - 1
    if open == 0 then
      callback(vim.tbl_filter(function(attachment)
        return attachment
      end, found))
    end
  end
  for i, item in ipairs(items) do
    if type(item) == "string" then
      open = open + 1
      context.file(vim.fn.fnamemodify(vim.fs.normalize(item), ":p"), function(attachment, problem)
        found[i] = attachment or false
        if problem then
          require("rat.say").warn(("%s is left out: %s"):format(item, problem))
        end
        arrived()
      end)
    elseif item.uri then
      found[i] = item
    else
      local buf = item.buf or vim.api.nvim_get_current_buf()
      local first = item.first
      found[i] = first and context.lines(buf, first, item.last or first) or context.buffer(buf)
    end
  end
  arrived()
end

---@param session string|integer|nil a session id, or the number of a chat
---@return rat.Chat?
local function chat_of(session)
  local chat = require("rat.chat")
  if session == nil then
    return chat.current()
  end
  return vim.iter(chat.list()):find(function(one)
    return one.id == session or one.status.session_id == session
  end)
end

--- Sends a prompt; the default agent is started first where none runs. Returns at once.
---@param text string
---@param opts? {context: rat.Context[]?, session: (string|integer)?}
function M.send(text, opts)
  opts = opts or {}
  assert(type(text) == "string", "rat.send: the text has to be a string")
  local chat = chat_of(opts.session)
  if opts.session and not chat then
    error(("rat.send: there is no session %s"):format(opts.session), 0)
  end
  gather(opts.context or {}, function(attachments)
    if vim.trim(text) ~= "" or #attachments > 0 then
      require("rat.prompt").send({ text = text, attachments = attachments, chat = chat })
    end
  end)
end

--- Cancels the turn of the current chat, as `:RatCancel`.
function M.cancel()
  require("rat.commands").RatCancel()
end

--- Ends the agent of the current chat, as `:RatStop`.
function M.stop()
  require("rat.commands").RatStop()
end

--- How the current chat stands, |rat-status()|.
---@return table
function M.status()
  return require("rat.status").status(require("rat.chat").current())
end

--- A short text for 'statusline', escaped; empty where there is no chat.
---@return string
function M.statusline()
  if not package.loaded["rat.chat"] then
    return ""
  end
  local chat = require("rat.chat").current()
  local asked = require("rat.permission").all()
  vim.list_extend(asked, require("rat.form").all())
  local count = #asked + require("rat.question").count()
  return require("rat.status").statusline(chat, count)
end

return M
