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
    return send()
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

--- Sends the text of the prompt buffer with the attachments. If both are empty, resumes a paused queue.
---@param chat rat.Chat
---@param now? boolean whether to cancel a running turn instead of waiting for its end; by default as configured
function M.submit(chat, now)
  local buf = buffers.get(chat, "prompt")
  local text = typed_text(buf)
  if text == "" and #chat.attachments == 0 then
    if chat.id and chat.status.queue_paused then
      rpc.notify("queue_go", { chat = chat.id })
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
    -- If the user recalled an earlier prompt and sent that, the draft they had been writing comes back.
    scratch.fill(buf, history.draft(buf) or {})
    history.reset(buf)
    changed(chat)
  end)
end

--- Puts a prompt back into the prompt buffer. One that could not be sent is inserted before what the user has typed since.
--- One that the user took out of the queue is shown in place of the draft, which is one step further in the history.
---@param chat rat.Chat
---@param text string
---@param taken? boolean whether the user took it out of the queue
function M.give_back(chat, text, taken)
  local buf = buffers.get(chat, "prompt")
  local shown = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local typed = table.concat(history.unsent(buf, shown), "\n\n")
  if taken and typed ~= "" then
    history.start_at(buf, chat.cwd, text, vim.split(typed, "\n", { plain = true }))
    scratch.fill(buf, vim.split(text, "\n", { plain = true }))
    notify.info("Your draft is kept: <Down> shows it")
  elseif typed == table.concat(shown, "\n") and typed ~= "" then
    -- The user may be typing there, so their text is not replaced.
    scratch.insert(buf, vim.split(text .. "\n", "\n", { plain = true }))
    history.reset(buf)
  else
    local both = typed == "" and text or text .. "\n\n" .. typed
    local lines = vim.split(both, "\n", { plain = true })
    if scratch.is_unchanged(buf) then
      -- A draft of an earlier Neovim is where the user begins.
      scratch.load(buf, scratch.fill, lines)
    else
      scratch.fill(buf, lines)
    end
    history.reset(buf)
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
  local prompts = drafts.take_over(chat)
  for i = #prompts, 1, -1 do
    attachment_list.give_back(chat, prompts[i].attachments or {})
    M.give_back(chat, prompts[i].text or "")
  end
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
