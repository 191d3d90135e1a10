--- Symbols for the editor's own tools: where one is, where it is used and defined, and which there are.
local client_of = require("rat.tools.client")

local api = vim.api
local M = {}

--- How many lines are named where a symbol is ambiguous.
local MOST_LINES = 10
--- How many levels of a file's symbols are told.
local MOST_LEVELS = 4

local find, request = client_of.find, client_of.request

--- What a symbol in a line begins with, in bytes from 0.
---@param line string
---@param symbol string
---@return integer?
local function column(line, symbol)
  local from = 1
  while true do
    local first, last = line:find(symbol, from, true)
    if not first then
      return nil
    end
    local before, after = line:sub(first - 1, first - 1), line:sub(last + 1, last + 1)
    local joins = (symbol:match("^[%w_]") and before:match("[%w_]"))
      or (symbol:match("[%w_]$") and after:match("[%w_]"))
    if not joins then
      return first - 1
    end
    from = first + 1
  end
end

---@param symbols table[]
---@param name string
---@param found table[]
local function collect(symbols, name, found)
  for _, symbol in ipairs(symbols) do
    local range = symbol.selectionRange or (symbol.location or {}).range
    if symbol.name == name and range then
      found[#found + 1] = range.start
    end
    collect(symbol.children or {}, name, found)
  end
end

--- Finds the position of a symbol: in the line that is said, or where it is in the file only once, or where the file defines it.
---@param client vim.lsp.Client
---@param buf integer
---@param at {file: string, symbol: string, line?: integer}
---@param callback fun(position: {line: integer, character: integer}?, problem: string?)
function M.locate(client, buf, at, callback)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  ---@param index integer from 1
  ---@param byte integer
  ---@return {line: integer, character: integer}
  local function position(index, byte)
    local character = client_of.character(lines[index], byte, client.offset_encoding)
    return { line = index - 1, character = character }
  end
  local name = vim.fs.basename(at.file)
  if at.line then
    local line = lines[at.line]
    local byte = line and column(line, at.symbol)
    if byte then
      return callback(position(at.line, byte))
    end
  end
  local found = {} ---@type [integer, integer][]
  for index, line in ipairs(lines) do
    local byte = column(line, at.symbol)
    if byte then
      found[#found + 1] = { index, byte }
    end
  end
  if at.line then
    local there = vim.tbl_map(function(place)
      return tostring(place[1])
    end, vim.list_slice(found, 1, MOST_LINES))
    local where = #there > 0 and ("it is in lines " .. table.concat(there, ", "))
      or "nor anywhere else in the file"
    return callback(nil, ("%s is not in line %d of %s: %s"):format(at.symbol, at.line, name, where))
  elseif #found == 0 then
    return callback(nil, ("%s is not in %s"):format(at.symbol, name))
  elseif #found == 1 then
    return callback(position(found[1][1], found[1][2]))
  end
  local function ambiguous()
    local there = vim.tbl_map(function(place)
      return ("%d: %s"):format(place[1], vim.trim(lines[place[1]]))
    end, vim.list_slice(found, 1, MOST_LINES))
    local more = #found > #there and ("\n… %d more"):format(#found - #there) or ""
    local text = "%s is in several lines of %s: say which by line\n%s%s"
    callback(nil, text:format(at.symbol, name, table.concat(there, "\n"), more))
  end
  local first = position(found[1][1], found[1][2])
  local document = { uri = vim.uri_from_bufnr(buf) }
  --- Whether all of them are the same symbol.
  local function compare()
    local method = "textDocument/documentHighlight"
    if #client_of.of_buffer(buf, method) == 0 then
      return ambiguous()
    end
    request(client, method, { textDocument = document, position = first }, buf, function(result)
      local same = {}
      for _, highlight in ipairs(result or {}) do
        same[highlight.range.start.line + 1] = true
      end
      local is_same = vim.iter(found):all(function(place)
        return same[place[1]]
      end)
      if is_same then
        return callback(first)
      end
      ambiguous()
    end)
  end
  if #client_of.of_buffer(buf, "textDocument/documentSymbol") == 0 then
    return compare()
  end
  request(client, "textDocument/documentSymbol", { textDocument = document }, buf, function(result)
    local defined = {} ---@type {line: integer, character: integer}[]
    collect(result or {}, at.symbol, defined)
    if #defined ~= 1 then
      return compare()
    end
    local line = lines[defined[1].line + 1] or ""
    local byte = column(line, at.symbol)
    callback(byte and position(defined[1].line + 1, byte) or defined[1])
  end)
end

--- Finds a language server for a file, and the position of a symbol in it.
---@param at {file: string, symbol: string, line?: integer}
---@param method string
---@param answer rat.tools.Answer
---@param callback fun(client: vim.lsp.Client, buf: integer, params: table)
function M.at(at, method, answer, callback)
  find(at.file, method, function(buf, client, problem)
    if not buf or not client then
      return answer(nil, problem)
    end
    M.locate(client, buf, at, function(position, wrong)
      if not position then
        return answer(nil, wrong)
      end
      local document = { uri = vim.uri_from_bufnr(buf) }
      callback(client, buf, { textDocument = document, position = position })
    end)
  end)
end

--- Converts locations of a server to places, in order and each once.
---@param result any
---@return rat.notify.FoundPlace[]
function M.places(result)
  local all = (result == nil and {}) or (vim.islist(result) and result) or { result }
  local places, seen = {}, {}
  for _, location in ipairs(all) do
    local uri = location.uri or location.targetUri
    local range = location.range or location.targetSelectionRange
    local ok, path = pcall(vim.uri_to_fname, uri)
    if ok and range and vim.startswith(uri, "file:") then
      local line = range.start.line + 1
      local key = path .. "\0" .. line
      if not seen[key] then
        seen[key] = true
        places[#places + 1] = { path = path, line = line, text = M.line_text(path, line) }
      end
    end
  end
  table.sort(places, function(one, other)
    if one.path ~= other.path then
      return one.path < other.path
    end
    return one.line < other.line
  end)
  return places
end

--- Returns a line of a loaded buffer.
---@param path string
---@param line integer
---@return string?
function M.line_text(path, line)
  local buf = require("rat.document.paths").find(path)
  local text = buf and api.nvim_buf_get_lines(buf, line - 1, line, false)[1]
  return text and vim.trim(text) ~= "" and vim.trim(text) or nil
end

---@param question {file: string, symbol: string, line?: integer}
---@param answer rat.tools.Answer
function M.references(question, answer)
  local method = "textDocument/references"
  M.at(question, method, answer, function(client, buf, params)
    params.context = { includeDeclaration = true }
    request(client, method, params, buf, function(result, problem)
      if problem then
        return answer(nil, problem)
      end
      answer({ places = M.places(result) })
    end)
  end)
end

--- What a hover says, as text.
---@param hover any
---@return string[] notes
local function hover_text(hover)
  local contents = type(hover) == "table" and hover.contents or nil
  if not contents then
    return {}
  end
  local lines = vim.lsp.util.convert_input_to_markdown_lines(contents)
  local text = vim.trim(table.concat(lines, "\n"))
  return text ~= "" and { text } or {}
end

---@param question {file: string, symbol: string, line?: integer}
---@param answer rat.tools.Answer
function M.definition(question, answer)
  local method = "textDocument/definition"
  M.at(question, method, answer, function(client, buf, params)
    request(client, method, params, buf, function(result, problem)
      if problem then
        return answer(nil, problem)
      end
      local places = M.places(result)
      if #client_of.of_buffer(buf, "textDocument/hover") == 0 then
        return answer({ places = places })
      end
      request(client, "textDocument/hover", params, buf, function(hover)
        answer({ places = places, notes = hover_text(hover) })
      end)
    end)
  end)
end

---@param kind integer
---@return string
local function kind_name(kind)
  return (vim.lsp.protocol.SymbolKind[kind] or "symbol"):lower()
end

--- Describes a symbol, and what it is in.
---@param symbol table LSP `DocumentSymbol`, `SymbolInformation` or `WorkspaceSymbol`
---@return string
local function describe(symbol)
  local container = symbol.containerName or ""
  local inside = container ~= "" and (" in " .. container) or ""
  return ("%s %s%s"):format(kind_name(symbol.kind), symbol.name, inside)
end

---@param symbols table[]
---@param path string
---@param level integer
---@param places rat.notify.FoundPlace[]
local function flatten(symbols, path, level, places)
  for _, symbol in ipairs(symbols) do
    local range = symbol.selectionRange or (symbol.location or {}).range
    if range then
      local text = ("  "):rep(level) .. describe(symbol)
      places[#places + 1] = { path = path, line = range.start.line + 1, text = text }
    end
    if level + 1 < MOST_LEVELS then
      flatten(symbol.children or {}, path, level + 1, places)
    end
  end
end

---@param question {file: string}
---@param answer rat.tools.Answer
function M.of_file(question, answer)
  local method = "textDocument/documentSymbol"
  find(question.file, method, function(buf, client, problem)
    if not buf or not client then
      return answer(nil, problem)
    end
    local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    request(client, method, params, buf, function(result, wrong)
      if wrong then
        return answer(nil, wrong)
      end
      local places = {} ---@type rat.notify.FoundPlace[]
      flatten(result or {}, question.file, 0, places)
      answer({ places = places })
    end)
  end)
end

---@param question {folder: string, query: string}
---@param answer rat.tools.Answer
function M.of_project(question, answer)
  local method = "workspace/symbol"
  local clients = vim.lsp.get_clients({ method = method })
  if #clients == 0 then
    return answer(
      nil,
      "no language server is running that can search the project: open a file first, or give file_path"
    )
  end
  local places, notes, open = {}, {}, #clients
  for _, client in ipairs(clients) do
    request(client, method, { query = question.query }, 0, function(result, problem)
      open = open - 1
      notes[#notes + 1] = problem
      for _, symbol in ipairs(result or {}) do
        local ok, path = pcall(vim.uri_to_fname, (symbol.location or {}).uri)
        if ok and vim.startswith(path, question.folder .. "/") then
          local range = symbol.location.range
          local line = range and range.start.line + 1 or 0
          places[#places + 1] = { path = path, line = line, text = describe(symbol) }
        end
      end
      if open == 0 then
        answer({ places = places, notes = notes })
      end
    end)
  end
end

return M
