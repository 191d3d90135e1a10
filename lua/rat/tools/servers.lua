--- What language servers have said since the editor's own tools were used first: what they have published, and whether one that
--- was just started has read the project.
local api = vim.api

local M = {}

--- How long a server that was just started may take to say anything, and to be ready, in milliseconds.
local SILENT_MS, START_MS = 3000, 10000

---@class rat.tools.Published
---@field at integer when
---@field version? integer of the document, which not all servers say
---@field tick integer 'changedtick' then

--- What was published last: by client and buffer.
---@type table<integer, table<integer, rat.tools.Published>>
local published = {}

--- When each client has attached to a buffer first, or was seen first.
---@type table<integer, integer>
local started = {}

--- Clients that have told a progress.
---@type table<integer, true>
local has_told = {}

local PUBLISH = "textDocument/publishDiagnostics"
local is_watching = false

--- Notes what servers publish.
local function watch()
  if is_watching then
    return
  end
  is_watching = true
  local usual = vim.lsp.handlers[PUBLISH]
  vim.lsp.handlers[PUBLISH] = function(err, result, context, ...)
    local ok, buf = pcall(vim.uri_to_bufnr, result and result.uri or "")
    if ok and context and api.nvim_buf_is_loaded(buf) then
      published[context.client_id] = published[context.client_id] or {}
      published[context.client_id][buf] = {
        at = vim.uv.now(),
        version = result.version,
        tick = api.nvim_buf_get_changedtick(buf),
      }
    end
    return usual(err, result, context, ...)
  end
end

local group = api.nvim_create_augroup("rat_tools_servers", {})
-- Without a server there is no need to load what Neovim has for them.
if package.loaded["vim.lsp"] then
  watch()
  for _, client in ipairs(vim.lsp.get_clients()) do
    started[client.id] = vim.uv.now()
  end
end
api.nvim_create_autocmd("LspAttach", {
  group = group,
  desc = "rat: note when a language server was started",
  callback = function(event)
    watch()
    local id = event.data.client_id
    started[id] = started[id] or vim.uv.now()
  end,
})
api.nvim_create_autocmd("LspProgress", {
  group = group,
  desc = "rat: note that a language server tells what it does",
  callback = function(event)
    has_told[event.data.client_id] = true
  end,
})
-- A file that is read again is opened anew for the servers.
api.nvim_create_autocmd({ "BufReadPost", "LspDetach" }, {
  group = group,
  desc = "rat: forget what language servers have said of an earlier text",
  callback = function(event)
    for _, of_client in pairs(published) do
      of_client[event.buf] = nil
    end
  end,
})

--- Returns what a server has published last for a buffer.
---@param client vim.lsp.Client
---@param buf integer
---@return rat.tools.Published?
function M.published(client, buf)
  return (published[client.id] or {})[buf]
end

--- Whether a server has ended.
---@param client vim.lsp.Client
---@return boolean
function M.has_ended(client)
  local known = vim.lsp.get_client_by_id(client.id)
  -- Of Neovim 0.12 it may be known for a while after its end.
  return known == nil or known.is_stopped(known)
end

---@type table<integer, {client: vim.lsp.Client, listeners: table<fun(), true>}>
local end_listeners = {}

--- Calls a listener if a server ends.
---@param client vim.lsp.Client
---@param listener fun()
---@return fun() forget does not call it any more
function M.on_end(client, listener)
  local of_client = end_listeners[client.id] or { client = client, listeners = {} }
  end_listeners[client.id] = of_client
  of_client.listeners[listener] = true
  return function()
    of_client.listeners[listener] = nil
  end
end

api.nvim_create_autocmd("LspDetach", {
  group = group,
  desc = "rat: note that a language server has ended",
  callback = vim.schedule_wrap(function()
    for id, of_client in pairs(end_listeners) do
      if M.has_ended(of_client.client) then
        end_listeners[id] = nil
        for listener in pairs(of_client.listeners) do
          listener()
        end
      end
    end
  end),
})

--- Whether a server has read the project: before that, some answer in part.
---@param client vim.lsp.Client
---@return boolean
function M.is_ready(client)
  local age = vim.uv.now() - (started[client.id] or 0)
  if age > START_MS or M.has_ended(client) then
    return true
  end
  local is_busy = client.progress and next(client.progress.pending) ~= nil
  local has_spoken = has_told[client.id] or next(published[client.id] or {}) ~= nil
  return not is_busy and (has_spoken or age > SILENT_MS)
end

return M
