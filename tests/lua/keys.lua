--- The keys of `g?`: each listed one does what the list says; completion in the prompt; scratch buffers.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function fill(nvim, count)
  nvim:lua(
    [[
    local lines = {}
    for i = 1, ... do lines[i] = "line " .. i end
    require("rat.view.scratch").fill(require("rat.chat.buffers").get(1, "chat"), lines)
  ]],
    count
  )
end

case("g? lists every mapped key, and every listed key is mapped or Neovim's own", function()
  local nvim = check.start({ lines = 40 })
  nvim:open_chat()
  local own = { ["<C-x><C-u>"] = true }
  for _, view in ipairs({ "chat", "prompt" }) do
    local found = nvim:lua(
      [[
      local view, own = ...
      local buf = require("rat.chat.buffers").get(1, view)
      local mapped, listed = {}, {}
      for _, key in ipairs(require("rat.chat.keys").of(view)) do
        for _, mode in ipairs(key.modes) do
          if not own[key.lhs] then listed[mode .. vim.keycode(key.lhs)] = true end
        end
      end
      for _, mode in ipairs({ "n", "i", "x" }) do
        for _, map in ipairs(vim.api.nvim_buf_get_keymap(buf, mode)) do
          mapped[mode .. vim.keycode(map.lhs)] = true
        end
      end
      return { mapped, listed }
    ]],
      view,
      own
    )
    same(found[1], found[2], view)
    nvim:enter(view)
    nvim:input("g?")
    nvim:poll_screen("g?             list these keys")
    nvim:input("q")
    nvim:poll("vim.bo.filetype ~= 'rathelp'")
  end
end)

case("i, a and o go to the prompt, q hides", function()
  local nvim = check.start()
  nvim:open_chat()
  for _, key in ipairs({ "i", "a", "o" }) do
    nvim:enter("chat")
    nvim:input(key)
    nvim:input("x")
    nvim:poll("vim.bo.filetype == 'ratprompt' and vim.fn.getline('.'):match('x$') ~= nil")
    nvim:input("<Esc>")
    nvim:poll("vim.api.nvim_get_mode().mode == 'n'")
  end
  same(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), { "xxx" })
  nvim:enter("chat")
  nvim:input("q")
  nvim:poll("#vim.api.nvim_tabpage_list_wins(0) == 1")
end)

case("q in the plan closes the plan alone", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("RatPlan")
  nvim:enter("plan")
  nvim:input("q")
  nvim:poll("#vim.api.nvim_tabpage_list_wins(0) == 3")
end)

case(":RatLog opens the log at its end, or says there is none", function()
  local nvim = check.start()
  nvim:command("RatLog")
  nvim:told("The log is empty")
  local path = nvim:lua("return require('rat.rpc').log_file()")
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  vim.fn.writefile({ "one", "two" }, path)
  nvim:command("edit mine.txt")
  for _ = 1, 2 do
    nvim:command("RatLog")
    same(nvim:lua("return { vim.fn.expand('%:p'), vim.fn.line('.') }"), { path, 2 })
    same(nvim:lua("return #vim.api.nvim_list_wins()"), 2)
    nvim:poll_screen("q close")
    nvim:command("wincmd p")
    same(nvim:lua("return vim.fn.expand('%')"), "mine.txt", "the user's window keeps its file")
  end
  nvim:command("wincmd p")
  nvim:input("q")
  nvim:poll("#vim.api.nvim_list_wins() == 1")
end)

case("za toggles the fold of the row above it, too", function()
  local nvim = check.start()
  nvim:open_chat()
  fill(nvim, 20)
  nvim:enter("chat")
  nvim:command("set foldmethod=manual foldenable")
  nvim:command("5,8fold")
  for _, step in ipairs({ { "4Gza", -1, 4 }, { "za", 5, 4 }, { "6Gza", -1, 6 }, { "za", 5, 6 } }) do
    nvim:input(step[1])
    nvim:poll(("vim.fn.foldclosed(6) == %d"):format(step[2]))
    same(nvim:lua("return vim.fn.line('.')"), step[3], step[1])
  end
  nvim:input("12Gza")
  nvim:told("No fold here")
end)

case("]] and [[ walk the messages", function()
  local nvim = check.start()
  nvim:open_chat()
  fill(nvim, 20)
  nvim:enter("chat")
  nvim:input("gg]]")
  nvim:poll("vim.fn.line('.') == 3")
  nvim:input("2]]")
  nvim:poll("vim.fn.line('.') == 7")
  nvim:input("[[")
  nvim:poll("vim.fn.line('.') == 5")
end)

case("<CR> and gf act on the line", function()
  local nvim = check.start()
  nvim:open_chat()
  fill(nvim, 5)
  nvim:enter("chat")
  nvim:lua("Action = { kind = 'output', tool_call = 't1' }")
  nvim:input("<CR>")
  same(nvim:heard("output"), { chat = 1, tool_call = "t1" })
  nvim:lua("Action = { kind = 'location', path = ..., line = 2 }", check.root .. "/LICENSE")
  nvim:input("gf")
  nvim:poll("vim.fn.expand('%:t') == 'LICENSE' and vim.fn.line('.') == 2")
  nvim:enter("chat")
  nvim:lua("vim.cmd('2,4fold | 2')")
  same(nvim:lua("return vim.fn.foldclosed(2)"), 2)
  nvim:input("<CR>")
  nvim:poll("vim.fn.foldclosed(2) == -1")
  nvim:input("za")
  nvim:poll("vim.fn.foldclosed(2) == 2")
end)

case("gd asks for the diff of the only request", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat({ state = "waiting", permissions = { check.permission(7, 1) } })
  nvim:enter("chat")
  nvim:input("gd")
  same(nvim:heard("diff"), { chat = 1, id = 7 })
end)

--- ACP 120.
case("commands and files are completed in the prompt", function()
  local nvim = check.start()
  vim.fn.writefile({}, nvim.home .. "/alpha.txt")
  vim.fn.mkdir(nvim.home .. "/sub")
  vim.fn.writefile({}, nvim.home .. "/sub/beta.txt")
  nvim:open_chat()
  nvim:say("commands", {
    chat = 1,
    commands = {
      { name = "review", description = "Look", hint = "what" },
      { name = "rest", description = "Stop" },
    },
  })
  nvim:input("i/re<C-x><C-u>")
  nvim:poll_screen("/review what")
  nvim:input("<C-y> see @beta")
  nvim:poll_screen("@sub/beta.txt")
  nvim:input("<C-x><C-u><C-y>")
  nvim:poll("vim.fn.getline(1) == '/review see @sub/beta.txt'")
end)

case("command lines complete agents and files", function()
  local nvim = check.start()
  same(nvim:lua("return vim.fn.getcompletion('RatStart cla', 'cmdline')"), { "claude" })
  same(
    nvim:lua("return vim.tbl_contains(vim.fn.getcompletion('RatStart ', 'cmdline'), 'tour')"),
    true
  )
  vim.fn.writefile({}, nvim.home .. "/alpha.txt")
  nvim:files({ "a[b] c/d.txt" })
  for typed, wanted in pairs({
    ["see @alp"] = "@alpha.txt",
    ["@quick"] = "@quickfix",
    ["@a[b"] = "@a[b] c/",
  }) do
    same(nvim:lua("return vim.fn.getcompletion('RatSend ' .. ..., 'cmdline')", typed), { wanted })
  end
end)

case("a question of the binary is asked and answered", function()
  local nvim = check.start()
  nvim:open_chat()
  local ask = { id = 9, chat = 1, title = "How to log in?", items = { "Key", "Browser" } }
  nvim:say("ask", vim.tbl_extend("force", ask, { by_user = false, lasting = false }))
  nvim:poll_screen("How to log in?")
  nvim:poll_screen("<CR> choose")
  nvim:input("2<CR>")
  same(nvim:heard("answer"), { id = 9, index = 2 })
  nvim:say("ask", { id = 10, chat = 1, title = "Again?", items = { "Yes" }, lasting = false })
  nvim:poll_screen("<CR> choose")
  nvim:input("<Esc>")
  same(nvim:heard("answer", 2), { id = 10 })
end)

--- Holds (Permission requests): A question about a chat of another folder than the user is in says which.
case("a question about another project names its folder", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:say("chat", { chat = 2, agent = "gemini", cwd = "/elsewhere", show = false })
  local ask = { items = { "Undo" }, by_user = true, lasting = false }
  nvim:say("ask", vim.tbl_extend("force", ask, { id = 9, chat = 2, title = 'Undo "it"?' }))
  nvim:poll_screen('Undo "it"? (in /elsewhere)')
  nvim:poll_screen("<CR> choose")
  nvim:input("<Esc>")
  nvim:heard("answer")
  nvim:command("lcd /")
  nvim:say("ask", vim.tbl_extend("force", ask, { id = 10, chat = 1, title = 'Redo "it"?' }))
  nvim:poll_screen('Redo "it"? (in ')
end)

case("scratch buffers show in a split and close with q", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("RatInfo")
  same(nvim:heard("show"), { chat = 1 })
  nvim:say("scratch", {
    chat = 1,
    kind = "info",
    title = "100% %{x}",
    filetype = "markdown",
    lines = { "words" },
    focus = true,
  })
  check.contains(nvim:screen(), "100% %{x}")
  nvim:input("q")
  nvim:poll("vim.api.nvim_buf_get_name(0) ~= 'rat://claude/1/info'")
end)

case("commands without a chat say what to do", function()
  local nvim = check.start()
  for _, command in ipairs({
    "RatCancel",
    "RatStop",
    "RatRestart",
    "RatPlan",
    "RatInfo",
    "RatTrace",
  }) do
    nvim:lua("Said = {}")
    nvim:command(command)
    nvim:told(":RatStart")
  end
end)

case("a statusline follows the state while the chat is hidden", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("RatToggle")
  nvim:command([[set statusline=%{%v:lua.require'rat'.statusline()%}]])
  nvim:status({ state = "running", usage = { used = 1, size = 4 } })
  nvim:poll_screen("claude running · 25%")
  -- Whatever the user is in the middle of.
  for used, keys in ipairs({ "i", "v", ":" }) do
    nvim:input(keys)
    nvim:status({ state = "running", usage = { used = used, size = 10 } })
    nvim:poll_screen(("claude running · %d%%"):format(10 * used))
    nvim:input("<C-c><C-c>")
  end
end)

case("states fire, turn events pass through, status tells", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:status({ state = "running", usage = { used = 34, size = 100 } })
  nvim:status({ state = "running" })
  nvim:say("event", { name = "RatTurnEnd", data = { stop_reason = "end_turn" } })
  local events = nvim:lua("return Events")
  local states = {}
  for _, event in ipairs(events) do
    states[#states + 1] = event[1] == "RatState" and event[2].state or event[2].stop_reason
  end
  same(states, { "ready", "running", "end_turn" })
  local status = nvim:lua("return require('rat').status()")
  same(
    { status.agent, status.state, status.session_id, status.chat },
    { "claude", "running", "s1", 1 }
  )
end)

case("a long message is shown whole and never stops at the hit-enter prompt", function()
  local nvim = check.start({ binary = "/nowhere/rat-nvim" })
  nvim:lua("vim.notify = Notify")
  nvim:command("RatStart claude")
  nvim:poll_screen("see :checkhealth rat")
  check.contains(nvim:screen(), "/nowhere/rat-nvim is missing")
  same(vim.rpcrequest(nvim.channel, "nvim_get_mode").blocking, false)
  check.contains(nvim:lua("return vim.fn.execute('messages')"), "/nowhere/rat-nvim is missing")
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a', 'b' })")
  nvim:input("j")
  nvim:poll("#vim.api.nvim_list_wins() == 1")
end)

case("checkhealth runs, also with a binary that says nothing of the agents", function()
  local nvim = check.start()
  nvim:command("checkhealth rat")
  local text = table.concat(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), "\n")
  check.contains(text, "the agents you configured cannot be checked")
  check.contains(text, "rat-nvim.log")
end)

--- Holds (Configuration): `:checkhealth rat` says what to do about a binary that is missing, and does not point to itself.
case("checkhealth says how to get a binary that is missing", function()
  local nvim = check.start({ binary = "/nowhere/rat-nvim" })
  nvim:command("checkhealth rat")
  local text = table.concat(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), "\n")
  check.contains(text, "/nowhere/rat-nvim is missing")
  check.contains(text, "Run `nvim -l build.lua` in ")
  same(text:find("see :checkhealth", 1, true), nil)
end)

case("checkhealth says whether the binary was downloaded or built", function()
  local path = vim.fn.tempname()
  for _, origin in ipairs({ "(release)", "(built from source)" }) do
    local says = ("rat-nvim %s %s"):format(require("rat.version"), origin)
    vim.fn.writefile({ "#!/bin/sh", ("echo '%s'"):format(says) }, path)
    vim.fn.setfperm(path, "rwx------")
    local nvim = check.start({ binary = path })
    nvim:command("checkhealth rat")
    local text = table.concat(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), "\n")
    check.contains(text, ("%s, version %s %s"):format(path, require("rat.version"), origin))
  end
  vim.fn.delete(path)
end)

check.finish()
