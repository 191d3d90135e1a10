--- What the user has written and the agent has not got, so that it outlives Neovim: the prompt, what is attached to it, the
--- queue. A file for each chat, by folder; it belongs to the Neovim that writes it until that is gone.
local keep = require("rat.keep")

local M = {}

--- How long after a change it is written, in milliseconds.
local SOON_MS = 300

---@class rat.Draft
---@field agent string
---@field pid integer of the Neovim it belongs to
---@field server string where that one listens
---@field prompts {text: string, attachments: rat.Attachment[]}[] the queue, then what is being written

--- What is on the disk, as JSON, by path.
---@type table<string, string>
local written = {}
---@type table<rat.Chat, true>
local changed = {}
---@type uv.uv_timer_t?
local timer
local writing = false

---@param of rat.Chat
---@return string
local function path_of(of)
  of.draft_file = of.draft_file
    or vim.fs.joinpath(
      keep.folder("drafts", of.cwd),
      ("%d-%s.json"):format(vim.fn.getpid(), (of.name:gsub("%W", "-")))
    )
  return of.draft_file
end

---@param of rat.Chat
---@return string[]
local function lines_of(of)
  local buf = of.buffers.prompt
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  end
  return of.draft or {}
end

---@param of rat.Chat
---@return string? json nil where there is nothing to keep
local function content(of)
  local prompts = {}
  for _, text in ipairs(of.status.queued) do
    prompts[#prompts + 1] = { text = text, attachments = of.sent[text] or {} }
  end
  local lines = lines_of(of)
  local texts, kept = require("rat.history").besides(of.buffers.prompt or -1, lines)
  local text = table.concat(lines, "\n")
  if vim.trim(text) ~= "" and not kept then
    table.insert(texts, math.max(1, #texts), text)
  end
  if #texts == 0 and #of.attachments > 0 then
    texts[1] = ""
  end
  for i, one in ipairs(texts) do
    prompts[#prompts + 1] = { text = one, attachments = i == #texts and of.attachments or {} }
  end
  if #prompts == 0 then
    return nil
  end
  local draft =
    { agent = of.agent, pid = vim.fn.getpid(), server = vim.v.servername, prompts = prompts }
  return vim.json.encode(draft)
end

--- Writes what has changed.
---@param at_once boolean Neovim ends
local function flush(at_once)
  if writing and not at_once then
    return
  end
  local of = next(changed)
  if not of then
    return
  end
  changed[of] = nil
  local json = content(of)
  if not json and not of.draft_file then
    return flush(at_once)
  end
  local path = path_of(of)
  if json == written[path] then
    return flush(at_once)
  end
  written[path] = json
  if at_once then
    if json then
      keep.replace(path, json)
    else
      vim.uv.fs_unlink(path)
    end
    return flush(at_once)
  end
  writing = true
  local go_on = vim.schedule_wrap(function()
    writing = false
    flush(false)
  end)
  if json then
    keep.replace(path, json, go_on)
  else
    vim.uv.fs_unlink(path, go_on)
  end
end

local function watch()
  timer = assert(vim.uv.new_timer())
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("rat_drafts", {}),
    desc = "rat: what is written outlives Neovim",
    callback = function()
      flush(true)
    end,
  })
end

--- Something the user has written has changed.
---@param of rat.Chat?
function M.changed(of)
  if not of then
    return
  end
  changed[of] = true
  if not timer then
    watch()
  end
  if not timer:is_active() then
    timer:start(
      SOON_MS,
      0,
      vim.schedule_wrap(function()
        flush(false)
      end)
    )
  end
end

--- Whether the Neovim that a draft belongs to still runs.
---@param draft rat.Draft
---@return boolean
local function is_owned(draft)
  if draft.pid == vim.fn.getpid() then
    return true
  end
  -- Another program may have its number by now.
  return vim.uv.kill(draft.pid, 0) == 0 and vim.uv.fs_stat(draft.server) ~= nil
end

---@param path string
---@return rat.Draft?
local function read(path)
  local text = keep.read(path)
  local ok, draft = pcall(vim.json.decode, text or "", { luanil = { object = true } })
  local whole = ok
    and type(draft) == "table"
    and type(draft.pid) == "number"
    and type(draft.server) == "string"
    and type(draft.prompts) == "table"
  return whole and draft or nil
end

--- Takes over what was written for an agent in this folder in a Neovim that is gone.
---@param of rat.Chat
---@return {text: string, attachments: rat.Attachment[]}[] oldest first
function M.take(of)
  local folder = keep.folder("drafts", of.cwd)
  local found = {}
  for name in vim.fs.dir(folder) do
    local path = vim.fs.joinpath(folder, name)
    local writer = name:match("^(%d+)%-.*%.new$")
    if writer and vim.uv.kill(tonumber(writer), 0) ~= 0 then
      vim.uv.fs_unlink(path) -- It was killed while it wrote; what it had written before is beside it.
    end
    local draft = not name:match("%.new$") and read(path)
    if draft and draft.agent == of.agent and not is_owned(draft) then
      local stat = vim.uv.fs_stat(path)
      -- Of several Neovims one gets it: who could give it another name.
      local mine = ("%s.%d"):format(path, vim.fn.getpid())
      if stat and vim.uv.fs_rename(path, mine) then
        found[#found + 1] = { at = stat.mtime.sec, draft = draft, path = mine }
      end
    end
  end
  if #found == 0 then
    return {}
  end
  table.sort(found, function(a, b)
    return a.at < b.at
  end)
  local prompts = {}
  for _, one in ipairs(found) do
    vim.list_extend(prompts, one.draft.prompts)
  end
  -- What was taken over is in a file of this Neovim's before the old one goes.
  vim.schedule(function()
    changed[of] = true
    flush(true)
    for _, one in ipairs(found) do
      vim.uv.fs_unlink(one.path)
    end
  end)
  return prompts
end

return M
