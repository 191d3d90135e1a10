--- Providers of context in the menu: what they are now, what they offer behind a colon, symbols of open files.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function start(name, ...)
  local nvim = check.start()
  vim.fn.writefile({ ... }, nvim.home .. "/" .. name)
  nvim:command("edit " .. name)
  nvim:open_chat()
  return nvim
end

local function words(nvim)
  return vim.tbl_map(function(item)
    return item.word
  end, nvim:lua("return vim.fn.complete_info({ 'items' }).items"))
end

local function poll_words(nvim, ...)
  local wanted = { ... }
  local found
  local ok = vim.wait(20000, function()
    found = words(nvim)
    return vim.deep_equal(found, wanted)
  end, 5)
  if not ok then
    same(found, wanted)
  end
end

--- Holds (Prompts and keys): An @ offers what the editor knows, with what it is now, before files.
case("providers are offered before files, with what they would attach", function()
  local nvim = start("bu.txt", "one")
  nvim:lua("vim.fn.setqflist({ { text = 'x' }, { text = 'y' } })")
  nvim:input("i@")
  nvim:poll_screen("@quickfix")
  nvim:poll_screen("2 entries")
  nvim:poll_screen("bu.txt, 4 B")
  nvim:input("bu")
  poll_words(nvim, "@buffer", "@buffers", "@bu.txt")
  nvim:input("<C-n><C-n><C-n><C-y>")
  nvim:poll("vim.fn.getline('.') == '@bu.txt'")
  nvim:input("<Esc>S@bu")
  poll_words(nvim, "@buffer", "@buffers", "@bu.txt")
  nvim:input("<C-n><C-y> is")
  nvim:poll("vim.fn.getline('.') == '@buffer is'")
  nvim:poll_screen("+ @buffer (4 B)")
end)

case("what a provider offers behind its colon, also later, in a menu that is open", function()
  local nvim = start("a.txt", "one")
  nvim:lua([[require("rat").context({
    name = "issue",
    resolve = print,
    complete = function(_, answer)
      Asked = (Asked or 0) + 1
      Answer = answer
    end,
  })]])
  nvim:input("i@issue:")
  nvim:poll("Answer ~= nil")
  nvim:input("1")
  nvim:lua("Answer({ { word = '120', about = 'Crash' }, '31', 'no blanks', '7' })")
  poll_words(nvim, "@issue:120", "@issue:31")
  nvim:poll_screen("Crash")
  nvim:input("2")
  poll_words(nvim, "@issue:120")
  same(nvim:lua("return Asked"), 1)
  nvim:input("<C-n><C-y> @is")
  poll_words(nvim, "@issue")
  nvim:input("sue:")
  nvim:poll("Asked == 2")
end)

case("a provider that cannot complete is told once for each mention", function()
  local nvim = start("a.txt", "one")
  nvim:lua(
    [[require("rat").context({ name = "bad", resolve = print, complete = function() return 3 end })]]
  )
  nvim:input("i@bad:xyz")
  nvim:told("The completion of @bad answered with what makes no sense")
  nvim:poll("vim.fn.getline('.') == '@bad:xyz'")
  same(nvim:lua("return #Said"), 1)
end)

--- What a spec needs of a language server, in the Neovim itself.
local server = [[
  local symbols, last = ..., 0
  vim.lsp.start({
    name = "spec",
    cmd = function()
      return {
        request = function(method, _, callback)
          local result = method == "initialize" and { capabilities = { documentSymbolProvider = true } }
            or method == "textDocument/documentSymbol" and symbols
            or vim.NIL
          vim.schedule(function()
            callback(nil, result)
          end)
          last = last + 1
          return true, last
        end,
        notify = function() return true end,
        is_closing = function() return false end,
        terminate = function() end,
      }
    end,
  }, { bufnr = vim.fn.bufnr("a.txt") })
]]

local function range(first, last)
  return { start = { line = first, character = 0 }, ["end"] = { line = last, character = 0 } }
end

case("symbols as the language server lists them", function()
  local nvim = start("a.txt", "class A", " f", " end", "end", "g")
  local inner = { name = "A.f", kind = 6, range = range(1, 3) }
  nvim:lua(server, {
    { name = "A", kind = 5, range = range(0, 4), children = { inner } },
    { name = "g", kind = 12, location = { range = range(4, 5) } },
    { name = "two words", kind = 12, range = range(4, 5) },
  })
  nvim:poll("#vim.lsp.get_clients({ method = 'textDocument/documentSymbol' }) == 1")
  nvim:input("i@symbol:")
  poll_words(nvim, "@symbol:A", "@symbol:A.f", "@symbol:g")
  nvim:poll_screen("method, a.txt:2")
  nvim:input("A.f.<C-s>")
  local sent = nvim:heard("prompt").attachments
  same({ #sent, sent[1].label, sent[1].first, sent[1].last }, { 1, "a.txt", 2, 3 })
  same(sent[1].text, " f\n end\n")
  nvim:input("<Esc><C-w>p2G<C-w>pi@symbol<C-s>")
  same(nvim:heard("prompt", 2).attachments[1].first, 2)
  nvim:input("@symbol:nothing<C-s>")
  nvim:told("@symbol:nothing: no open file of the project defines it")
end)

case("symbols by the syntax tree where there is no language server", function()
  local nvim = start(
    "a.lua",
    "local M = {}",
    "function M.one()",
    "  return 1",
    "end",
    "local function two() end"
  )
  nvim:command("wincmd p | setfiletype lua | wincmd p")
  nvim:input("i@symbol:")
  poll_words(nvim, "@symbol:M.one", "@symbol:two")
  nvim:input("M.one<C-s>")
  same(nvim:heard("prompt").attachments[1].text, "function M.one()\n  return 1\nend\n")
  nvim:lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.lua'), 1, 1, false, { '-- unsaved' })")
  nvim:input("@symbol:M.one<C-s>")
  same(nvim:heard("prompt", 2).attachments[1].first, 3)
end)

case("a large file is looked at in slices, and its symbols come in its order", function()
  local nvim = start("a.lua", "")
  local found = nvim:lua([[
    local lines, wanted = {}, {}
    for i = 1, 700 do
      lines[i] = ("local function f%d(a) return g(a + %d, { x = h(1, 2, 3) }) end"):format(i, i)
      wanted[i] = "f" .. i
    end
    local buf = vim.api.nvim_create_buf(true, false)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.bo[buf].filetype = "lua"
    local names
    require("rat.context.syntax").symbols(buf, function(symbols)
      names = vim.tbl_map(function(symbol)
        return symbol.name
      end, symbols)
    end)
    local at_once = names ~= nil
    vim.wait(20000, function()
      return names ~= nil
    end, 1)
    return { at_once, vim.deep_equal(names, wanted) }
  ]])
  same(found, { false, true })
end)

case("an attachment is opened: a file at its line, a text on a page", function()
  local nvim = start("a.txt", "one", "two")
  nvim:command("wincmd p | 2RatAdd | wincmd p")
  nvim:poll_screen("+ a.txt:2 (4 B)  g+ open  g- remove")
  nvim:lua("vim.fn.setqflist({ { text = 'all of it' } })")
  nvim:input("i@quickfix <Esc>")
  nvim:poll_screen("+ @quickfix 1 (10 B)")
  nvim:input("g+")
  nvim:poll_screen("2  @quickfix (10 B)")
  nvim:input("2<CR>")
  nvim:poll("vim.fn.getline(1) == 'all of it'")
  nvim:input("q")
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  nvim:input("S<Esc>")
  nvim:poll_gone("+ @quickfix")
  nvim:input("g+")
  nvim:poll("vim.fn.expand('%:t') == 'a.txt' and vim.fn.line('.') == 2")
end)

check.finish()
