--- Providers of context: what they offer, what goes with a prompt that mentions one, and what a bad one costs.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

---@return Child
local function start()
  local nvim = check.start()
  vim.fn.writefile({ "one", "two", "three" }, nvim.home .. "/a.txt")
  vim.fn.writefile({ "other" }, nvim.home .. "/b.txt")
  nvim:command("edit a.txt")
  nvim:open_chat()
  return nvim
end

--- Adds a provider with the code of its functions.
local function add(nvim, name, resolve, complete)
  nvim:lua(
    ([[require("rat").context({ name = %q, resolve = %s, complete = %s })]]):format(
      name,
      resolve,
      complete or "nil"
    )
  )
end

local function send(nvim, text)
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ... })", text)
  nvim:input("<Esc><CR>")
end

--- Diagnostics at a line, from 1, of a.txt.
local function diagnose(nvim, ...)
  nvim:lua(
    [[
      local found = {}
      for i, one in ipairs({ ... }) do
        found[i] = { lnum = one[1] - 1, col = 0, severity = one[2], message = one[3], source = "lint" }
      end
      vim.diagnostic.set(vim.api.nvim_create_namespace("spec"), vim.fn.bufnr("a.txt"), found)
    ]],
    ...
  )
end

--- Holds (Prompts and keys): What a prompt mentions of the editor goes with it, collected when it is sent.
case("diagnostics go with the prompt that mentions them, those of its moment", function()
  local nvim = start()
  diagnose(nvim, { 3, 1, "no\nway" }, { 1, 2, "hm" })
  nvim:input("ifix @diagnostics, now")
  nvim:poll_screen("+ @diagnostics 2 (")
  diagnose(nvim, { 3, 1, "no\nway" }, { 1, 2, "hm" }, { 2, 3, "new" })
  nvim:input("<C-s>")
  local prompt = nvim:heard("prompt")
  same(prompt.text, "fix @diagnostics, now")
  same(prompt.attachments, {
    {
      label = "@diagnostics",
      uri = "context:diagnostics",
      mime = "text/plain",
      text = "a.txt:1:1: warn: hm [lint]\na.txt:2:1: info: new [lint]\na.txt:3:1: error: no way [lint]\n",
    },
  })
  nvim:poll_gone("+ @diagnostics")
  nvim:input("@diagnostics:error<C-s>")
  same(nvim:heard("prompt", 2).attachments[1].text, "a.txt:3:1: error: no way [lint]\n")
end)

--- Holds (Prompts and keys): A prompt does not go without what it mentions, unless it is sent again.
case("a prompt that mentions what is not there comes back, and goes when sent again", function()
  local nvim = start()
  send(nvim, "fix @diagnostics and @quickfix")
  nvim:told("@diagnostics: there are none in the project; @quickfix: the quickfix list is empty.")
  nvim:poll("vim.fn.getline(1) == 'fix @diagnostics and @quickfix'")
  same(nvim:lua("return vim.fn.col('.')"), #"fix @diagnostics and @quickfix")
  same(nvim:has_heard("prompt"), false)
  nvim:poll_screen("+ @quickfix: the quickfix list is empty")
  nvim:input("<CR>")
  same(nvim:heard("prompt").attachments, {})
  nvim:told("The prompt was sent without.")
  nvim:poll("vim.fn.getline(1) == ''")
end)

case("other prompts overtake none that waits for its context, and it survives Neovim", function()
  local nvim = start()
  add(nvim, "slow", "function(_, answer) Answer = answer end")
  send(nvim, "first @slow")
  nvim:poll("Answer ~= nil")
  send(nvim, "second")
  nvim:poll("#require('rat.chat.current').get().outgoing == 1")
  same(nvim:has_heard("prompt"), false)
  local drafts = nvim.own .. "/state/nvim/rat/drafts"
  nvim:poll(
    ("vim.iter(vim.fn.glob(%q .. '/*/*', false, true)):any(function(path) return table.concat(vim.fn.readfile(path)):find('first @slow', 1, true) ~= nil end)"):format(
      drafts
    )
  )
  nvim:lua("Answer({ text = 'at last' })")
  nvim:heard("prompt", 2)
  local texts = {}
  for _, message in ipairs(nvim:lua("return Heard")) do
    texts[#texts + 1] = message[1] == "prompt" and message[2].text or nil
  end
  same(texts, { "first @slow", "second" })
end)

--- Holds (Prompts and keys): A provider of context that fails costs one line, never the prompt.
case("a provider that fails, hangs or makes no sense is told in one line", function()
  local nvim = start()
  nvim:lua("require('rat.context.resolve').limit = 50")
  add(nvim, "throws", "function() error({}) end")
  add(nvim, "raises", "function() error('out of order\\nsorry') end")
  add(nvim, "hangs", "function() end")
  add(nvim, "wrong", "function() return 7 end")
  add(nvim, "mixed", "function() return { { text = 'x' }, { buf = 9999 } } end")
  add(nvim, "large", "function() return { text = ('x'):rep(5 * 1024 * 1024) } end")
  add(nvim, "gone", "function() return '/nowhere/file' end")
  add(nvim, "empty", "function() return {} end")
  for mention, wanted in pairs({
    throws = "failed: table",
    raises = "out of order",
    hangs = "did not answer within 50 ms",
    wrong = "answered with a number",
    mixed = "Could not attach item 2: it makes no sense",
    large = "has 5.0 MiB, the limit is 4.0 MiB",
    gone = "Could not attach /nowhere/file",
    empty = "has nothing to attach",
  }) do
    nvim:lua("Said = {}")
    send(nvim, "see @" .. mention)
    nvim:told(wanted)
    nvim:poll(("vim.fn.getline(1) == 'see @%s'"):format(mention))
    same(nvim:has_heard("prompt"), false)
    same(nvim:lua("return #Said"), 1)
  end
end)

case("what a provider may answer: a path, lines, texts, now or from a callback", function()
  local nvim = start()
  add(
    nvim,
    "all",
    [[function(request, answer)
      Request = request
      vim.uv.fs_stat("/", function()
        answer({ request.cwd .. "/b.txt", { buf = request.buf, first = 2, last = 9 }, { text = "caf\233", label = "menu", count = 4 } })
      end)
    end]]
  )
  send(nvim, "look @all:of:it.")
  local sent = nvim:heard("prompt").attachments
  same(
    { sent[1].text, sent[2].text, sent[2].first, sent[2].last },
    { "other\n", "two\nthree\n", 2, 3 }
  )
  same({ sent[3].text, sent[3].label, sent[3].uri }, { "caf\239\191\189", "menu", "context:menu" })
  same(nvim:lua("return Request.argument"), "of:it")
  same(
    nvim:lua("return vim.api.nvim_buf_get_name(Request.buf)"),
    vim.uv.fs_realpath(nvim.home) .. "/a.txt"
  )
end)

case("a wrong argument to context() is one clear error", function()
  local nvim = check.start()
  for code, wanted in pairs({
    ["'x'"] = "rat.context: expected a table, got string",
    ["{}"] = "rat.context: name: expected string, got nil",
    ["{ name = 'x' }"] = "rat.context: resolve: expected function, got nil",
    ["{ name = 'x y', resolve = print }"] = 'rat.context: name: "x y" is not a letter',
    ["{ name = 'x', resolve = print, complete = {} }"] = "complete: expected function, got table",
    ["{ name = 'x', resolve = print, color = 1 }"] = "rat.context: unknown field color",
  }) do
    local found = nvim:lua(("return { pcall(require('rat').context, %s) }"):format(code))
    same(found[1], false)
    check.contains(found[2], wanted)
  end
end)

case(
  "a file with the name of a provider is reached with ./, and code mentions no provider",
  function()
    local nvim = start()
    nvim:files({ "quickfix" })
    vim.fn.writefile({ "a file" }, nvim.home .. "/quickfix")
    send(nvim, "see @./quickfix")
    same(nvim:heard("prompt").attachments[1].text, "a file\n")
    send(nvim, "see `@quickfix` and ``` @quickfix ```")
    same(#nvim:heard("prompt", 2).attachments, 1)
    send(nvim, "ask @nobody:x")
    nvim:told("@nobody:x is not a file. It is sent as text.")
  end
)

case("buffers, buffer, selection and quickfix", function()
  local nvim = start()
  nvim:lua([[
    vim.cmd.badd("unloaded.txt")
    vim.fn.bufload(vim.fn.bufadd("b.txt"))
    vim.bo[vim.fn.bufnr("b.txt")].buflisted = true
    vim.fn.bufload(vim.fn.bufadd("/etc/hostname"))
    vim.bo[vim.fn.bufnr("/etc/hostname")].buflisted = true
    vim.fn.setqflist({ { filename = "a.txt", lnum = 2, col = 1, text = "here" }, { text = "a word" } })
    vim.fn.setbufline("a.txt", 2, "unsaved")
  ]])
  local function sent(text, count)
    send(nvim, text)
    return vim.tbl_map(function(one)
      return ("%s|%s"):format(one.label, one.text)
    end, nvim:heard("prompt", count).attachments)
  end
  same(sent("@buffers", 1), { "a.txt|one\nunsaved\nthree\n", "b.txt|other\n" })
  same(sent("(@buffer) @a.txt", 2), { "a.txt|one\nunsaved\nthree\n" })
  same(sent("@quickfix", 3), { "@quickfix|a.txt:2:1: here\na word\n" })
  nvim:command("wincmd p | normal! gg0lvj0" .. vim.keycode("<Esc>"))
  nvim:command("wincmd p")
  same(sent("@selection", 4), { "a.txt|ne\nu" })
end)

case("the changes since the last commit", function()
  local nvim = start()
  send(nvim, "@diff")
  nvim:told("@diff: git says:")
  local git = { "git", "-C", nvim.home, "-c", "user.name=x", "-c", "user.email=x" }
  local function run(...)
    assert(vim.system(vim.list_extend(vim.list_slice(git), { ... })):wait().code == 0)
  end
  run("init", "-q")
  run("add", "a.txt")
  run("commit", "-qm", "x")
  nvim:lua("Said = {}")
  send(nvim, "see @diff")
  nvim:told("@diff: nothing has changed since the last commit")
  vim.fn.writefile({ "one", "2", "three" }, nvim.home .. "/a.txt")
  run("add", "b.txt")
  send(nvim, "and @diff")
  local found = nvim:heard("prompt").attachments[1]
  same({ found.mime, found.label }, { "text/x-diff", "@diff" })
  check.contains(found.text, "-two\n+2\n")
  check.contains(found.text, "+other\n")
end)

case("a diff that is too long is cut off, and says so", function()
  local nvim = start()
  for _, command in ipairs({ { "init", "-q" }, { "add", "a.txt" }, { "commit", "-qm", "x" } }) do
    local git = { "git", "-C", nvim.home, "-c", "user.name=x", "-c", "user.email=x" }
    assert(vim.system(vim.list_extend(git, command)):wait().code == 0)
  end
  vim.fn.writefile(vim.split(("line\n"):rep(300000), "\n"), nvim.home .. "/a.txt")
  send(nvim, "@diff")
  local text = nvim:heard("prompt").attachments[1].text
  same(#text < 1024 * 1024 + 100, true)
  check.contains(text:sub(-100), "+line\n… cut off after 1.0 MiB\n")
end)

check.finish()
