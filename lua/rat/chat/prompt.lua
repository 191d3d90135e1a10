--- Manages the prompt buffer: takes its text for sending, recalls earlier prompts, and takes prompts back that could not be
--- sent. No text is lost when sending fails.
local attachment_list = require("rat.chat.attachment_list")
local autoscroll = require("rat.view.autoscroll")
local buffers = require("rat.chat.buffers")
local chips = require("rat.chat.chips")
local drafts = require("rat.chat.drafts")
local elsewhere = require("rat.chat.elsewhere")
local history = require("rat.chat.history")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local outbox = require("rat.chat.outbox")
local prompt_files = require("rat.chat.prompt_files")
local prompt_header = require("rat.chat.prompt_header")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local slash = require("rat.chat.slash")
local text_of = require("rat.util.text")
local window = require("rat.view.window")
-- Completion is loaded in Insert mode; modules that read files or open choosers are loaded when they are needed.

local M = {}

--- Sends a prompt. If no agent is running, one is started first.
---@param message rat.Message
---@param on_sent? fun() called once the prompt is on its way
function M.send(message, on_sent)
  local chat, written = message.chat, message.text
  message.text = prompt_files.expand(written, chat and chat.cwd or vim.fn.getcwd(), function(name)
    return chat ~= nil and slash.is_agents(chat, name)
  end)
  local function send()
    -- Sent before anything else, so that the agent can start working meanwhile.
    outbox.add(message)
    if chat then
      registry.touch(chat)
      autoscroll.go_to_end(chat.buffers.chat)
    end
    history.push(chat and chat.cwd or vim.fn.getcwd(), written)
    if on_sent then
      on_sent()
    end
  end
  if chat and chat.id then
    return launch.with_agent(chat, send)
  end
  message.chat = nil
  -- The binary gives prompts without a chat to the chat that is being started.
  if launch.is_starting() then
    return send()
  end
  local opts = chat and { agent = chat.agent, cwd = chat.cwd } or {}
  launch.start(opts, send)
end

---@param buf integer
---@return string text without blank lines around it
local function typed_text(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  return (text:gsub("^%s*\n", ""):gsub("%s+$", ""))
end

---@type fun(chat: rat.Chat)[]
local listeners = {}

--- Calls a listener whenever the text in the prompt of a chat has changed.
---@param listener fun(chat: rat.Chat)
function M.on_change(listener)
  listeners[#listeners + 1] = listener
end

---@param chat rat.Chat
local function changed(chat)
  drafts.changed(chat)
  for _, listener in ipairs(listeners) do
    listener(chat)
  end
  window.fit(chat)
end

--- Asks, once for each folder, before a prompt goes to a chat of another project than the one the user is in.
---@param chat? rat.Chat
---@param go fun()
function M.confirm(chat, go)
  local project = chat and elsewhere.to_confirm(chat)
  if not chat or not project then
    return go()
  end
  local here = vim.fn.fnamemodify(vim.fn.getcwd(), ":~")
  local items = { ("Send it to %s in %s"):format(chat.title, project), "Do not send it" }
  local opts = { prompt = ("You are in %s: send this to the other project?"):format(here) }
  require("rat.ask.chooser").open(items, opts, function(_, index)
    if index == 1 then
      elsewhere.allow(chat)
      go()
    end
  end)
end

--- Sends the text of the prompt buffer with the attachments. If both are empty, sends the queue if it waits for that.
---@param chat rat.Chat
---@param now? boolean whether to cancel a running turn instead of waiting for its end; by default as configured
function M.submit(chat, now)
  local buf = buffers.get(chat, "prompt")
  local text = typed_text(buf)
  if text == "" and #chat.attachments == 0 then
    if chat.id and chat.status.queue_paused then
      rpc.notify("queue_go", { chat = chat.id })
    end
    if chat.id and #chat.status.queued > 0 and launch.has_ended(chat) then
      launch.restart(chat)
    end
    return
  end
  if elsewhere.to_confirm(chat) then
    -- It may have changed until the user has answered.
    return M.confirm(chat, function()
      M.submit(chat, now)
    end)
  end
  -- The attachments are copied, since they are removed from the chat only once the prompt is on its way.
  local attachments = vim.list_slice(chat.attachments)
  local message = { text = text, attachments = attachments, chat = chat, now = now }
  M.send(message, function()
    attachment_list.take_all(chat)
    -- The agent may have been prepared to be started first, and the user may have gone on writing.
    if typed_text(buf) == text then
      -- If the user recalled an earlier prompt and sent that, the draft they had been writing comes back.
      scratch.fill(buf, history.sent(buf, chat.cwd))
    end
    changed(chat)
  end)
end

---@param chat rat.Chat
---@param texts string[]
---@param shown? integer which of them is to be shown, in place of the text of the buffer
local function set_aside(chat, texts, shown)
  local buf = buffers.get(chat, "prompt")
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  history.set_aside(buf, chat.cwd, texts, lines, shown)
  if shown then
    scratch.fill(buf, vim.split(texts[shown], "\n", { plain = true }))
  end
end

--- Puts a prompt back into the prompt buffer. One that could not be sent is inserted before what the user has typed since.
--- One that the user took out of the queue is shown in place of the draft, which is one step further in the history.
---@param chat rat.Chat
---@param text string
---@param taken? boolean whether the user took it out of the queue
function M.give_back(chat, text, taken)
  local buf = buffers.get(chat, "prompt")
  local unsent = history.unsent(buf, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
  local draft, is_aside = unsent.draft, #unsent.aside > 0
  if taken and (draft ~= "" or is_aside) then
    set_aside(chat, { text }, 1)
    if draft ~= "" then
      notify.info("Your draft is kept: <Down> shows it")
    end
  elseif unsent.shown or draft ~= "" and history.is_draft(buf) then
    -- The user may be typing there, so their text is not replaced.
    scratch.insert(buf, vim.split(text .. "\n", "\n", { plain = true }))
  else
    local both = draft == "" and text or text .. "\n\n" .. draft
    local lines = vim.split(both, "\n", { plain = true })
    if scratch.is_unchanged(buf) then
      -- A draft of an earlier Neovim is where the user begins.
      scratch.load(buf, scratch.fill, lines)
    else
      scratch.fill(buf, lines)
    end
    history.go_to_draft(buf)
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
    end
  end
  changed(chat)
end

outbox.on_missing(M.give_back)

--- Restores prompts that were written in a Neovim that has exited and that the agent has not received.
---@param chat rat.Chat
function M.restore(chat)
  local prompts, aside, shown = drafts.take_over(chat)
  local is_empty = scratch.is_empty(buffers.get(chat, "prompt"))
  for i = #prompts, 1, -1 do
    attachment_list.give_back(chat, prompts[i].attachments or {})
    M.give_back(chat, prompts[i].text or "")
  end
  if #aside > 0 then
    set_aside(chat, aside, is_empty and shown or nil)
    changed(chat)
  end
end

--- Moves what the user has written and not sent from the prompt of a chat that has ended to another.
---@param chat rat.Chat
---@param from rat.Chat
function M.move(chat, from)
  local old = from.buffers.prompt
  if old and vim.api.nvim_buf_is_valid(old) then
    local unsent = history.unsent(old, vim.api.nvim_buf_get_lines(old, 0, -1, false))
    local buf = buffers.get(chat, "prompt")
    local is_empty = scratch.is_empty(buf)
    if unsent.draft ~= "" then
      local lines = vim.split(unsent.draft, "\n", { plain = true })
      local present = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      scratch.fill(buf, is_empty and lines or vim.list_extend(present, lines))
    end
    if #unsent.aside > 0 then
      set_aside(chat, unsent.aside, is_empty and unsent.shown or nil)
    end
    if unsent.draft ~= "" or #unsent.aside > 0 then
      history.reset(old)
      scratch.fill(old, {})
    end
  end
  -- Each chat has its own draft file, and both have changed.
  drafts.changed(chat)
  drafts.changed(from)
end

--- Takes a prompt out of the queue to edit it. If several are queued, the user chooses one.
---@param chat rat.Chat
function M.take_back(chat)
  ---@param queued rat.QueuedPrompt
  local function edit_queued(queued)
    rpc.notify("queue_take", { chat = chat.id, number = queued.number })
  end
  local queued = registry.queued(chat)
  if #queued == 1 then
    return edit_queued(queued[1])
  elseif #queued == 0 then
    return notify.info("No prompt is queued")
  end
  local function describe(item)
    return text_of.first_line(item.text)
  end
  local opts = { prompt = "Edit which prompt?", format_item = describe }
  require("rat.ask.chooser").open(queued, opts, function(item)
    if item then
      edit_queued(item)
    end
  end)
end

--- Shows the next older or newer prompt in the current buffer, if it is a prompt.
---@param step integer -1 is older, 1 newer
function M.recall(step)
  local buf = vim.api.nvim_get_current_buf()
  local chat = registry.of(buf)
  local lines = chat
    and history.step(buf, chat.cwd, step, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
  if not chat or not lines then
    return
  end
  scratch.fill(buf, lines)
  local row = step < 0 and 1 or #lines
  vim.api.nvim_win_set_cursor(0, { row, #lines[row] })
  changed(chat)
end

--- Sets up a buffer as a prompt.
---@param buf integer
function M.attach(buf)
  local group = vim.api.nvim_create_augroup("rat_prompt_" .. buf, {})
  chips.attach(buf)
  vim.bo[buf].completefunc = "v:lua.require'rat.complete.menu'.completefunc"
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    buffer = buf,
    callback = function()
      local chat = registry.of(buf)
      if chat then
        changed(chat)
        window.refresh(chat)
        prompt_header.uncover(chat)
        slash.show_hint(chat)
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    desc = "rat: show the attachments above a draft",
    -- Scheduled, since the window gets its size after that.
    callback = vim.schedule_wrap(function()
      local chat = registry.of(buf)
      if chat then
        prompt_header.uncover(chat)
      end
    end),
  })
  vim.api.nvim_create_autocmd("TextChangedI", {
    group = group,
    buffer = buf,
    desc = "Complete /commands and @files as they are typed",
    callback = function()
      require("rat.complete.menu").as_typed()
    end,
  })
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = group,
    buffer = buf,
    desc = "rat: a prompt never counts as unsaved",
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buf,
    desc = "rat: keep the draft",
    callback = function()
      local chat = registry.of(buf)
      if chat then
        chat.draft = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      end
    end,
  })
  vim.api.nvim_create_autocmd("InsertEnter", {
    group = group,
    buffer = buf,
    callback = function()
      local chat = registry.of(buf)
      require("rat.complete.plugins").prepare()
      if chat then
        require("rat.complete.files").refresh(chat.cwd)
        slash.refresh(chat)
      end
    end,
  })
end

return M
