--- Changes that language servers make, for the editor's own tools: what they would change is told, and nothing is changed here.
local client_of = require("rat.tools.client")
local symbols = require("rat.tools.symbols")

local M = {}

local request = client_of.request

--- Sorts the edits of a server by file.
---@param edit table LSP `WorkspaceEdit`
---@param encoding string
---@return rat.notify.FoundEdits[]? edits
---@return string? problem
local function file_edits(edit, encoding)
  local by_path, order = {}, {}
  local unknown ---@type string?
  local function add(uri, edits)
    local ok, path = pcall(vim.uri_to_fname, uri)
    if not ok then
      unknown = unknown or tostring(uri)
      return
    end
    if not by_path[path] then
      by_path[path] = {}
      order[#order + 1] = path
    end
    for _, one in ipairs(edits) do
      local first, last = one.range.start, one.range["end"]
      table.insert(by_path[path], {
        line = first.line,
        character = first.character,
        end_line = last.line,
        end_character = last.character,
        text = one.newText,
      })
    end
  end
  -- Of a server that sends both, these count.
  for uri, edits in vim.spairs(not edit.documentChanges and edit.changes or {}) do
    add(uri, edits)
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind then
      return nil, ("it would %s a file, which is not supported: do it by hand"):format(change.kind)
    end
    add(change.textDocument.uri, change.edits)
  end
  if unknown then
    return nil, ("it would change %s, which is not a file"):format(unknown)
  end
  table.sort(order)
  return vim.tbl_map(function(path)
    return { path = path, encoding = encoding, edits = by_path[path] }
  end, order)
end

---@param edit table?
---@param client vim.lsp.Client
---@param answer rat.tools.Answer
local function tell(edit, client, answer)
  if not edit then
    return answer(nil, ("%s has nothing to change"):format(client.name))
  end
  local edits, problem = file_edits(edit, client.offset_encoding)
  if not edits then
    return answer(nil, problem)
  end
  answer({ edits = edits })
end

--- Renames a symbol where it is defined: at an import, some servers would rename only what it is called there.
---@param question {at: {file: string, symbol: string, line?: integer}, new_name: string}
---@param answer rat.tools.Answer
function M.rename(question, answer)
  local method = "textDocument/rename"
  local function rename(client, buf, params)
    params.newName = question.new_name
    request(client, method, params, buf, function(edit, problem)
      if problem then
        return answer(nil, problem)
      end
      tell(edit, client, answer)
    end)
  end
  symbols.at(question.at, method, answer, function(client, buf, params)
    if #client_of.of_buffer(buf, "textDocument/definition") == 0 then
      return rename(client, buf, params)
    end
    request(client, "textDocument/definition", params, buf, function(result)
      local defined = symbols.places(result)
      if #defined ~= 1 or defined[1].path == question.at.file then
        return rename(client, buf, params)
      end
      local there = { file = defined[1].path, symbol = question.at.symbol, line = defined[1].line }
      client_of.find(there.file, method, function(other, at_definition)
        if not other or not at_definition then
          return rename(client, buf, params)
        end
        symbols.locate(at_definition, other, there, function(position)
          if not position then
            return rename(client, buf, params)
          end
          local document = { uri = vim.uri_from_bufnr(other) }
          rename(at_definition, other, { textDocument = document, position = position })
        end)
      end)
    end)
  end)
end

--- Asks what is offered for a line.
---@param question {file: string, line: integer}
---@param answer rat.tools.Answer
---@param callback fun(actions: {action: table, client: vim.lsp.Client}[], buf: integer, notes: string[])
local function offered(question, answer, callback)
  local method = "textDocument/codeAction"
  client_of.find(question.file, method, function(buf, _, problem)
    local clients = buf and client_of.of_buffer(buf, method) or {}
    if not buf or #clients == 0 then
      return answer(nil, problem)
    end
    local text = vim.api.nvim_buf_get_lines(buf, question.line - 1, question.line, false)[1]
    if not text then
      return answer(
        nil,
        ("%s has no line %d"):format(vim.fs.basename(question.file), question.line)
      )
    end
    local found, notes, open = {}, {}, #clients
    for _, client in ipairs(clients) do
      local line = question.line - 1
      local range = {
        start = { line = line, character = 0 },
        ["end"] = {
          line = line,
          character = client_of.character(text, #text, client.offset_encoding),
        },
      }
      local diagnostics = {}
      for _, one in ipairs(vim.diagnostic.get(buf, { lnum = line })) do
        diagnostics[#diagnostics + 1] = vim.tbl_get(one, "user_data", "lsp")
      end
      local params = {
        textDocument = { uri = vim.uri_from_bufnr(buf) },
        range = range,
        context = { diagnostics = diagnostics },
      }
      request(client, method, params, buf, function(result, wrong)
        notes[#notes + 1] = wrong
        for _, action in ipairs(result or {}) do
          if not action.disabled then
            found[#found + 1] = { action = action, client = client }
          end
        end
        open = open - 1
        if open == 0 then
          callback(found, buf, notes)
        end
      end)
    end
  end)
end

---@param question {file: string, line: integer}
---@param answer rat.tools.Answer
function M.actions(question, answer)
  offered(question, answer, function(found, _, notes)
    if #found == 0 and #notes > 0 then
      return answer(nil, table.concat(notes, "\n"))
    elseif #found == 0 then
      return answer({ notes = { "nothing is offered for this line" } })
    end
    local titles = vim.tbl_map(function(one)
      return "- " .. one.action.title
    end, found)
    table.insert(titles, 1, "to apply one, call code_action again with its title:")
    answer({ notes = vim.list_extend(titles, notes) })
  end)
end

--- Finds out what one of the actions changes.
---@param question {file: string, line: integer, title: string}
---@param answer rat.tools.Answer
function M.action(question, answer)
  offered(question, answer, function(found, buf)
    local chosen = vim.iter(found):find(function(one)
      return one.action.title == question.title
    end)
    if not chosen then
      local titles = vim.tbl_map(function(one)
        return one.action.title
      end, found)
      local there = #titles > 0 and ("; there are: %s"):format(table.concat(titles, ", ")) or ""
      return answer(nil, ("%q is not offered for this line%s"):format(question.title, there))
    end
    local client = chosen.client
    local function carry_out(action)
      if action.edit then
        return tell(action.edit, client, answer)
      end
      -- What a command does is known only once it is done.
      local text =
        "%s would run a command for %q, whose changes cannot be shown first: make the change by edits"
      answer(nil, text:format(client.name, question.title))
    end
    local can_resolve =
      vim.tbl_get(client.server_capabilities, "codeActionProvider", "resolveProvider")
    if not chosen.action.edit and can_resolve then
      return request(client, "codeAction/resolve", chosen.action, buf, function(resolved)
        carry_out(resolved or chosen.action)
      end)
    end
    carry_out(chosen.action)
  end)
end

return M
