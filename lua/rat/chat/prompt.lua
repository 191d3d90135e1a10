--- The prompt buffer: what the user types, sending it, its history. Nothing typed is lost on a way that fails.
local attached = require("rat.attached")
local chat = require("rat.chat")
local context = require("rat.context")
local history = require("rat.history")
local rpc = require("rat.rpc")
local scratch = require("rat.scratch")

local M = {}

---@class rat.Message
---@field text string
---@field attachments rat.Attachment[]
---@field chat? rat.Chat

--- Prompts whose files are still being read, in the order they were sent.
---@type {message: rat.Message, open: integer}[]
local outbox = {}

--- Sends what is complete, never past one that is not.
local function flush()
  while outbox[1] and outbox[1].open == 0 do
    local message = table.remove(outbox, 1).message
    if message.chat then
      message.chat.sent[message.text] = message.attachments
    end
    rpc.request("prompt", {
      chat = message.chat and message.chat.id,
      text = message.text,
      attachments = message.attachments,
    })
  end
end

--- Where a whole file is among what goes with a prompt already: it may have been attached, too, or come back with a
--- prompt that was not sent.
---@param attachments (rat.Attachment|false)[]
---@param found rat.Attachment
---@return integer?
local function place_of(attachments, found)
  for i, other in ipairs(attachments) do
    if other and other.uri == found.uri and not other.first then
      return i
    end
  end
end

---@param message rat.Message
local function post(message)
  local cwd = message.chat and message.chat.cwd or vim.fn.getcwd()
  local paths = require("rat.mention").paths(message.text, cwd)
  local entry = { message = message, open = #paths }
  local before = #message.attachments
  outbox[#outbox + 1] = entry
  for i = 1, #paths do
    message.attachments[before + i] = false
  end
  for i, path in ipairs(paths) do
    context.file(path, function(found)
      message.attachments[found and place_of(message.attachments, found) or before + i] = found
        or false
      entry.open = entry.open - 1
      if entry.open == 0 then
        message.attachments = vim.tbl_filter(function(attachment)
          return attachment
        end, message.attachments)
        flush()
      end
    end)
  end
  flush()
end

--- Sends a prompt. Where no agent runs, one is started first.
---@param message rat.Message
---@param accepted? fun() the prompt is on its way
function M.send(message, accepted)
  local to = message.chat
  local function go()
    if to then
      chat.touch(to)
      require("rat.reader").follow(to.buffers.chat)
    end
    history.push(to and to.cwd or vim.fn.getcwd(), message.text)
    if accepted then
      accepted()
    end
    post(message)
  end
  if to and to.id then
    return go()
  end
  message.chat = nil
  -- A start that was asked for takes the prompts that follow it.
  if require("rat.launch").pending() then
    return go()
  end
  local again = to and { agent = to.agent, cwd = to.cwd } or {}
  require("rat.launch").start(again, go)
end

---@param buf integer
---@return string text without empty lines around it
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  return (text:gsub("^%s*\n", ""):gsub("%s+$", ""))
end

--- Sends what is in the prompt buffer.
---@param of rat.Chat
function M.submit(of)
  local buf = chat.buffer(of, "prompt")
  local text = text_of(buf)
  if text == "" and #of.attachments == 0 then
    if of.id and of.status.queue_paused then
      rpc.notify("queue_go", { chat = of.id })
    end
    return
  end
  -- The attachments are copied: they are taken off only once the prompt is on its way.
  local attachments = vim.list_slice(of.attachments)
  M.send({ text = text, attachments = attachments, chat = of }, function()
    attached.take(of)
    -- What was sent may be one of before, which the user came to from a draft.
    scratch.fill(buf, history.draft(buf) or {})
    history.reset(buf)
    require("rat.drafts").changed(of)
    require("rat.window").fit(of)
  end)
end

--- Puts a prompt that could not be sent before what the user has typed since.
---@param of rat.Chat
---@param text string
function M.give_back(of, text)
  local buf = chat.buffer(of, "prompt")
  local lines = vim.split(text, "\n", { plain = true })
  local typed = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  if #typed == 1 and typed[1] == "" then
    scratch.fill(buf, lines)
  else
    lines[#lines + 1] = ""
    scratch.insert(buf, lines)
  end
  require("rat.drafts").changed(of)
  history.reset(buf)
  require("rat.window").fit(of)
end

--- Brings back what was written in a Neovim that is gone and no agent has got.
---@param of rat.Chat
function M.restore(of)
  local prompts = require("rat.drafts").take(of)
  for i = #prompts, 1, -1 do
    attached.give_back(of, prompts[i].attachments or {})
    M.give_back(of, prompts[i].text or "")
  end
end

---@param text string
---@return string its first line, with an ellipsis where there is more
function M.first_line(text)
  local line = vim.trim(text):match("^[^\n]*")
  return line == vim.trim(text) and line or line .. " …"
end

--- Takes back a prompt that waits for the end of the turn; of several the user chooses which.
---@param of rat.Chat
function M.take_back(of)
  local function take(index)
    rpc.notify("queue_take", { chat = of.id, index = index })
  end
  local queued = of.status.queued
  if #queued == 1 then
    return take(1)
  elseif #queued == 0 then
    return require("rat.say").info("no prompt is queued")
  end
  local opts = { prompt = "Edit which prompt?", format_item = M.first_line }
  require("rat.select").open(queued, opts, function(_, index)
    if index then
      take(index)
    end
  end)
end

--- Shows the next older or newer prompt in the prompt buffer the user is in.
---@param step integer -1 is older, 1 newer
function M.recall(step)
  local buf = vim.api.nvim_get_current_buf()
  local of = chat.of(buf)
  local lines = of
    and history.step(buf, of.cwd, step, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
  if not of or not lines then
    return
  end
  scratch.fill(buf, lines)
  local row = step < 0 and 1 or #lines
  vim.api.nvim_win_set_cursor(0, { row, #lines[row] })
  require("rat.window").fit(of)
end

--- Makes a buffer a prompt.
---@param buf integer
function M.attach(buf)
  local group = vim.api.nvim_create_augroup("rat_prompt_" .. buf, {})
  vim.bo[buf].completefunc = "v:lua.require'rat.complete'.prompt"
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    buffer = buf,
    callback = function()
      local of = chat.of(buf)
      if of then
        require("rat.drafts").changed(of)
        require("rat.window").fit(of)
        require("rat.window").refresh(of)
        require("rat.above").uncover(of)
        require("rat.slash").show_hint(of)
      end
    end,
  })
  vim.api.nvim_create_autocmd("TextChangedI", {
    group = group,
    buffer = buf,
    desc = "Complete /commands and @files as they are typed",
    callback = function()
      require("rat.complete").as_typed()
    end,
  })
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = group,
    buffer = buf,
    desc = "A draft is no unsaved file",
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buf,
    desc = "A draft outlives its buffer",
    callback = function()
      local of = chat.of(buf)
      if of then
        of.draft = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      end
    end,
  })
  vim.api.nvim_create_autocmd("InsertEnter", {
    group = group,
    buffer = buf,
    callback = function()
      local of = chat.of(buf)
      if of then
        require("rat.complete").warm(of.cwd)
      end
    end,
  })
end

return M
