--- The public functions: what they cannot use is refused by name, and nothing is sent for it.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Calls, and what each is refused with.
local REFUSED = {
  { "start('claude')", "rat.start: expected a table, got string" },
  { "start({ agnt = 'claude' })", "rat.start: agnt: unknown key, did you mean agent?" },
  { "start({ new = 'yes' })", "rat.start: new: expected boolean, got string" },
  { "start({ 'claude' })", "rat.start: 1: unknown key, known keys: agent, cwd, new, session" },
  { "send()", "rat.send: text: expected string, got nil" },
  { "send('x', 'y')", "rat.send: expected a table, got string" },
  { "send('x', { session = true })", "rat.send: session: expected string, got boolean" },
  {
    "send('x', { session = 1.5 })",
    "rat.send: session: expected a whole number from 1, got 1.5",
  },
  { "send('x', { session = 'none' })", "rat.send: no such session: none" },
  { "send('x', { contxt = {} })", "rat.send: contxt: unknown key, did you mean context?" },
  { "send('x', { context = { path = 'a' } })", "rat.send: context: expected a list" },
  { "add(7)", "rat.add: expected a path, a table or a list of these" },
  { "edit('x')", "rat.edit: expected a table, got string" },
  { "edit({ frist = 1 })", "rat.edit: frist: unknown key, did you mean first?" },
  { "edit({ first = 0 })", "rat.edit: first: expected a whole number from 1, got 0" },
  { "edit({ first = 3, last = 2 })", "rat.edit: last: 2 is before first, 3" },
  { "edit({ last = 2 })", "rat.edit: last: it needs first" },
  { "edit({ first = 4 })", "rat.edit: first: the buffer has 3 lines" },
  { "edit({ first = 2, last = 4 })", "rat.edit: last: the buffer has 3 lines" },
  { "turns()", "rat.turns: callback: expected a function, got nil" },
  { "turns({})", "rat.turns: callback: expected a function, got table" },
  { "changes(function() end)", "rat.changes: expected a table, got function" },
  { "changes({})", "rat.changes: callback: expected a function, got nil" },
  {
    "changes({ turn = '1-2' }, function() end)",
    "rat.changes: turn: expected a whole number from 1, got string",
  },
  {
    "changes({ scope = 'file' }, function() end)",
    'rat.changes: scope: expected all or session or turn or tool, got "file"',
  },
  { "accept('a.txt')", "rat.accept: expected a table, got string" },
  { "accept({ first = 3 })", "rat.accept: first: it needs path" },
  { "accept({ pth = 'a.txt' })", "rat.accept: pth: unknown key, did you mean path?" },
  { "reject({ path = 'a.txt', last = 3 })", "rat.reject: last: it needs first" },
  {
    "reject({ scope = 'session' })",
    'rat.reject: scope: expected all or turn, got "session"',
  },
  { "reject({ path = 'a.txt', first = '1' })", "rat.reject: first: expected a whole number" },
  { "undo('1-2')", 'rat.undo: expected a turn that rat.turns() gave, got "1-2"' },
  { "undo(1)", "rat.undo: expected a turn that rat.turns() gave, got number" },
  { "undo(false)", "rat.undo: expected a turn that rat.turns() gave, got boolean" },
  { "undo({ id = '1-2' })", "rat.undo: expected a turn that rat.turns() gave, got table" },
  { "on('sesion', print)", "" },
  { "on('turn_end')", "" },
  { "context('x')", "rat.context: " },
}

--- Holds (Scripts in Lua): Each public function refuses what it cannot use, by name, and does nothing then.
case("what a function cannot use is refused by name", function()
  local nvim = check.start()
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a', 'b', 'c' })")
  nvim:open_chat()
  nvim:command("wincmd t")
  local heard = nvim:lua("return #Heard")
  for _, pair in ipairs(REFUSED) do
    local found = nvim:lua(([[
      local ok, problem = pcall(function() return require("rat").%s end)
      return { ok, ok and "" or problem }
    ]]):format(pair[1]))
    same(found[1], false, pair[1])
    check.contains(found[2], pair[2])
  end
  same(nvim:lua("return #Heard"), heard)
  same(nvim:lua("return require('rat').tool({ name = 'x' })"), false)
end)

case("what they can use is passed on", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:lua("require('rat').undo({ root = '/a', id = '1-2', files = 3 })")
  same(nvim:heard("undo"), { chat = 1, root = "/a", id = "1-2" })
  nvim:lua("require('rat').accept({ path = '/a/b', first = 2 })")
  local review = nvim:heard("review")
  same({ review.path, review.first, review.last, review.scope }, { "/a/b", 2, 2, "all" })
  nvim:lua("require('rat').reject()")
  same(nvim:heard("review", 2).scope, "all")
  nvim:lua("require('rat').changes(nil, function() end)")
  same(nvim:heard("list_changes").scope, "all")
end)

--- Holds (Scripts in Lua): What fills a page of ours is no undo step: `u` right after it has opened changes nothing.
case("u takes away nothing that the user has not written", function()
  local nvim = check.start()
  nvim:open_chat({ state = "running", queued = { "one", "two" } })
  local function unchanged(open, filetype)
    open()
    nvim:poll(("vim.bo.filetype == '%s'"):format(filetype))
    local read = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)"
    local before = nvim:lua(read)
    assert(#before > 1 or before[1] ~= "", filetype .. " is empty")
    nvim:input("uu<C-r>")
    nvim:lua("return 1")
    same(nvim:lua(read), before, filetype)
    same(nvim:lua("return vim.bo.modified"), false, filetype)
    -- What the user does can be undone.
    nvim:input("Gonew<Esc>")
    nvim:poll("vim.fn.getline('$') == 'new'")
    nvim:input("uuu")
    nvim:poll("vim.fn.getline('$') ~= 'new'")
    same(nvim:lua(read), before, filetype)
    nvim:command("setlocal nomodified")
  end
  unchanged(function()
    nvim:command("RatQueue")
  end, "ratqueue")
  nvim:command("quit")
  unchanged(function()
    local rules = { { line = "allow edit src/**", decided = 0 } }
    local lists = { { extent = "session", rules = {} }, { extent = "project", rules = rules } }
    nvim:say(
      "rules",
      { chat = 1, agent = "Claude", cwd = nvim.home, lists = lists, configured = {} }
    )
  end, "ratrules")
  nvim:command("quit")
  unchanged(function()
    nvim:enter("prompt")
    nvim:input("ia draft<Esc>")
    nvim:poll("vim.fn.getline(1) == 'a draft'")
    nvim:command("bdelete")
    nvim:command("RatStart claude")
    nvim:poll("vim.fn.getline(1) == 'a draft'")
  end, "ratprompt")
end)

check.finish()
