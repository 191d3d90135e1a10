--- `:RatEdit`: has an agent change lines in place, in a session of its own whose chat stays in the background. The binary asks
--- the agent and makes the change; here the user writes what they want, and sees beside the lines how it goes.
local punctuation = require("rat.util.punctuation")
local agents = require("rat.config.agents")
local clock = require("rat.chat.clock")
local current_chat = require("rat.chat.current")
local input = require("rat.ask.input")
local launch = require("rat.chat.launch")
local marks = require("rat.in_place.marks")
local notify = require("rat.util.notify")
local paths = require("rat.document.paths")
local pending = require("rat.review.pending")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local text_of = require("rat.util.text")

local api = vim.api

local M = {}

--- Largest text of a buffer, in bytes.
local MAX_BYTES = 8 * 1024 * 1024

--- Longest words beside the lines, in characters.
local MAX_WORDS = 80

--- How many changes that are over are kept, so that the agent can be asked again.
local MAX_KEPT = 8

--- What the user has written and not sent.
local draft = ""

---@class rat.EditAgent
---@field name string
---@field env table<string, string> what commands have printed for it

---@class rat.EditOptions
---@field text? string what to do; without it, the user writes it
---@field first? integer first line, from 1; by default the line of the cursor
---@field last? integer last line; by default `first`
---@field agent? string by default that of the current chat, else as for `:RatStart`

---@param edit rat.InPlace
---@return string
local function agent_of(edit)
  return edit.chat and edit.chat.title or "The agent"
end

---@param edit rat.InPlace
---@return string
local function file_of(edit)
  return vim.fn.fnamemodify(api.nvim_buf_get_name(edit.buf), ":.")
end

--- Why nothing can be changed in a buffer.
---@param buf integer
---@return string?
local function obstacle(buf)
  if not paths.is_document(buf) then
    return "This buffer is not a file, so nothing can be changed in place"
  elseif not vim.bo[buf].modifiable then
    return "This buffer is not modifiable, so nothing can be changed in place"
  elseif api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf)) > MAX_BYTES then
    return ("This file is too large to be changed in place: the limit is %d MB"):format(
      MAX_BYTES / 1024 / 1024
    )
  elseif vim.fn.search("\\%d0", "nw") > 0 then
    return "This file contains NUL bytes, so it is not text that can be changed in place"
  end
end

--- Whether the agent can be asked again in the session of a change: it was not made, or something of it is pending.
---@param edit rat.InPlace
---@return boolean
local function is_repeatable(edit)
  local first, last = marks.rows(edit)
  if edit.state == "asked" or not first or not last then
    return false
  end
  local is_known = edit.chat ~= nil and edit.chat.id ~= nil
  if edit.state == "failed" then
    return is_known
  end
  local ids = pending.ids(edit.buf, first, last)
  return is_known and (ids == nil or #ids > 0)
end

--- Whether a chat has been asked for a change that is kept.
---@param chat rat.Chat
---@return boolean
local function has_edits(chat)
  return vim.iter(marks.all()):any(function(edit)
    return edit.chat == chat
  end)
end

--- Ends the sessions of changes that are over, except for those that the agent may be asked about again and those whose
--- conversation the user has looked at.
local function tidy()
  local over = vim.tbl_filter(function(edit)
    return edit.state ~= "asked"
  end, marks.all())
  for index, edit in ipairs(over) do
    local chat = edit.chat
    if index <= #over - MAX_KEPT or not is_repeatable(edit) then
      marks.remove(edit)
      if chat and chat.id and registry.is_background(chat) and not has_edits(chat) then
        rpc.notify("close", { chat = chat.id })
      end
    end
  end
end

--- Ends a change whose buffer is unloaded.
---@param buf integer
local function unloaded(buf)
  for _, edit in ipairs(marks.all()) do
    if edit.buf == buf then
      if edit.state == "asked" then
        if edit.chat and edit.chat.id then
          rpc.notify("cancel", { chat = edit.chat.id })
        end
        local told = "%s was closed, so its change in place is cancelled"
        notify.warn(told:format(file_of(edit)))
      end
      marks.remove(edit)
    end
  end
end

---@param buf integer
local function watch(buf)
  api.nvim_create_autocmd("BufUnload", {
    group = api.nvim_create_augroup("rat_in_place_" .. buf, {}),
    buffer = buf,
    desc = "rat: cancel the changes in place of a buffer that is closed",
    callback = function()
      if vim.v.exiting == vim.NIL then
        unloaded(buf)
      end
    end,
  })
end

--- Asks an agent for a change.
---@param edit rat.InPlace
---@param agent? rat.EditAgent of a new session
---@return boolean asked
local function send(edit, agent)
  local first, last = marks.rows(edit)
  if not first or not last then
    notify.warn("The lines are gone, so nothing was asked. :RatEdit still has your text.")
    return false
  end
  local name = api.nvim_buf_get_name(edit.buf)
  local lines = api.nvim_buf_get_lines(edit.buf, 0, -1, false)
  ---@type rat.notify.InPlaceEdit
  local change = {
    edit = edit.number,
    text = edit.text,
    path = vim.uv.fs_realpath(name) or name,
    first = first + 1,
    last = last + 1,
    lines = lines,
  }
  local chat = edit.chat
  if chat and chat.id then
    launch.with_agent(chat, function()
      rpc.notify("edit", { chat = chat.id, edit = change })
    end)
    return true
  end
  if not agent then
    notify.warn("The session of this change has ended. :RatEdit begins another one.")
    return false
  end
  local request, problem = agents.request(agent.name, nil, agent.env)
  if not request then
    notify.error(problem --[[@as string]])
    return false
  end
  request.wish, request.edit = "new", change
  local asked = rpc.request("start", request)
  if asked then
    agents.used(agent.name)
  end
  return asked
end

--- Asks for a change, or keeps its text as the draft.
---@param edit rat.InPlace
---@param agent? rat.EditAgent
---@param earlier? rat.InPlace the change that is asked for again
local function ask(edit, agent, earlier)
  if not send(edit, agent) then
    draft = edit.text
    return marks.remove(edit)
  end
  draft = ""
  if earlier then
    marks.remove(earlier)
  end
  -- Not before: an agent without a session is stopped.
  tidy()
  watch(edit.buf)
  local name = edit.chat and edit.chat.title or agent and agent.name or ""
  marks.say(edit, ("%s: starting"):format(text_of.one_line(name)))
end

--- Lets the user write what they want.
---@param edit rat.InPlace
---@param initial string
---@param on_done fun()
local function write(edit, initial, on_done)
  local function keep(text)
    draft = text
    marks.remove(edit)
  end
  local first, last = marks.rows(edit)
  local title = first == last and "Change this line"
    or ("Change these %d lines"):format(last - first + 1)
  input.open(
    title,
    initial,
    true,
    function(text)
      if vim.trim(text) == "" then
        return keep("")
      end
      edit.text = text
      on_done()
    end,
    keep,
    {
      footer = punctuation.own(" <CR> or <C-s> ask · <C-c> cancel "),
      leaving = "back",
    }
  )
end

---@param buf integer
---@param first integer row
---@param last integer inclusive
---@param opts rat.EditOptions
---@param agent? rat.EditAgent
---@param earlier? rat.InPlace
local function begin(buf, first, last, opts, agent, earlier)
  local text = vim.trim(opts.text or "")
  local edit = marks.add(buf, first, last, text)
  edit.chat = earlier and earlier.chat
  if text ~= "" then
    return ask(edit, agent, earlier)
  end
  local initial = draft ~= "" and draft or earlier and earlier.text or ""
  write(edit, initial, function()
    ask(edit, agent, earlier)
  end)
end

--- Returns the rows that the user means in the current buffer.
---@param opts rat.EditOptions
---@return integer first from 0
---@return integer last inclusive
local function rows_of(opts)
  local count = api.nvim_buf_line_count(0)
  local first = opts.first or api.nvim_win_get_cursor(0)[1]
  local last = math.max(opts.last or first, first)
  ---@param line integer
  ---@return integer
  local function row(line)
    return math.max(line < count and line or count, 1) - 1
  end
  return row(first), row(last)
end

--- Has an agent change lines of the current buffer.
---@param opts rat.EditOptions
function M.start(opts)
  local buf = api.nvim_get_current_buf()
  local problem = obstacle(buf)
  if problem then
    return notify.warn(problem)
  end
  local first, last = rows_of(opts)
  local here = marks.touching(buf, first, last)
  for _, edit in ipairs(here) do
    if edit.state == "asked" then
      local text = "%s is still to change some of these lines. :RatCancel there cancels that."
      return notify.warn(text:format(agent_of(edit)))
    end
  end
  local earlier = vim.iter(here):find(is_repeatable)
  if earlier and not opts.agent then
    local from, to = marks.rows(earlier)
    if not opts.first and from and to then
      first, last = from, to
    end
    return begin(buf, first, last, opts, nil, earlier)
  end
  -- Whoever talks to an agent here means that one.
  local chat = current_chat.get()
  launch.choose(opts.agent or chat and chat.id and chat.agent or nil, function(agent)
    launch.prepare(agent, function(env)
      if api.nvim_buf_is_loaded(buf) and last < api.nvim_buf_line_count(buf) then
        begin(buf, first, last, opts, { name = agent, env = env })
      end
    end)
  end)
end

--- Handles `:RatEdit`.
---@param args vim.api.keyset.create_user_command.command_args
function M.command(args)
  local has_range = args.range > 0
  M.start({
    text = args.args,
    first = has_range and args.line1 or nil,
    last = has_range and args.line2 or nil,
  })
end

--- The 'operatorfunc' of <Plug>(rat-edit-operator).
function M.operatorfunc()
  notify.guard("<Plug>(rat-edit-operator)", function()
    M.start({ first = vim.fn.line("'["), last = vim.fn.line("']") })
  end)()
end

--- Returns the newest change in place that is about the line of the cursor.
---@param state? "asked" only one that the agent is working on
---@return rat.InPlace?
local function at_cursor(state)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  return vim.iter(marks.touching(api.nvim_get_current_buf(), row, row)):find(function(edit)
    return not state or edit.state == state
  end)
end

--- Returns the chat of the change in place that is about the line of the cursor.
---@return rat.Chat?
function M.chat_at_cursor()
  local edit = at_cursor()
  return edit and edit.chat and edit.chat.id and edit.chat or nil
end

--- Cancels the change in place at the cursor.
---@return boolean is_there
function M.cancel_at_cursor()
  local edit = at_cursor("asked")
  if not edit then
    return false
  elseif edit.chat and edit.chat.id then
    rpc.notify("cancel", { chat = edit.chat.id })
  else
    -- Its chat is closed once it is known.
    marks.remove(edit)
  end
  return true
end

--- Says how an agent is getting on, in one line.
---@param chat rat.Chat
---@return string
local function words_for(chat)
  local status = chat.status
  local doing = status.detail and status.state ~= "ready" and status.detail or status.state
  if status.state == "waiting" then
    doing = "waiting for you (:RatPermission)"
  end
  local elapsed = clock.elapsed(chat)
  local words = ("%s: %s%s"):format(
    chat.title,
    doing,
    elapsed and punctuation.own(" · ") .. elapsed or ""
  )
  words = text_of.one_line(words)
  local is_long = vim.fn.strchars(words) > MAX_WORDS
  return is_long and vim.fn.strcharpart(words, 0, MAX_WORDS - 1) .. punctuation.own("…") or words
end

--- Shows how the changes of a chat are going.
---@param chat rat.Chat
function M.updated(chat)
  for _, edit in ipairs(marks.all()) do
    if edit.chat == chat and edit.state == "asked" then
      marks.say(edit, words_for(chat))
    end
  end
end

--- Handles the chat that was opened for a change.
---@param chat rat.Chat
---@param number integer
function M.opened(chat, number)
  local edit = marks.get(number)
  if edit then
    edit.chat = chat
  elseif registry.is_background(chat) and not has_edits(chat) then
    -- It was cancelled before its chat was known.
    rpc.notify("close", { chat = chat.id })
  end
end

--- Handles the end of a change.
---@param payload rat.msg.Edited
function M.over(payload)
  local edit = marks.get(payload.edit)
  if not edit then
    return
  end
  marks.say(edit, nil)
  if payload.outcome ~= "changed" then
    edit.state = "failed"
    return
  end
  marks.made(edit)
  if vim.fn.bufwinid(edit.buf) == -1 then
    notify.info(("%s has changed %s in place"):format(agent_of(edit), file_of(edit)))
  end
end

--- Handles the end of a chat.
---@param chat rat.Chat
function M.closed(chat)
  for _, edit in ipairs(marks.all()) do
    if edit.chat == chat then
      marks.remove(edit)
    end
  end
end

rpc.on_lost(function()
  for _, edit in ipairs(marks.all()) do
    marks.remove(edit)
    if edit.chat and registry.is_background(edit.chat) then
      registry.remove(edit.chat)
    end
  end
end)

return M
