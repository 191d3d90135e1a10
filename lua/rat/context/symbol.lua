--- A function, class or other symbol of an open file, as context: as language servers list them, else by the syntax tree.
local editor = require("rat.context.editor")
local syntax = require("rat.context.syntax")

local M = {}

---@class rat.Symbol
---@field name string
---@field kind string
---@field first integer line, from 1
---@field last integer inclusive

local METHOD = "textDocument/documentSymbol"
--- How many symbols of one name are attached.
local MAX_SAME = 10

--- What each buffer has, and the |b:changedtick| it had then.
---@type table<integer, {tick: integer, symbols: rat.Symbol[]}>
local known = {}

--- Adds the symbols that a language server listed, with those in them.
---@param list table[] DocumentSymbol or SymbolInformation
---@param found rat.Symbol[]
local function flatten(list, found)
  for _, one in ipairs(list) do
    local range = one.range or one.location and one.location.range
    if range and type(one.name) == "string" then
      local first, last = range.start.line, range["end"].line
      last = range["end"].character == 0 and last > first and last - 1 or last
      local kind = vim.lsp.protocol.SymbolKind[one.kind] --[[@as string?]]
      kind = (kind or "symbol"):lower()
      found[#found + 1] = { name = one.name, kind = kind, first = first + 1, last = last + 1 }
    end
    flatten(one.children or {}, found)
  end
end

--- Finds the symbols of a buffer.
---@param buf integer
---@param callback fun(symbols: rat.Symbol[]) maybe called at once
local function symbols_of(buf, callback)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local before = known[buf]
  if before and before.tick == tick then
    return callback(before.symbols)
  end
  local function keep(symbols)
    for other in pairs(known) do
      known[other] = vim.api.nvim_buf_is_loaded(other) and known[other] or nil
    end
    known[buf] = { tick = tick, symbols = symbols }
    callback(symbols)
  end
  if #vim.lsp.get_clients({ bufnr = buf, method = METHOD }) == 0 then
    return syntax.symbols(buf, keep)
  end
  local params = { textDocument = vim.lsp.util.make_text_document_params(buf) }
  vim.lsp.buf_request_all(buf, METHOD, params, function(answers)
    local found = {}
    for _, answer in pairs(answers) do
      flatten(answer.result or {}, found)
    end
    if #found > 0 then
      keep(found)
    else
      syntax.symbols(buf, keep)
    end
  end)
end

--- Finds the symbols of all open files: of the one the user was in first.
---@param request rat.ContextRequest
---@param callback fun(found: {buf: integer, symbol: rat.Symbol}[])
local function all(request, callback)
  local bufs = editor.documents(request.cwd)
  local own = request.buf
  if own and vim.api.nvim_buf_is_loaded(own) then
    bufs = vim.tbl_filter(function(buf)
      return buf ~= own
    end, bufs)
    table.insert(bufs, 1, own)
  end
  local by_buf, outstanding = {}, #bufs
  local function arrived()
    if outstanding > 0 then
      return
    end
    local found = {}
    for i, buf in ipairs(bufs) do
      for _, symbol in ipairs(by_buf[i]) do
        found[#found + 1] = { buf = buf, symbol = symbol }
      end
    end
    callback(found)
  end
  for i, buf in ipairs(bufs) do
    symbols_of(buf, function(symbols)
      by_buf[i] = symbols
      outstanding = outstanding - 1
      arrived()
    end)
  end
  if #bufs == 0 then
    arrived()
  end
end

---@param found {buf: integer, symbol: rat.Symbol}
---@return rat.Context
local function context_of(found)
  return { buf = found.buf, first = found.symbol.first, last = found.symbol.last }
end

--- Returns the smallest symbol around the cursor of a window.
---@param request rat.ContextRequest
---@param list {buf: integer, symbol: rat.Symbol}[]
---@return {buf: integer, symbol: rat.Symbol}?
local function at_cursor(request, list)
  local line = request.win and vim.api.nvim_win_get_cursor(request.win)[1] or 0
  local best
  for _, found in ipairs(list) do
    local symbol = found.symbol
    local is_around = found.buf == request.buf and symbol.first <= line and line <= symbol.last
    local size = symbol.last - symbol.first
    if is_around and (not best or size <= best.symbol.last - best.symbol.first) then
      best = found
    end
  end
  return best
end

---@type rat.ContextProvider
M.symbol = {
  name = "symbol",
  about = "a function or type: @symbol:name",
  complete = function(request, answer)
    all(request, function(list)
      local items = {}
      for _, found in ipairs(list) do
        local symbol = found.symbol
        local file = vim.fs.basename(vim.api.nvim_buf_get_name(found.buf))
        local about = ("%s, %s:%d"):format(symbol.kind, file, symbol.first)
        -- A mention ends at a blank.
        if not symbol.name:find("%s") then
          items[#items + 1] = { word = symbol.name, about = about }
        end
      end
      answer(items)
    end)
  end,
  resolve = function(request, answer)
    all(request, function(list)
      if not request.argument then
        local found = at_cursor(request, list)
        return answer(found and context_of(found), not found and "the cursor is in none" or nil)
      end
      local same = {}
      for _, found in ipairs(list) do
        if found.symbol.name == request.argument and #same < MAX_SAME then
          same[#same + 1] = context_of(found)
        end
      end
      answer(same, #same == 0 and "no open file of the project defines it" or nil)
    end)
  end,
}

return M
