--- Diagnostics for the editor's own tools. Language servers take a while to see a change, so what is told is waited for; where
--- that cannot be known, it is said.
local baseline = require("rat.tools.baseline")
local client_of = require("rat.tools.client")
local file = require("rat.tools.file")
local paths = require("rat.document.paths")
local servers = require("rat.tools.servers")

local api = vim.api
local M = {}

--- How long a server that says nothing is waited for, and how long any is, in milliseconds.
local QUIET_MS, MOST_MS = 1500, 5000
--- How many files are looked at where none is named.
local MOST_FILES = 30

local PULL = "textDocument/diagnostic"

--- Has a server get what has changed in a buffer: any request does that.
---@param client vim.lsp.Client
---@param buf integer
local function flush(client, buf)
  local document = { uri = vim.uri_from_bufnr(buf) }
  local params = { textDocument = document, position = { line = 0, character = 0 } }
  client_of.request(client, "textDocument/hover", params, buf, function() end)
end

--- Waits until a server that publishes has said what it thinks of the present text.
---@param client vim.lsp.Client
---@param buf integer
---@param callback fun(is_confirmed: boolean)
local function published_now(client, buf, callback)
  flush(client, buf)
  local began, tick = vim.uv.now(), api.nvim_buf_get_changedtick(buf)
  local function last()
    return servers.published(client, buf)
  end
  local function is_confirmed()
    local seen = last()
    if not seen then
      return false
    elseif seen.version then
      return seen.version >= (vim.lsp.util.buf_versions[buf] or 0)
    end
    -- It may say first what is wrong with the syntax, and the rest later.
    local loaded = file.loaded(buf)
    local is_only_text = loaded ~= nil and loaded.tick == tick
    return seen.tick == tick
      and (seen.at > began or is_only_text)
      and vim.uv.now() - math.max(seen.at, began) > QUIET_MS
  end
  local function is_over()
    local seen = last()
    local is_quiet = seen ~= nil and vim.uv.now() - math.max(seen.at, began) > QUIET_MS
    -- A server that has just started takes longer to say something.
    return not api.nvim_buf_is_loaded(buf)
      or servers.has_ended(client)
      or is_confirmed()
      or is_quiet
  end
  client_of.wait(
    function()
      return MOST_MS
    end,
    is_over,
    function()
      callback(api.nvim_buf_is_loaded(buf) and is_confirmed())
    end
  )
end

--- Collects what all servers of a buffer say of its present text.
---@param buf integer
---@param path string
---@param found table<string, rat.tools.Diagnostic>
---@param callback fun(unsure: string[]) names of servers that may not have seen the present text
local function collect(buf, path, found, callback)
  local clients = client_of.of_buffer(buf)
  local open, unsure = #clients + 1, {} ---@type integer, string[]
  local function done()
    open = open - 1
    if open == 0 then
      baseline.add_known(buf, found)
      callback(unsure)
    end
  end
  local pulling = client_of.of_buffer(buf, PULL)
  for _, client in ipairs(clients) do
    local pulls = vim.iter(pulling):any(function(other)
      return other.id == client.id
    end)
    if pulls then
      local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
      local is_answered = false
      local function answered(result, problem)
        if not is_answered then
          is_answered = true
          if problem or not result then
            unsure[#unsure + 1] = client.name
          else
            local items = result.items or {}
            baseline.answered(buf, client.id, items)
            baseline.add_answer(path, items, found)
          end
          done()
        end
      end
      vim.fn.timer_start(MOST_MS, function()
        answered(nil, "no answer")
      end)
      client_of.request(client, PULL, params, buf, answered)
    else
      published_now(client, buf, function(is_confirmed)
        if not is_confirmed then
          unsure[#unsure + 1] = client.name
        end
        done()
      end)
    end
  end
  done()
end

--- Waits until it is known what is wrong in files, since an agent is about to change them.
---@param question {files: string[]}
---@param answer rat.tools.Answer
function M.settle(question, answer)
  M.find({ files = question.files, severity = "hint" }, function(findings)
    answer(findings or {})
  end)
end

---@param found table<string, rat.tools.Diagnostic>
---@param question rat.tools.DiagnosticQuestion
---@return rat.notify.FoundPlace[]
local function places(found, question)
  local least =
    vim.diagnostic.severity[question.severity == "warning" and "WARN" or question.severity:upper()]
  local chat, since = question.since_last_edit_of, question.since
  since = since or (chat and baseline.before_edit(chat, question.files)) or {}
  local all = vim.tbl_filter(function(one)
    return one.severity <= least
  end, baseline.new(found, since))
  table.sort(all, function(one, other)
    if one.severity ~= other.severity then
      return one.severity < other.severity
    elseif one.path ~= other.path then
      return one.path < other.path
    end
    return one.line < other.line
  end)
  return vim.tbl_map(function(one)
    return { path = one.path, line = one.line, text = one.text }
  end, all)
end

--- The files of loaded buffers that have a language server, the visible ones first.
---@return string[]
local function loaded_files()
  local files = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if paths.is_document(buf) and #client_of.of_buffer(buf) > 0 then
      local name = api.nvim_buf_get_name(buf)
      table.insert(files, vim.fn.bufwinid(buf) >= 0 and 1 or #files + 1, name)
    end
  end
  return files
end

---@class rat.tools.DiagnosticQuestion
---@field files string[]
---@field severity string
---@field since_last_edit_of? integer the number of a chat
---@field since? rat.tools.Baseline

--- Finds diagnostics.
---@param question rat.tools.DiagnosticQuestion
---@param answer rat.tools.Answer
function M.find(question, answer)
  local wanted = #question.files > 0 and question.files or loaded_files()
  local looked_at = vim.list_slice(wanted, 1, MOST_FILES)
  local found = {} ---@type table<string, rat.tools.Diagnostic>
  local notes, unsure, open, checked = {}, {}, #looked_at + 1, 0
  if #question.files == 0 then
    baseline.add_known(nil, found)
    if #wanted > #looked_at then
      notes[#notes + 1] = ("only %d of %d open files were checked again"):format(
        #looked_at,
        #wanted
      )
    end
    if #wanted == 0 and next(found) == nil then
      notes[#notes + 1] = "no open file has a language server, so nothing is known"
    end
  end
  local function done()
    open = open - 1
    if open > 0 then
      return
    end
    if #question.files > 0 and checked == 0 and next(found) == nil then
      return answer(
        nil,
        #notes > 0 and table.concat(notes, "\n") or "nothing is known of this file"
      )
    end
    local names = vim.tbl_keys(unsure)
    table.sort(names)
    if #names > 0 then
      local text = "not confirmed: %s may not have seen the latest text"
      table.insert(notes, text:format(table.concat(names, ", ")))
    end
    answer({ places = places(found, question), notes = notes })
  end
  for _, path in ipairs(looked_at) do
    local buf, problem = file.buffer(path)
    if not buf then
      notes[#notes + 1] = problem
      done()
    else
      client_of.attached(buf, function(is_attached)
        if not api.nvim_buf_is_loaded(buf) then
          return done()
        end
        if not is_attached then
          local text = "no language server is running for %s, so its errors are not known"
          notes[#notes + 1] = text:format(vim.fs.basename(path))
        else
          checked = checked + 1
        end
        collect(buf, api.nvim_buf_get_name(buf), found, function(names)
          for _, name in ipairs(names) do
            unsure[name] = true
          end
          done()
        end)
      end)
    end
  end
  done()
end

--- Finds the errors in files that were not there before.
---@param files string[]
---@param since rat.tools.Baseline
---@param callback fun(lines: string[])
function M.new_errors(files, since, callback)
  M.find({ files = files, severity = "error", since = since }, function(findings)
    local places_found = findings and findings.places or {}
    callback(vim.tbl_map(function(place)
      return ("%s:%d: %s"):format(place.path, place.line, place.text)
    end, places_found))
  end)
end

return M
