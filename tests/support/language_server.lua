--- A language server inside Neovim for tests. It knows words: a line with `BAD` is an error, a word is defined in the first line
--- of the folder's files that has it, and used wherever it stands.
local M = {}

---@class rat.test.ServerOptions
---@field root string
---@field pattern string of the files it is for, such as `*.txt`
---@field silent? string[] methods that are never answered
---@field dies_at? string a method at which it ends
---@field says_nothing? boolean whether it publishes nothing
---@field pulls? boolean whether it has to be asked for diagnostics, and publishes none

local function files(root)
  local all = vim.fn.glob(root .. "/*.txt", false, true)
  table.sort(all)
  return all
end

local function lines_of(texts, path)
  local uri = vim.uri_from_fname(path)
  local text = texts[uri]
  return text and vim.split(text, "\n") or vim.fn.readfile(path)
end

local function word_at(line, column)
  local from = 1
  while true do
    local first, last = line:find("%w+", from)
    if not first then
      return nil
    elseif first - 1 <= column and column < last then
      return line:sub(first, last)
    end
    from = last + 1
  end
end

local function range(line, first, last)
  return { start = { line = line, character = first }, ["end"] = { line = line, character = last } }
end

local function uses(texts, root, word)
  local all = {}
  for _, path in ipairs(files(root)) do
    for index, line in ipairs(lines_of(texts, path)) do
      for first, last in line:gmatch("()" .. word .. "()") do
        all[#all + 1] =
          { uri = vim.uri_from_fname(path), range = range(index - 1, first - 1, last - 1) }
      end
    end
  end
  return all
end

---@param opts rat.test.ServerOptions
local function server(opts)
  return function(dispatchers)
    local texts, versions, is_closing, last_id = {}, {}, false, 0
    local function problems(uri)
      local found = {}
      for index, line in ipairs(vim.split(texts[uri], "\n")) do
        if line:find("BAD") then
          found[#found + 1] =
            { range = range(index - 1, 0, 1), severity = 1, message = line, source = "words" }
        end
      end
      return found
    end
    local function publish(uri)
      if opts.says_nothing or opts.pulls then
        return
      end
      dispatchers.notification("textDocument/publishDiagnostics", {
        uri = uri,
        version = versions[uri],
        diagnostics = problems(uri),
      })
    end
    local function word(params)
      local path = vim.uri_to_fname(params.textDocument.uri)
      local line = lines_of(texts, path)[params.position.line + 1] or ""
      return word_at(line, params.position.character)
    end
    local answers = {
      initialize = function()
        return {
          capabilities = {
            textDocumentSync = 1,
            referencesProvider = true,
            definitionProvider = true,
            renameProvider = true,
            hoverProvider = true,
            diagnosticProvider = opts.pulls
              and { interFileDependencies = false, workspaceDiagnostics = false },
            positionEncoding = "utf-8",
          },
        }
      end,
      ["textDocument/diagnostic"] = function(params)
        return { kind = "full", items = problems(params.textDocument.uri) }
      end,
      ["textDocument/references"] = function(params)
        return uses(texts, opts.root, word(params))
      end,
      ["textDocument/definition"] = function(params)
        return uses(texts, opts.root, word(params))[1]
      end,
      ["textDocument/rename"] = function(params)
        local changes = {}
        for _, use in ipairs(uses(texts, opts.root, word(params))) do
          changes[use.uri] = changes[use.uri] or {}
          table.insert(changes[use.uri], { range = use.range, newText = params.newName })
        end
        return { changes = changes }
      end,
    }
    return {
      request = function(method, params, callback)
        last_id = last_id + 1
        if method == opts.dies_at then
          is_closing = true
          vim.schedule(function()
            dispatchers.on_exit(1, 0)
          end)
        elseif not vim.list_contains(opts.silent or {}, method) then
          local result = answers[method] and answers[method](params) or vim.NIL
          vim.schedule(function()
            callback(nil, result ~= vim.NIL and result or nil)
          end)
        end
        return true, last_id
      end,
      notify = function(method, params)
        if method == "textDocument/didOpen" then
          local document = params.textDocument
          texts[document.uri], versions[document.uri] = document.text, document.version
          vim.schedule(function()
            publish(document.uri)
          end)
        elseif method == "textDocument/didChange" then
          local document = params.textDocument
          texts[document.uri] = params.contentChanges[1].text
          versions[document.uri] = document.version
          vim.schedule(function()
            publish(document.uri)
          end)
        elseif method == "exit" then
          dispatchers.on_exit(0, 0)
        end
        return true
      end,
      is_closing = function()
        return is_closing
      end,
      terminate = function()
        is_closing = true
      end,
    }
  end
end

--- Starts it for files as they are opened.
---@param opts rat.test.ServerOptions
function M.start(opts)
  local function start(buf)
    vim.lsp.start({ name = "words", cmd = server(opts), root_dir = opts.root }, { bufnr = buf })
  end
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, {
    pattern = opts.pattern,
    callback = function(event)
      start(event.buf)
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if
      vim.api.nvim_buf_is_loaded(buf)
      and vim.glob.to_lpeg(opts.pattern):match(vim.fs.basename(vim.api.nvim_buf_get_name(buf)))
    then
      start(buf)
    end
  end
end

return M
