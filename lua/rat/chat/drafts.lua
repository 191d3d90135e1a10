--- Saves what the user has written and the agent has not received, so that it survives the end of Neovim: the prompt, its
--- attachments and the queue. Each chat has a file, in a folder for its working folder. A file belongs to the Neovim that
--- writes it until that has exited.
local history = require("rat.chat.history")
local private_file = require("rat.util.private_file")

local M = {}

--- How long after a change a draft is written, in milliseconds.
local WRITE_DELAY_MS = 300

---@class rat.Draft
---@field agent string
---@field pid integer process id of the Neovim it belongs to
---@field server string address of that Neovim: |v:servername|
---@field closed? boolean whether its chat was closed, so that any Neovim may take it
---@field prompts rat.KeptPrompt[] the queue, then the draft
---@field aside? string[] other texts that were not sent, see |rat.Unsent|
---@field shown? integer which of these was in the prompt, in place of the draft

---@class rat.KeptPrompt
---@field text string
---@field attachments rat.Attachment[]

--- The JSON in each file, by path.
---@type table<string, string>
local written = {}
--- Chats whose draft has to be written.
---@type table<rat.Chat, true>
local changed = {}
---@type uv.uv_timer_t?
local timer
local writing = false

---@param chat rat.Chat
---@return string
local function path_of(chat)
  chat.draft_file = chat.draft_file
    or vim.fs.joinpath(
      private_file.folder("drafts", chat.cwd),
      ("%d-%s.json"):format(vim.fn.getpid(), (chat.name:gsub("%W", "-")))
    )
  return chat.draft_file
end

---@param chat rat.Chat
---@return string[]
local function lines_of(chat)
  local buf = chat.buffers.prompt
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  end
  return chat.draft or {}
end

---@param chat rat.Chat
---@param closed? boolean
---@return string? json nil if there is no draft
local function content(chat, closed)
  local prompts = {}
  for _, text in ipairs(chat.status.queued) do
    prompts[#prompts + 1] = { text = text, attachments = chat.sent[text] or {} }
  end
  for _, message in ipairs(chat.outgoing) do
    prompts[#prompts + 1] = { text = message.text, attachments = message.given }
  end
  local unsent = history.unsent(chat.buffers.prompt or -1, lines_of(chat))
  if unsent.draft ~= "" or #chat.attachments > 0 then
    prompts[#prompts + 1] = { text = unsent.draft, attachments = chat.attachments }
  end
  if #prompts == 0 and #unsent.aside == 0 then
    return nil
  end
  return vim.json.encode({
    agent = chat.agent,
    pid = vim.fn.getpid(),
    server = vim.v.servername,
    closed = closed,
    prompts = prompts,
    aside = #unsent.aside > 0 and unsent.aside or nil,
    shown = unsent.shown,
  })
end

--- Writes the drafts that have changed, one after the other.
---@param synchronous boolean true when Neovim exits
local function flush(synchronous)
  if writing and not synchronous then
    return
  end
  local chat = next(changed)
  if not chat then
    return
  end
  changed[chat] = nil
  local json = content(chat)
  if not json and not chat.draft_file then
    return flush(synchronous)
  end
  local path = path_of(chat)
  if json == written[path] then
    return flush(synchronous)
  end
  written[path] = json
  if synchronous then
    if json then
      private_file.replace(path, json)
    else
      vim.uv.fs_unlink(path)
    end
    return flush(synchronous)
  end
  writing = true
  local flush_next = vim.schedule_wrap(function()
    writing = false
    flush(false)
  end)
  if json then
    private_file.replace(path, json, flush_next)
  else
    vim.uv.fs_unlink(path, flush_next)
  end
end

local function watch()
  timer = assert(vim.uv.new_timer())
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("rat_drafts", {}),
    desc = "rat: save drafts",
    callback = function()
      flush(true)
    end,
  })
end

--- Has the draft of a chat written soon, after the prompt, its attachments or the queue have changed.
---@param chat rat.Chat?
function M.changed(chat)
  if not chat then
    return
  end
  changed[chat] = true
  if not timer then
    watch()
  end
  local write_timer = timer --[[@as uv.uv_timer_t]]
  if not write_timer:is_active() then
    write_timer:start(
      WRITE_DELAY_MS,
      0,
      vim.schedule_wrap(function()
        flush(false)
      end)
    )
  end
end

--- Leaves the draft of a chat that is closed to the next chat with its agent in its folder.
---@param chat rat.Chat
---@return boolean kept whether there is one
---@return string? problem
function M.release(chat)
  local json, path = content(chat, true), path_of(chat)
  if json then
    -- A name of its own: that of the chat may be used again.
    local own_path = ("%s.%d"):format(path, vim.uv.hrtime())
    local ok, problem = private_file.replace(own_path, json)
    if not ok then
      return false, problem or "the file cannot be written"
    end
  end
  changed[chat], written[path] = nil, nil
  vim.uv.fs_unlink(path)
  return json ~= nil
end

--- Whether the Neovim that a draft belongs to is still running.
---@param draft rat.Draft
---@return boolean
local function is_owned(draft)
  if draft.closed then
    return false
  elseif draft.pid == vim.fn.getpid() then
    return true
  end
  -- Another process may have the same id by now, but not the same server address.
  return vim.uv.kill(draft.pid, 0) == 0 and vim.uv.fs_stat(draft.server) ~= nil
end

---@param path string
---@return rat.Draft?
local function read(path)
  local text = private_file.read(path)
  local ok, draft = pcall(vim.json.decode, text or "", { luanil = { object = true } })
  local is_valid = ok
    and type(draft) == "table"
    and type(draft.pid) == "number"
    and type(draft.server) == "string"
    and type(draft.prompts) == "table"
    and type(draft.aside or {}) == "table"
  return is_valid and draft --[[@as rat.Draft]] or nil
end

--- Takes over the drafts that Neovims which have exited left for the chat's agent and folder.
---@param chat rat.Chat
---@return rat.KeptPrompt[] prompts oldest first
---@return string[] aside
---@return integer? shown which of `aside` was in the prompt
function M.take_over(chat)
  local folder = private_file.folder("drafts", chat.cwd)
  local found = {}
  for name in vim.fs.dir(folder) do
    local path = vim.fs.joinpath(folder, name)
    local writer = name:match("^(%d+)%-.*%.new$")
    if
      writer and vim.uv.kill(tonumber(writer) --[[@as integer]], 0) ~= 0
    then
      vim.uv.fs_unlink(path) -- That Neovim was killed while it wrote. The previous draft is in a file of its own.
    end
    local draft = not name:match("%.new$") and read(path)
    if draft and draft.agent == chat.agent and not is_owned(draft) then
      local stat = vim.uv.fs_stat(path)
      -- If several Neovims try this, only one can rename the file.
      local own_path = ("%s.%d"):format(path, vim.fn.getpid())
      if stat and vim.uv.fs_rename(path, own_path) then
        found[#found + 1] = { at = stat.mtime.sec, draft = draft, path = own_path }
      end
    end
  end
  if #found == 0 then
    return {}, {}
  end
  table.sort(found, function(a, b)
    return a.at < b.at
  end)
  local prompts, aside = {}, {}
  local shown ---@type integer?
  for _, entry in ipairs(found) do
    vim.list_extend(prompts, entry.draft.prompts)
    shown = entry.draft.shown and #aside + entry.draft.shown or nil
    vim.list_extend(aside, entry.draft.aside or {})
  end
  -- The old files are removed only after the prompts have been written to this Neovim's file.
  vim.schedule(function()
    changed[chat] = true
    flush(true)
    for _, entry in ipairs(found) do
      vim.uv.fs_unlink(entry.path)
    end
  end)
  return prompts, aside, shown
end

return M
