--- Asks the user's file providers, the options `files.read_provider` and `files.write_provider`, before a file is read or
--- written for an agent. Whatever they do, the binary gets one answer, and in doubt the file is used as usual.
local config = require("rat.config")
local notify = require("rat.util.notify")
local rpc = require("rat.rpc")

local M = {}

--- How long a provider may take, in milliseconds.
M.limit = 10000

--- What a file provider gets.
---@class rat.FileRequest
---@field path string real path of the file
---@field line? integer first line, from 1; only for reads
---@field limit? integer how many lines at most; only for reads
---@field content? string the whole new text; only for writes

---@param text any
---@return boolean
local function is_text(text)
  return type(text) == "string"
    -- It is an error to encode what is not UTF-8.
    and (not text:find("[\128-\255]") or (pcall(vim.fn.json_encode, text)))
end

--- Asks a provider. Later answers than its first one are ignored.
---@param option "read_provider"|"write_provider"
---@param id integer
---@param request rat.FileRequest
---@param payload fun(answer: any): {text?: string, written?: boolean}? what it means; nil if it makes no sense
local function ask(option, id, request, payload)
  local is_answered = false
  local timer = assert(vim.uv.new_timer())
  local function settle(answer, problem)
    if is_answered then
      return
    end
    is_answered = true
    timer:close()
    local told = answer ~= nil and payload(answer) or {}
    if answer ~= nil and not next(told) then
      problem = "gave an answer that makes no sense"
    end
    rpc.notify("provided", { id = id, text = told.text, written = told.written })
    if problem then
      local text = "files.%s %s, so %s is used as usual."
      notify.warn(text:format(option, problem, vim.fs.basename(request.path)))
    end
  end
  local function answer(value)
    if vim.in_fast_event() then
      vim.schedule(function()
        settle(value)
      end)
    else
      settle(value)
    end
  end
  local provider = config.get().files[option]
  if not provider then
    return settle(nil)
  end
  timer:start(
    M.limit,
    0,
    vim.schedule_wrap(function()
      settle(nil, ("did not answer within %d ms"):format(M.limit))
    end)
  )
  local ok, result = xpcall(provider, debug.traceback, request, answer)
  if not ok then
    local rest = is_answered and "" or ", so the file is used as usual"
    notify.failed(("files.%s failed%s"):format(option, rest), result)
    settle(nil)
  elseif result ~= nil and not is_answered then
    settle(nil, "returned a value and has to call answer()")
  end
end

--- Asks for the text of a file, or of some of its lines.
---@param id integer
---@param path string
---@param line? integer
---@param limit? integer
function M.read(id, path, line, limit)
  ask("read_provider", id, { path = path, line = line, limit = limit }, function(text)
    return is_text(text) and { text = text } or nil
  end)
end

--- Asks whether the provider writes a file itself.
---@param id integer
---@param path string
---@param content string
function M.write(id, path, content)
  ask("write_provider", id, { path = path, content = content }, function(answer)
    return type(answer) == "boolean" and { written = answer } or nil
  end)
end

return M
