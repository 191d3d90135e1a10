--- Asks language servers, in the ways of Neovim 0.10 to 0.12, without waiting for them in the editor.
local file = require("rat.tools.file")
local servers = require("rat.tools.servers")

local M = {}

--- How long to wait for a language server of a file that was just loaded, and for one that is starting, in milliseconds.
local ATTACH_MS, START_MS = 1500, 10000
local POLL_MS = 30

---@param buf integer
---@param method? string
---@return vim.lsp.Client[]
function M.of_buffer(buf, method)
  return vim.lsp.get_clients({ bufnr = buf, method = method })
end

--- Whether a language server of the buffer is starting.
---@param buf integer
---@return boolean
local function is_starting(buf)
  local ok, all = pcall(vim.lsp.get_clients, { bufnr = buf, _uninitialized = true })
  return ok and vim.iter(all):any(function(client)
    return not client.initialized
  end)
end

--- Calls back once a condition holds, or the time is over.
---@param until_ms fun(): integer how long to wait in all
---@param holds fun(): boolean
---@param callback fun(holds: boolean)
function M.wait(until_ms, holds, callback)
  if holds() then
    return callback(true)
  end
  local began = vim.uv.now()
  local timer = assert(vim.uv.new_timer())
  timer:start(
    POLL_MS,
    POLL_MS,
    vim.schedule_wrap(function()
      if timer:is_closing() then
        return
      end
      local done = holds()
      if done or vim.uv.now() - began > until_ms() then
        timer:close()
        callback(done)
      end
    end)
  )
end

--- Waits until servers that were just started have read the project.
---@param clients vim.lsp.Client[]
---@param callback fun()
local function settled(clients, callback)
  M.wait(function()
    return START_MS
  end, function()
    return vim.iter(clients):all(servers.is_ready)
  end, function()
    callback()
  end)
end

--- Waits until a buffer has a language server, if there is one for it.
---@param buf integer
---@param callback fun(is_attached: boolean)
---@param method? string
function M.attached(buf, callback, method)
  local loaded = file.loaded(buf)
  M.wait(function()
    local is_new = loaded ~= nil and vim.uv.now() - loaded.at < ATTACH_MS
    return is_starting(buf) and START_MS or (is_new and ATTACH_MS or 0)
  end, function()
    return #M.of_buffer(buf, method) > 0
  end, function(is_attached)
    settled(M.of_buffer(buf), function()
      callback(is_attached)
    end)
  end)
end

--- Finds the buffer of a file and a language server for it. `problem` says why there is none.
---@param path string
---@param method string
---@param callback fun(buf: integer?, client: vim.lsp.Client?, problem: string?)
function M.find(path, method, callback)
  local buf, problem = file.buffer(path)
  if not buf then
    return callback(nil, nil, problem)
  end
  M.attached(buf, function(found)
    if found then
      return callback(buf, M.of_buffer(buf, method)[1])
    end
    local others = vim.tbl_map(function(client)
      return client.name
    end, M.of_buffer(buf))
    local name = vim.fs.basename(path)
    if #others > 0 then
      local text = "the language server of %s (%s) cannot do that"
      callback(buf, nil, text:format(name, table.concat(others, ", ")))
    else
      callback(buf, nil, ("no language server is running for %s"):format(name))
    end
  end, method)
end

--- Sends a request. The callback gets the result, or what is wrong, also if the server ends before it answers.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param buf integer
---@param callback fun(result: any, problem: string?)
function M.request(client, method, params, buf, callback)
  local is_over = false
  local forget = servers.on_end(client, function()
    if not is_over then
      is_over = true
      callback(nil, ("%s has ended"):format(client.name))
    end
  end)
  local function handler(err, result)
    if is_over then
      return
    end
    is_over = true
    forget()
    if err then
      local text = type(err) == "table" and err.message or tostring(err)
      return callback(nil, ("%s: %s"):format(client.name, text))
    end
    callback(result)
  end
  local ok, sent
  if vim.fn.has("nvim-0.11") == 1 then
    ok, sent = pcall(client.request, client, method, params, handler, buf)
  else
    ---@diagnostic disable-next-line: param-type-mismatch, missing-parameter
    ok, sent = pcall(client.request, method, params, handler, buf)
  end
  if not ok or not sent then
    handler({ message = "it has ended" })
  end
end

--- Returns how many units of the server come before a byte of a line.
---@param line string
---@param byte integer from 0
---@param encoding string
---@return integer
function M.character(line, byte, encoding)
  local before = line:sub(1, byte)
  if encoding == "utf-8" then
    return #before
  elseif encoding == "utf-32" then
    return vim.fn.strchars(before)
  end
  return vim.fn.strutf16len(before)
end

return M
