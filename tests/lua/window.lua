--- Windows and buffers of a chat: opened where asked, restored when hidden, harmless to everything else.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

case("a chat opens beside, the user in the prompt", function()
  local nvim = check.start()
  nvim:open_chat()
  check.contains(nvim:screen(), "Claude ready")
  check.contains(nvim:screen(), "<CR> send")
  same(nvim:lua("return vim.fn.winlayout()[1]"), "row")
end)

case("hiding restores sizes and views of the user's windows", function()
  local nvim = check.start({ columns = 120, lines = 40 })
  nvim:command(
    "edit " .. check.root .. "/LICENSE | split | vsplit | vertical resize 20 | normal! G"
  )
  local before = nvim:windows()
  local view = nvim:lua("return vim.fn.winsaveview()")
  nvim:open_chat()
  assert(#nvim:windows() == 5)
  nvim:command("RatToggle")
  same(nvim:windows(), before)
  nvim:command("RatToggle")
  same(#nvim:windows(), 5)
  nvim:command("RatToggle")
  same(nvim:windows(), before)
  same(nvim:lua("return vim.fn.winsaveview()"), view)
end)

case("closing the windows by hand restores too, half of them counts as shown", function()
  local nvim = check.start({ columns = 120, lines = 40 })
  nvim:command("vsplit | vertical resize 30")
  local before = nvim:windows()
  nvim:open_chat()
  nvim:command("quit")
  nvim:command("RatToggle")
  same(nvim:windows(), before)
  nvim:command("RatToggle")
  nvim:lua("require('rat.view.window').enter_prompt()")
  nvim:command("quit")
  nvim:enter("chat")
  nvim:command("quit")
  nvim:poll("#vim.api.nvim_tabpage_list_wins(0) == 2")
  nvim:poll(("vim.api.nvim_win_get_width(%d) == 30"):format(before[1][1]))
end)

case("hiding the last windows leaves the user's buffer", function()
  local nvim = check.start()
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:open_chat()
  nvim:lua("vim.api.nvim_win_close(vim.fn.bufwinid(vim.fn.bufnr('LICENSE')), true)")
  nvim:command("RatToggle")
  same(#nvim:windows(), 1)
  same(nvim:lua("return vim.fn.expand('%:t')"), "LICENSE")
  local options = { "conceallevel", "winfixbuf", "winfixwidth", "winfixheight", "winbar" }
  for _, name in ipairs(options) do
    local value = nvim:lua("return vim.wo[...]", name)
    local global = nvim:lua("return vim.go[...]", name)
    same(value, global, name)
  end
end)

case("options of our windows do not leak into other buffers or windows", function()
  local nvim = check.start()
  nvim:command("set number list conceallevel=0 signcolumn=yes")
  nvim:open_chat()
  nvim:enter("chat")
  same(nvim:lua("return { vim.wo.number, vim.wo.conceallevel }"), { false, 2 })
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:poll("vim.fn.expand('%:t') == 'LICENSE' and #vim.fn.win_findbuf(vim.fn.bufnr()) == 1")
  same(
    nvim:lua("return { vim.wo.number, vim.wo.conceallevel, vim.wo.signcolumn }"),
    { true, 0, "yes" }
  )
  nvim:command("new")
  same(nvim:lua("return { vim.wo.number, vim.wo.list, vim.wo.winbar }"), { true, true, "" })
end)

--- Holds (Windows and views): Closing the transcript closes the prompt and keeps the draft.
case("closing the transcript closes the prompt with it, and its draft stays", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:input("idraft<Esc><C-w>k")
  nvim:poll("vim.bo.filetype == 'rat'")
  nvim:input(":q<CR>")
  nvim:poll("#vim.api.nvim_tabpage_list_wins(0) == 1 and vim.bo.filetype == ''")
  nvim:command("RatToggle")
  nvim:poll("vim.fn.bufwinid('rat://claude/1/prompt') > 0")
  same(nvim:lua("return vim.fn.getbufline('rat://claude/1/prompt', 1)"), { "draft" })
  -- Who wants the prompt alone has it.
  nvim:lua("require('rat.view.window').enter_prompt()")
  nvim:input("<C-w>o")
  nvim:poll("#vim.api.nvim_tabpage_list_wins(0) == 1")
  same(nvim:lua("return vim.bo.filetype"), "ratprompt")
  -- Also where there is no other window.
  nvim:command("RatToggle")
  nvim:command("RatToggle")
  nvim:lua("require('rat.view.window').enter_prompt()")
  nvim:input("<C-w>t:q<CR>")
  nvim:poll("vim.fn.bufwinid('rat://claude/1') > 0 and #vim.api.nvim_tabpage_list_wins(0) == 2")
  nvim:enter("chat")
  nvim:input(":q<CR>")
  nvim:poll("#vim.api.nvim_tabpage_list_wins(0) == 1 and vim.bo.filetype == ''")
end)

--- Holds (Windows and views): Options the user sets for our filetypes are kept.
case("what the user sets for a filetype of ours is kept", function()
  local nvim = check.start()
  nvim:command("autocmd FileType rat setlocal number nowrap")
  nvim:command("autocmd FileType ratprompt setlocal textwidth=72 spell")
  local code = [[
    local function option(buf, name) return vim.wo[vim.fn.bufwinid(buf)][name] end
    local chat, prompt = "rat://claude/1", "rat://claude/1/prompt"
    return { option(chat, "number"), option(chat, "wrap"), option(chat, "signcolumn"),
      option(prompt, "spell"), vim.bo[vim.fn.bufnr(prompt)].textwidth }
  ]]
  nvim:open_chat()
  same(nvim:lua(code), { true, false, "no", true, 72 })
  nvim:command("RatToggle")
  nvim:command("RatToggle")
  same(nvim:lua(code), { true, false, "no", true, 72 })
  same(nvim:lua("return { vim.go.number, vim.wo.number, vim.go.spell }"), { false, false, false })
end)

--- Holds (Windows and views): A session file with local options does not change a chat.
case("a session with local options does not say how a chat stood", function()
  local nvim = check.start()
  nvim:command("set sessionoptions+=localoptions")
  nvim:open_chat({ state = "ready" })
  nvim:poll_screen("ready")
  local file = nvim.home .. "/session.vim"
  nvim:command("mksession " .. file)
  nvim = check.start()
  nvim:command("source " .. file)
  nvim:poll_screen("Not connected. Send a prompt to resume.")
  nvim:poll_screen("stopped")
  assert(not nvim:screen():find("ready"), nvim:screen())
end)

--- Holds (Windows and views): Two messages at once never wait for a key.
case("two messages at once never stop at a prompt, without a command line neither", function()
  for _, height in ipairs({ 0, 1 }) do
    local nvim = check.start()
    nvim:command("set cmdheight=" .. height)
    nvim:lua("vim.notify = Notify")
    nvim:lua(
      "require('rat.util.notify').error('one'); require('rat.util.notify').error(('two '):rep(40)); require('rat.util.notify').warn('three')"
    )
    nvim:poll("vim.fn.execute('messages'):find('three') ~= nil")
    same(nvim:lua("return vim.api.nvim_get_mode().blocking"), false)
    nvim:input("ix<Esc>")
    nvim:poll("vim.fn.getline(1) == 'x'")
  end
end)

case("focus is not stolen from somebody who moved on or types", function()
  local nvim = check.start()
  nvim:lua("require('rat').start({ agent = 'claude', session = 's9' })")
  local start = nvim:heard("start")
  same(#nvim:windows(), 1)
  nvim:input("ihello")
  nvim:poll("vim.api.nvim_get_mode().mode == 'i' and vim.fn.getline(1) == 'hello'")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = start.cwd, show = true, focus = true })
  same(nvim:lua("return { vim.bo.filetype, vim.api.nvim_get_mode().mode }"), { "", "i" })
  same(#nvim:windows(), 3)
end)

case("a chat shown unasked leaves the focus", function()
  local nvim = check.start()
  nvim:say("chat", { chat = 1, agent = "claude", cwd = "/", show = true, focus = true })
  same(nvim:lua("return vim.bo.filetype"), "")
end)

case("two tab pages show the same chat, each restored by itself", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("tabnew")
  nvim:command("RatToggle")
  same(#nvim:windows(), 3)
  nvim:command("RatToggle")
  same(#nvim:windows(), 1)
  nvim:command("tabprevious")
  same(#nvim:windows(), 3)
end)

--- Draws lines in a view of the chat, as the binary would.
local function draw(nvim, view, lines)
  nvim:lua(
    [[local buf, lines = require("rat.chat.buffers").get(1, ...), select(2, ...)
      vim.bo[buf].modifiable = true
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
      require("rat.view.window").fit_stacked(1)]],
    view,
    lines
  )
end

--- Holds (Windows and views): The plan and the tool calls are as high as what they show.
case("the plan and the tool calls are as high as what they show, up to a third", function()
  for command, view in pairs({ RatPlan = "plan", RatTools = "tools" }) do
    local nvim = check.start({ lines = 44 })
    nvim:open_chat()
    local height = ("vim.api.nvim_win_get_height(vim.fn.bufwinid('/%s$'))"):format(view)
    local function chat_and(lines)
      draw(nvim, view, lines)
      local own = nvim:lua("return " .. height)
      local chat = "return vim.api.nvim_win_get_height(vim.fn.bufwinid('claude/1$'))"
      return own, own + nvim:lua(chat)
    end
    nvim:command(command)
    local own, both = chat_and({ "The agent has no plan yet." })
    same(own, 2, "a winbar and a line")
    for count, wanted in pairs({ [3] = 4, [6] = 7, [100] = math.floor((both + 1) / 3) }) do
      same({ chat_and(vim.split(("x\n"):rep(count - 1) .. "x", "\n")) }, { wanted, both })
    end
    -- What the user chooses stays.
    nvim:lua(("vim.api.nvim_win_set_height(vim.fn.bufwinid('/%s$'), 9)"):format(view))
    nvim:lua("vim.cmd('doautocmd WinResized')")
    same({ chat_and({ "one" }) }, { 9, both })
    nvim:command(command)
    nvim:command(command)
    same(nvim:lua("return " .. height), 2, "opened anew")
  end
end)

case("every position opens and hides", function()
  for _, position in ipairs({ "left", "right", "top", "bottom", "tab" }) do
    local nvim = check.start()
    nvim:lua("require('rat').setup({ layout = { position = ... } })", position)
    local before = nvim:windows()
    nvim:open_chat()
    nvim:command("RatPlan")
    nvim:command("RatTools")
    check.contains(nvim:screen(), "Tool calls")
    nvim:command("RatPlan")
    nvim:command("RatTools")
    nvim:command("RatToggle")
    same(nvim:windows(), before, position)
    same(nvim:lua("return #vim.api.nvim_list_tabpages()"), 1, position)
  end
end)

case("plan, tools and a growing prompt take room from the chat alone", function()
  for _, position in ipairs({ "right", "bottom", "top" }) do
    local nvim = check.start({ columns = 120, lines = 50 })
    nvim:lua("require('rat').setup({ layout = { position = ... } })", position)
    nvim:command("split | resize 5 | split | resize 3 | vsplit | vertical resize 15")
    local users = nvim:windows()
    nvim:open_chat()
    same(nvim:lua("return vim.api.nvim_win_get_width(...)", users[1][1]), 15)
    local function sizes()
      return vim.tbl_map(function(window)
        return {
          nvim:lua("return vim.api.nvim_win_get_width(...)", window[1]),
          nvim:lua("return vim.api.nvim_win_get_height(...)", window[1]),
        }
      end, users)
    end
    local before = sizes()
    nvim:command("RatPlan")
    nvim:command("RatTools")
    same(sizes(), before, position .. " opened")
    nvim:command("RatPlan")
    nvim:command("RatTools")
    same(sizes(), before, position .. " closed")
    nvim:input("i" .. ("<CR>x"):rep(9))
    nvim:poll("vim.api.nvim_win_get_height(0) > 7")
    same(sizes(), before, position .. " grown")
    nvim:input("<Esc>ggdG")
    nvim:poll("vim.api.nvim_win_get_height(0) == 5")
    same(sizes(), before, position .. " shrunk")
  end
end)

case("a location opens in the tab page the user came from", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ layout = { position = 'tab' } })")
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:open_chat()
  nvim:lua(
    "require('rat.view.location').open(...)",
    { path = check.root .. "/Cargo.toml", line = 1 }
  )
  same(nvim:lua("return { vim.fn.tabpagenr(), vim.fn.expand('%:t') }"), { 1, "Cargo.toml" })
end)

case("a tab page of its own is gone to, not opened twice", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ layout = { position = 'tab' } })")
  nvim:open_chat()
  nvim:command("tabprevious")
  nvim:command("RatStart claude")
  local start = nvim:heard("start", 2)
  nvim:say("chat", { chat = 1, agent = "claude", cwd = start.cwd, show = true, focus = true })
  same(nvim:lua("return { #vim.api.nvim_list_tabpages(), vim.bo.filetype }"), { 2, "ratprompt" })
end)

case("a tab page of its own is gone to when toggled, and closed from there", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ layout = { position = 'tab' } })")
  nvim:open_chat()
  local function seen()
    return nvim:lua("return { #vim.api.nvim_list_tabpages(), vim.fn.tabpagenr(), vim.bo.filetype }")
  end
  nvim:command("RatToggle")
  same(seen(), { 1, 1, "" })
  nvim:command("RatToggle")
  same(seen(), { 2, 2, "ratprompt" })
  nvim:command("tabprevious")
  nvim:command("RatToggle")
  same(seen(), { 2, 2, "ratprompt" })
  nvim:command("RatToggle")
  same(seen(), { 1, 1, "" })
end)

case("a chat that comes in the command-line window opens after it", function()
  local nvim = check.start()
  nvim:input("q:")
  nvim:poll("vim.fn.getcmdwintype() == ':'")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = vim.fn.getcwd(), show = true, focus = true })
  nvim:input(":quit<CR>")
  nvim:poll("vim.fn.getcmdwintype() == '' and #vim.api.nvim_tabpage_list_wins(0) == 3")
  same(nvim:lua("return #Said"), 0)
end)

case("a prompt that grows in one tab page fits in the other", function()
  local nvim = check.start({ lines = 40 })
  nvim:open_chat()
  nvim:command("tabnew")
  nvim:command("RatToggle")
  nvim:lua("require('rat.view.window').enter_prompt()")
  nvim:input("i" .. ("<CR>x"):rep(8))
  nvim:poll("vim.api.nvim_win_get_height(0) == 10")
  nvim:input("<Esc>gT")
  nvim:poll("vim.fn.tabpagenr() == 1 and vim.api.nvim_win_get_height(0) == 10")
end)

case("write all, quit all and a modified draft", function()
  local nvim = check.start()
  local file = nvim.home .. "/a.txt"
  nvim:command("edit " .. file)
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'text' })")
  nvim:open_chat()
  nvim:input("idraft<Esc>")
  nvim:poll("vim.fn.getline(1) == 'draft'")
  nvim:poll("vim.bo.modified == false")
  nvim:command("wall")
  same(vim.fn.readfile(file), { "text" })
  nvim:command("RatToggle")
  nvim:command("RatToggle")
  nvim:lua("require('rat.view.window').enter_prompt()")
  same(nvim:lua("return vim.fn.getline(1)"), "draft")
  pcall(nvim.command, nvim, "wqall")
  same(
    vim.wait(20000, function()
      return vim.fn.jobwait({ nvim.channel }, 0)[1] ~= -1
    end, 5),
    true
  )
end)

case("buffers have the options of a view", function()
  local nvim = check.start()
  nvim:open_chat()
  local found = nvim:lua([[
    local found = {}
    for _, view in ipairs({ "chat", "prompt", "plan", "tools" }) do
      local buf = require("rat.chat.buffers").get(1, view)
      local bo = vim.bo[buf]
      found[view] = { vim.api.nvim_buf_get_name(buf), bo.filetype, bo.buftype, bo.bufhidden,
        bo.buflisted, bo.swapfile, bo.modeline, bo.modifiable }
    end
    return found
  ]])
  same(found.chat, { "rat://claude/1", "rat", "nofile", "hide", false, false, false, false })
  same(found.prompt[1], "rat://claude/1/prompt")
  same({ found.prompt[2], found.prompt[8] }, { "ratprompt", true })
  same({ found.plan[1], found.plan[2] }, { "rat://claude/1/plan", "ratplan" })
  same({ found.tools[1], found.tools[2] }, { "rat://claude/1/tools", "rattools" })
end)

case("a session file brings the windows back, a new chat takes them over", function()
  local nvim = check.start()
  nvim:open_chat()
  local session = nvim.home .. "/session.vim"
  nvim:command("mksession " .. session)
  local other = check.start()
  other:command("source " .. session)
  same(
    other:lua("return #vim.tbl_filter(function(m) return m[2] == vim.log.levels.ERROR end, Said)"),
    0
  )
  check.contains(other:screen(), "Not connected")
  other:command("RatStart claude")
  local start = other:heard("start")
  other:say("chat", { chat = 1, agent = "claude", cwd = start.cwd, show = true })
  same(
    other:lua("return vim.api.nvim_buf_get_name(require('rat.chat.buffers').get(1, 'chat'))"),
    "rat://claude/1"
  )
  other:status()
  check.contains(other:screen(), "<CR> send")
  same(#other:windows(), 3)
  other:command("RatToggle")
  same(#other:windows(), 1)
end)

case("rat:// names can be opened", function()
  local nvim = check.start()
  nvim:command("edit rat://gemini/7")
  same(
    nvim:lua("return { vim.bo.buftype, vim.bo.filetype, vim.bo.modifiable }"),
    { "nofile", "rat", false }
  )
  check.contains(nvim:screen(), "Not connected")
  nvim:command("edit rat://nothing")
  check.contains(nvim:screen(), "Nothing to show")
  nvim:command("edit rat://gemini/7/prompt")
  same(nvim:lua("return { vim.bo.filetype, vim.bo.modifiable }"), { "ratprompt", true })
end)

case("the prompt grows with its text and shrinks again", function()
  local nvim = check.start({ lines = 40 })
  nvim:open_chat()
  same(nvim:lua("return vim.api.nvim_win_get_height(0)"), 5)
  nvim:input("ia<CR>b<CR>c<CR>d<CR>e<CR>f<CR>g")
  nvim:poll("vim.api.nvim_win_get_height(0) == 8")
  nvim:input(("<CR>x"):rep(20))
  nvim:poll("vim.api.nvim_win_get_height(0) == 12")
  nvim:input("<Esc>ggdG")
  nvim:poll("vim.api.nvim_win_get_height(0) == 5")
end)

case("what agents say is not evaluated in winbars", function()
  local nvim = check.start({ columns = 160 })
  nvim:open_chat({ state = "running", detail = "100% of %{execute('let g:hacked=1')}\27[31m\nend" })
  check.contains(nvim:screen(), "running: 100% of %{execute('let g:hacked")
  same(nvim:lua("return vim.g.hacked == nil"), true)
  same(nvim:lua("return require('rat').statusline()"), "claude running")
end)

case("another chat takes the windows of the one before", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:say("chat", { chat = 2, agent = "gemini", cwd = "/", show = true })
  same(#nvim:windows(), 3)
  check.contains(nvim:screen(), "Gemini starting")
end)

case("a location opens in the user's window", function()
  local nvim = check.start()
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:open_chat()
  local target = check.root .. "/Cargo.toml"
  nvim:lua("require('rat.view.location').open(...)", { path = target, line = 3 })
  same(
    nvim:lua(
      "return { vim.fn.expand('%:p'), vim.fn.line('.'), #vim.api.nvim_tabpage_list_wins(0) }"
    ),
    { target, 3, 3 }
  )
  nvim:command("normal! " .. vim.keycode("<C-o>"))
  same(nvim:lua("return vim.fn.expand('%:t')"), "LICENSE")
  nvim:lua("require('rat.view.location').open(...)", { path = target, line = 99999 })
  same(nvim:lua("return vim.fn.expand('%:t')"), "Cargo.toml")
end)

case("a file has the name that the user would have given it", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("cd " .. check.root)
  local odd = nvim.home .. "/odd"
  vim.fn.mkdir(odd)
  vim.fn.writefile({}, odd .. "/~root")
  for _, one in ipairs({
    { check.root .. "/src/lib.rs", "src/lib.rs" },
    { "tests/lua/window.lua", "tests/lua/window.lua" },
    { odd .. "/~root", odd .. "/~root" },
  }) do
    nvim:lua("require('rat.view.location').open({ path = ... })", one[1])
    same(nvim:lua("return vim.fn.bufname()"), one[2])
  end
  nvim:command("cd " .. odd)
  nvim:lua("require('rat.view.location').open({ path = '~root' })")
  same(nvim:lua("return vim.api.nvim_buf_get_name(0)"), odd .. "/~root")
end)

check.finish()
