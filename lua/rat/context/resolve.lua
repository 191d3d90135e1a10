--- Asks providers what they attach, and checks the answer. Whatever a provider does, there is one answer, within a limit of
--- time and of size.
local attachment = require("rat.context.attachment")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local places = require("rat.context.places")
local provider = require("rat.context.provider")
local text_of = require("rat.util.text")

local M = {}

--- How long a provider may take, in milliseconds.
M.limit = 10000
--- How many bytes of text one mention may attach, and how many attachments.
M.max_bytes, M.max_attachments = 4 * 1024 * 1024, 1000

---@class rat.Resolved
---@field attachments rat.Attachment[] empty if there is a problem
---@field count? integer how many entries they have
---@field problem? string why there are none, as the rest of a sentence that begins with the mention

--- Returns what a provider gets.
---@param cwd string
---@param argument? string
---@return rat.ContextRequest
function M.request(cwd, argument)
  local win = location.users_window()
  local buf = win and vim.api.nvim_win_get_buf(win)
  return { cwd = cwd, argument = argument, win = win, buf = buf }
end

--- Returns a text that can be sent: only UTF-8 can.
---@param text any
---@return string? # nil if it is no text
local function sendable(text)
  return type(text) == "string" and text_of.valid_utf8(text) or nil
end

---@param value any
---@return integer? # nil if it is none
local function whole(value)
  return type(value) == "number" and value % 1 == 0 and value --[[@as integer]] or nil
end

---@param item table
---@return rat.Attachment? # nil if it makes no sense
local function of_buffer(item)
  local buf = whole(item.buf or vim.api.nvim_get_current_buf())
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return nil
  elseif item.first == nil then
    return attachment.buffer(buf)
  end
  local first, last = whole(item.first), whole(item.last or item.first)
  local count = vim.api.nvim_buf_line_count(buf)
  if first and last and 1 <= first and first <= last and first <= count then
    return attachment.lines(buf, first, math.min(last, count))
  end
end

--- Keeps of a file's text the lines that an item names.
---@param file rat.Attachment
---@param item table
---@return rat.Attachment
local function lines_of_file(file, item)
  local first, last = whole(item.first), whole(item.last or item.first)
  if whole(item.lnum) then
    first, last = places.around(item.lnum, whole(item.end_lnum))
  end
  if not (file.text and first and last) then
    return file
  end
  local lines = vim.split(file.text, "\n", { plain = true })
  if lines[#lines] == "" then
    table.remove(lines)
  end
  first = math.max(1, math.min(first, #lines))
  last = math.max(first, math.min(last, #lines))
  file.text = table.concat(lines, "\n", first, last) .. "\n"
  file.first, file.last = first, last
  return file
end

---@param item table
---@param word? string the mention it is for
---@return rat.Attachment? # nil if it makes no sense
local function of_text(item, word)
  local label = sendable(item.label) or word or "context"
  local has_lines = whole(item.first) and whole(item.last)
  local found = {
    text = sendable(item.text),
    path = sendable(item.path),
    label = label,
    uri = sendable(item.uri) or "context:" .. vim.uri_encode((label:gsub("^@", ""))),
    mime = sendable(item.mime) or "text/plain",
    first = has_lines and item.first or nil,
    last = has_lines and item.last or nil,
    part = sendable(item.part),
  }
  return (found.text or found.path) and found or nil
end

--- Returns the path of a file that has to be read. A table with `uri` is finished.
---@param item any
---@return string?
local function path_of(item)
  if type(item) == "string" then
    return item
  end
  local is_file = type(item) == "table" and type(item.path) == "string" and not item.uri
  return is_file and not item.text and item.path or nil
end

--- Turns context into attachments, in its order. Files are read asynchronously.
---@param items rat.Context[]
---@param word string? the mention they are for
---@param callback fun(attachments: rat.Attachment[], problems: string[]) called on the main loop, maybe at once
function M.items(items, word, callback)
  -- Starts at 1 so that the callback runs after the loop even if every file is read at once.
  local found, problems, outstanding = {}, {}, 1
  local function arrived()
    outstanding = outstanding - 1
    if outstanding == 0 then
      local list = {}
      for i = 1, #items do
        list[#list + 1] = found[i]
      end
      callback(list, problems)
    end
  end
  for i, item in ipairs(items) do
    local name = path_of(item)
    if name then
      outstanding = outstanding + 1
      local path = vim.fn.fnamemodify(vim.fs.normalize(name), ":p")
      attachment.file(path, function(file, problem)
        found[i] = file and type(item) == "table" and lines_of_file(file, item) or file
        if problem then
          local shown = vim.fn.fnamemodify(path, ":.")
          problems[#problems + 1] = ("Could not attach %s: %s"):format(shown, problem)
        end
        arrived()
      end)
    elseif type(item) == "table" then
      if item.text ~= nil or item.path ~= nil then
        found[i] = of_text(item, word)
      else
        found[i] = of_buffer(item)
      end
      if not found[i] then
        problems[#problems + 1] = ("Could not attach item %d: it makes no sense"):format(i)
      end
    else
      problems[#problems + 1] = ("Could not attach item %d: it is a %s"):format(i, type(item))
    end
  end
  arrived()
end

--- Checks what a provider has answered, and turns it into attachments.
---@param mention rat.Mention
---@param answer any
---@param callback fun(found: rat.Resolved)
local function check(mention, answer, callback)
  local function fail(problem)
    callback({ attachments = {}, problem = problem })
  end
  if type(answer) == "string" or type(answer) == "table" and not vim.islist(answer) then
    answer = { answer }
  end
  if type(answer) ~= "table" then
    return fail(("answered with a %s"):format(type(answer)))
  elseif #answer == 0 then
    return fail("has nothing to attach")
  elseif #answer > M.max_attachments then
    return fail(("has %d attachments, the limit is %d"):format(#answer, M.max_attachments))
  end
  M.items(answer, mention.word, function(attachments, problems)
    local bytes, count = 0, #attachments > 1 and #attachments or nil
    for _, one in ipairs(attachments) do
      bytes = bytes + #(one.text or "")
    end
    for _, item in ipairs(answer) do
      count = type(item) == "table" and whole(item.count) or count
    end
    if problems[1] then
      return fail(("failed: %s"):format(text_of.first_line(problems[1])))
    elseif bytes > M.max_bytes then
      local sizes = { text_of.size(bytes), text_of.size(M.max_bytes) }
      return fail(("has %s, the limit is %s"):format(unpack(sizes)))
    end
    callback({ attachments = attachments, count = count })
  end)
end

--- Runs a function of a provider's, which returns its answer or gives it later. Only the first answer counts.
---@param run rat.ContextFunction
---@param request rat.ContextRequest
---@param limit integer milliseconds
---@param callback fun(answer: any, problem: string?) called once, on the main loop, maybe at once
function M.ask(run, request, limit, callback)
  local is_answered, timer = false, assert(vim.uv.new_timer())
  local function settle(answer, problem)
    if not is_answered then
      is_answered = true
      timer:close()
      callback(answer, problem)
    end
  end
  local function answer(...)
    local given = { ... }
    if vim.in_fast_event() then
      return vim.schedule(function()
        settle(given[1], given[2])
      end)
    end
    settle(given[1], given[2])
  end
  timer:start(
    limit,
    0,
    vim.schedule_wrap(function()
      settle(nil, ("did not answer within %d ms"):format(limit))
    end)
  )
  local ok, result, problem = xpcall(run, debug.traceback, request, answer)
  if not ok then
    notify.log(("a context provider failed: %s"):format(result))
    local line = text_of.first_line(tostring(result)):gsub(" …$", ""):gsub(" ~$", "")
    settle(nil, ("failed: %s"):format(line))
  elseif result ~= nil or problem ~= nil then
    settle(result, problem)
  end
end

--- Finds what a mention stands for.
---@param mention rat.Mention
---@param cwd string folder of the session
---@param callback fun(found: rat.Resolved) called once, on the main loop, maybe at once
function M.mention(mention, cwd, callback)
  local own = provider.get(mention.name)
  if not own then
    return callback({ attachments = {}, problem = "is unknown" })
  end
  M.ask(own.resolve, M.request(cwd, mention.argument), M.limit, function(answer, problem)
    if problem ~= nil then
      local line = text_of.first_line(tostring(problem))
      return callback({ attachments = {}, problem = line })
    elseif answer == nil then
      return callback({ attachments = {}, problem = "has nothing to attach" })
    end
    check(mention, answer, callback)
  end)
end

return M
