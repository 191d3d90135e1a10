--- Permission requests: the chooser opens when nothing is typed, every way to answer answers the right one, once.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function wait_for(nvim, ...)
  nvim:status({ state = "waiting", permissions = { ... } })
end

case("the chooser opens in the chat and answers with the option", function()
  local nvim = check.start()
  nvim:open_chat()
  wait_for(nvim, check.permission(1))
  check.contains(nvim:screen(), "ga allow once · gr reject")
  nvim:poll_screen("<CR> choose")
  nvim:input("<CR>jj<CR>")
  nvim:poll_screen("number first")
  same(nvim:has_heard("permission"), false, "nothing is selected at first, nor by moving")
  nvim:input("2<CR>")
  same(nvim:heard("permission"), { chat = 1, id = 1, revision = 0, option = "always" })
  same(nvim:lua("return vim.bo.filetype"), "ratprompt")
end)

case("it does not open while the user types, and opens after", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:input("ityping")
  nvim:poll("vim.fn.getline(1) == 'typing'")
  wait_for(nvim, check.permission(1))
  nvim:lua(
    "Shown = false; vim.api.nvim_create_autocmd('FileType', { pattern = 'ratselect', callback = function() Shown = vim.api.nvim_get_mode().mode end })"
  )
  nvim:input(" more")
  nvim:poll("vim.fn.getline(1) == 'typing more'")
  same(nvim:lua("return Shown"), false)
  nvim:input("<Esc>")
  nvim:lua("require('rat.util.idle').when(function() return true end, function() Idle = 1 end)")
  nvim:poll("Idle == 1")
  same(nvim:lua("return Shown"), false, "not over a draft")
  nvim:input("dd")
  nvim:poll("Shown == 'n'")
  nvim:poll_keys("<Esc>")
  nvim:input("<Esc>")
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  same(nvim:has_heard("permission"), false)
end)

case("outside the chat it opens only where the user wants it always", function()
  for policy, opens in pairs({ chat = false, always = true, never = false }) do
    local nvim = check.start()
    nvim:lua("require('rat').setup({ permission = { open = ... } })", policy)
    nvim:open_chat()
    nvim:command("wincmd p")
    -- A second wait, started later, runs after the chooser had its turn.
    nvim:lua([[Idle = 0
      package.loaded["rat.ask.chooser"] = nil
      local open = require("rat.ask.chooser").open
      require("rat.ask.chooser").open = function(...) Opened = true return open(...) end]])
    wait_for(nvim, check.permission(1))
    nvim:lua("require('rat.util.idle').when(function() return true end, function() Idle = 1 end)")
    if opens then
      nvim:poll("Opened == true")
    else
      nvim:poll("Idle == 1")
      same(nvim:lua("return Opened == nil"), true, policy)
    end
  end
end)

case("answered elsewhere: the chooser closes and says nothing", function()
  local nvim = check.start()
  nvim:open_chat()
  wait_for(nvim, check.permission(1))
  nvim:poll("vim.bo.filetype == 'ratselect'")
  nvim:status({ state = "running" })
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  same(nvim:has_heard("permission"), false)
end)

case("the user's own vim.ui.select is used, a late answer does nothing", function()
  local nvim = check.start()
  nvim:lua(
    "vim.ui.select = function(items, opts, choose) Mine = { items, opts.prompt }; Choose = choose end"
  )
  nvim:open_chat()
  wait_for(nvim, check.permission(1))
  nvim:poll("Mine ~= nil")
  same(nvim:lua("return { Mine[2], #Mine[1] }"), { "Claude: Edit main.rs", 4 })
  nvim:status({ state = "running" })
  nvim:lua("Choose({ id = 'once', name = 'Allow once' }, 1)")
  wait_for(nvim, check.permission(2))
  nvim:poll("Mine ~= nil")
  nvim:command("RatPermission")
  nvim:lua("Choose(Mine[1][3], 3)")
  same(nvim:heard("permission"), { chat = 1, id = 2, revision = 0, option = "no" })
end)

case("g and a digit answer in the prompt and on the card, digits alone are counts", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  wait_for(nvim, check.permission(4))
  nvim:poll_screen("ga allow once · gr reject")
  nvim:input("ia<CR>b<CR>c<Esc>gg2j")
  nvim:poll("vim.fn.line('.') == 3")
  nvim:input("g3")
  same(nvim:heard("permission"), { chat = 1, id = 4, revision = 0, option = "no" })
  wait_for(nvim, check.permission(5), check.permission(6), check.permission(7))
  nvim:let_time_pass()
  nvim:input("ga")
  nvim:told("Several requests are waiting")
  nvim:enter("chat")
  nvim:lua("Action = { kind = 'permission', id = 6 }")
  nvim:input("1j2k3")
  nvim:input("<Esc>g1")
  same(nvim:heard("permission", 2), { chat = 1, id = 6, revision = 0, option = "once" })
  nvim:lua("Action = { kind = 'permission', id = 7 }")
  nvim:input("g9")
  nvim:told("The request has no option 9")
  nvim:lua("Action = vim.NIL; Action = nil")
  nvim:input("2i")
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  same(nvim:lua("return #vim.tbl_filter(function(m) return m[1] == 'permission' end, Heard)"), 2)
end)

--- Holds (Permission requests): Whoever has closed a chooser is not shown that of the next request at once.
case("where a chooser was closed, those of the others that wait do not open", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:enter("prompt")
  wait_for(nvim, check.permission(1), check.permission(2))
  nvim:poll_screen("<CR> choose")
  nvim:input("<Esc>")
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  nvim:lua("Open = require('rat.ask.chooser').open")
  nvim:lua("require('rat.ask.chooser').open = function() Opened = true return Open() end")
  nvim:lua("require('rat.util.idle').when(function() return true end, function() Idle = true end)")
  nvim:poll("Idle")
  same(nvim:lua("return Opened == nil"), true)
  wait_for(nvim, check.permission(1), check.permission(2), check.permission(3))
  nvim:poll("Opened")
end)

--- Holds (Permission requests): What is pasted while a chooser is open goes into the prompt and answers nothing.
case("a paste closes a chooser that opened by itself, and goes into the prompt", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:enter("prompt")
  wait_for(nvim, check.permission(1))
  nvim:poll("vim.bo.filetype == 'ratselect'")
  nvim:lua("vim.api.nvim_paste('1\\nmade by a paste', true, -1)")
  nvim:poll("vim.bo.filetype == 'ratprompt' and vim.fn.getline('$') == 'made by a paste'")
  same(nvim:has_heard("permission"), false)
  same(nvim:lua("return debug.getinfo(vim.paste, 'S').source:find('rat/ask/paste') == nil"), true)
end)

--- Holds (Permission requests): A key that is held down or pressed twice answers no request that arrives meanwhile.
case("a repeated key answers nothing that has just arrived", function()
  for _, key in ipairs({ "ga", "gr", "g1", ":RatAllow<CR>", ":RatDeny<CR>" }) do
    local nvim = check.start()
    nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
    nvim:open_chat()
    nvim:enter("prompt")
    wait_for(nvim, check.permission(1))
    nvim:input(key)
    same(nvim:heard("permission").id, 1)
    wait_for(nvim, check.permission(3))
    for _ = 1, 3 do
      nvim:input(key)
    end
    nvim:told("Another request has just arrived. Look at it before you answer.")
    nvim:let_time_pass()
    nvim:input(key)
    same(nvim:heard("permission", 2).id, 3)
  end
end)

case("a repeated key answers no write that has just arrived", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  nvim:enter("prompt")
  wait_for(nvim, check.permission(1))
  nvim:input("ga")
  nvim:heard("permission")
  nvim:status({ state = "running" })
  nvim:say(
    "ask",
    { id = 2, chat = 1, title = "Write a.lua", items = { "Write", "Reject", "Show" }, peek = 3 }
  )
  nvim:input("ga")
  nvim:told("Another request has just arrived. Look at it before you answer.")
  same(nvim:has_heard("answer"), false)
  nvim:let_time_pass()
  nvim:input("ga")
  same(nvim:heard("answer"), { id = 2, index = 1 })
end)

--- Holds (Permission requests): A key that may be the beginning of another answer's number only selects.
case("of twelve options, g1 may be the beginning of g12", function()
  local nvim = check.start()
  local request = check.permission(1)
  for number = 4, 12 do
    local name = "Option " .. number
    request.options[number] = { id = "o" .. number, name = name, kind = "allow_once" }
  end
  nvim:open_chat({ permissions = { request } })
  nvim:enter("prompt")
  nvim:input("draft<Esc>g1")
  nvim:poll_screen("12  Option 12")
  same(nvim:has_heard("permission"), false)
  nvim:input("2<CR>")
  same(nvim:heard("permission").option, "o12")
  nvim:status({ permissions = { check.permission(2) } })
  nvim:let_time_pass()
  nvim:input("g2")
  same(nvim:heard("permission", 2).option, "always", "of three options, nothing can follow")
end)

case("a second key is not meant for what was answered", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  wait_for(nvim, check.permission(1))
  nvim:input("gaga")
  nvim:heard("permission")
  nvim:command("RatAllow")
  nvim:told("No permission request is waiting")
  same(nvim:lua("return #vim.tbl_filter(function(m) return m[1] == 'permission' end, Heard)"), 1)
end)

case("what a question of ours waits for is named, and it opens in its chat only", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("wincmd t")
  local ask = { id = 9, chat = 1, title = "Use /etc?", items = { "Allow", "Refuse" } }
  nvim:say("ask", vim.tbl_extend("force", ask, { by_user = false, lasting = true }))
  nvim:told("Use /etc? (answer with :RatPermission)")
  check.contains(nvim:screen(), " :RatPermission ")
  check.contains(nvim:lua("return require('rat').statusline()"), "1 to answer")
  nvim:input("10j<CR>1<CR>")
  nvim:lua("require('rat.util.idle').when(function() return true end, function() Idle = 1 end)")
  nvim:poll("Idle == 1")
  same(nvim:lua("return vim.bo.filetype"), "")
  nvim:command("RatPermission")
  nvim:poll("vim.bo.filetype == 'ratselect'")
  nvim:input("<CR><Esc>")
  nvim:poll("vim.bo.filetype == ''")
  same(nvim:has_heard("answer"), false, "closing it is no answer")
  nvim:command("RatPermission")
  nvim:poll("vim.bo.filetype == 'ratselect'")
  nvim:input("2<CR>")
  same(nvim:heard("answer"), { id = 9, index = 2 })
  same(nvim:screen():find(" :RatPermission ", 1, true), nil)
end)

case("a card opens the chooser for its own request", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  wait_for(nvim, check.permission(1), check.permission(2))
  nvim:enter("chat")
  nvim:lua("Action = { kind = 'permission', id = 2 }")
  nvim:input("<CR>")
  nvim:poll("vim.bo.filetype == 'ratselect'")
  nvim:input("3<CR>")
  same(nvim:heard("permission"), { chat = 1, id = 2, revision = 0, option = "no" })
end)

case(":RatAllow and :RatDeny answer the oldest from anywhere", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("wincmd p")
  nvim:command("RatAllow")
  nvim:told("No permission request is waiting")
  wait_for(nvim, check.permission(1))
  nvim:let_time_pass()
  nvim:command("RatAllow")
  same(nvim:heard("permission"), { chat = 1, id = 1, revision = 0, allow = true })
  wait_for(nvim, check.permission(2))
  nvim:let_time_pass()
  nvim:command("RatDeny not like this")
  same(
    nvim:heard("permission", 2),
    { chat = 1, id = 2, revision = 0, allow = false, reason = "not like this" }
  )
  wait_for(nvim, check.permission(3))
  check.contains(nvim:lua("return require('rat').statusline()"), "1 to answer")
end)

case("the diff of a request: native, by files, answered with ga", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  wait_for(nvim, check.permission(1, 2))
  nvim:command("RatPermission")
  nvim:poll_screen("Show the diff")
  nvim:input("4<CR>")
  same(nvim:heard("diff"), { chat = 1, id = 1 })
  local files = {
    { path = "/p/a.lua", old = "one\ntwo\n", new = "one\n2\n" },
    { path = "/p/b.lua", old = "", new = "new\n" },
  }
  nvim:say("diff", { chat = 1, id = 1, title = "Edit", files = files })
  nvim:poll("#vim.api.nvim_list_tabpages() == 2 and vim.wo.diff")
  check.contains(nvim:screen(), "a.lua 1 of 2")
  same(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), { "one", "2" })
  nvim:input("]f")
  nvim:poll_screen("b.lua 2 of 2")
  nvim:input("[f")
  nvim:poll_screen("a.lua 1 of 2")
  nvim:input("ga")
  same(nvim:heard("permission"), { chat = 1, id = 1, revision = 0, allow = true })
  nvim:poll("#vim.api.nvim_list_tabpages() == 1 and vim.bo.filetype == 'ratprompt'")
end)

case("a request of an agent that is out of sight is shown, not answered", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  nvim:say("chat", { chat = 2, agent = "gemini", cwd = "/", show = false })
  nvim:status({
    chat = 2,
    state = "waiting",
    title = "Gemini",
    permissions = { check.permission(1) },
  })
  check.contains(
    nvim:lua("return require('rat').statusline()"),
    "claude ready · 1 to answer elsewhere"
  )
  nvim:command("RatDeny not now")
  nvim:told("is waiting. This is its request.")
  same(nvim:has_heard("permission"), false)
end)

case("from another window the chat on the screen is meant, whatever its folder", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  nvim:say("chat", { chat = 2, agent = "gemini", cwd = "/elsewhere", show = false })
  nvim:status({ chat = 2, state = "waiting", permissions = { check.permission(1) } })
  wait_for(nvim, check.permission(2))
  nvim:command("wincmd p")
  nvim:command("lcd /")
  nvim:command("RatAllow")
  same(nvim:heard("permission"), { chat = 1, id = 2, revision = 0, allow = true })
end)

case("a diff closes with q and when decided elsewhere, and leaves nothing", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ diff = 'tab' })")
  nvim:open_chat()
  local diff =
    { chat = 1, id = 1, title = "Edit", files = { { path = "/p/a", old = "1\n", new = "2\n" } } }
  wait_for(nvim, check.permission(1, 1))
  local buffers = nvim:lua("return #vim.api.nvim_list_bufs()")
  nvim:say("diff", diff)
  nvim:poll("#vim.api.nvim_list_tabpages() == 2")
  nvim:poll_keys("q")
  nvim:input("q")
  nvim:poll("#vim.api.nvim_list_tabpages() == 1")
  nvim:say("diff", diff)
  nvim:poll("#vim.api.nvim_list_tabpages() == 2")
  nvim:status({ state = "running" })
  same(nvim:lua("return #vim.api.nvim_list_tabpages()"), 1)
  same(nvim:lua("return #vim.api.nvim_list_bufs()"), buffers)
  same(nvim:has_heard("permission"), false)
end)

case("the winbar says what needs approval as far as there is room", function()
  local nvim = check.start()
  local function bar(width)
    return nvim:lua(
      [[
        local permission, width = ...
        local status = { state = "waiting", detail = "needs approval: make check" }
        status.permissions, status.elicitations = { permission }, {}
        local chat = { agent = "claude", cwd = vim.fn.getcwd(), title = "Claude", status = status }
        return require("rat.chat.status").transcript_bar(chat, width)
      ]],
      check.permission(7, 1),
      width
    )
  end
  for width, state in pairs({
    [80] = "needs approval: make check",
    [50] = "needs approval: make…",
    [44] = "needs approval…",
    [43] = "waiting",
    [30] = "waiting",
  }) do
    check.contains(bar(width), "#" .. state .. "%*")
    check.contains(bar(width), ":RatAllow :RatDeny")
  end
end)

--- Waits until every word of the question and of each answer is on the screen, in one frame.
local function poll_whole(nvim, words, what)
  local code = [[(function(words)
    vim.cmd.redraw()
    local win = vim.api.nvim_get_current_win()
    local config, at = vim.api.nvim_win_get_config(win), vim.fn.win_screenpos(win)
    local width, height = vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win)
    local seen = {}
    local bottom, right = at[1] + height + 1, at[2] + width + 1
    for row = at[1] + 1, bottom - 1 do
      for column = at[2] + 1, right - 1 do
        table.insert(seen, vim.fn.screenstring(row, column))
      end
      table.insert(seen, " ")
    end
    seen = table.concat(seen):gsub("%%s+", " ")
    local inside = right <= vim.o.columns and bottom <= vim.o.lines
    return config.relative == "editor" and inside and vim.iter(words):all(function(word)
      return seen:find(word, 1, true) ~= nil
    end)
  end)(%s)]]
  local ok, problem = pcall(nvim.poll, nvim, code:format(vim.inspect(words)))
  if not ok then
    error(("%s: %s"):format(what, problem))
  end
end

--- Holds (Windows and views): Choosers and lists of keys fit the screen after a resize.
case("a chooser fits the screen after its size has changed, and keeps what is selected", function()
  local words = {}
  for i = 1, 30 do
    words[i] = ("word%d"):format(i)
  end
  for _, place in ipairs({ "in the chat", "elsewhere" }) do
    local nvim = check.start({ columns = 140, lines = 40 })
    nvim:open_chat()
    if place == "elsewhere" then
      nvim:command("wincmd t")
    end
    nvim:lua(
      [[require("rat.ask.chooser").open({ "one", (...), "end" }, { prompt = "Which? " .. (...), careful = true },
        function(item) Chosen = item end)]],
      table.concat(words, " ")
    )
    poll_whole(nvim, words, place)
    nvim:input("3")
    for _, size in ipairs({ { 70, 24 }, { 50, 30 }, { 140, 20 }, { 100, 45 } }) do
      nvim:lua("vim.o.columns, vim.o.lines = ...", size[1], size[2])
      local shown = vim.list_extend({ "1 one", "3 end" }, words)
      poll_whole(nvim, shown, place .. " " .. vim.inspect(size))
      same(nvim:lua("return vim.api.nvim_get_current_line()"), " 3  end")
    end
    nvim:input("<CR>")
    nvim:poll("Chosen == 'end'")
  end
end)

--- Holds (Windows and views): Choosers and lists of keys fit the screen after a resize.
case("the list of keys fits the screen after its size has changed", function()
  local nvim = check.start({ columns = 140, lines = 40 })
  nvim:open_chat()
  nvim:input("<Esc>g?")
  nvim:poll("vim.bo.filetype == 'rathelp'")
  for _, size in ipairs({ { 60, 40 }, { 30, 45 }, { 140, 20 }, { 100, 45 } }) do
    nvim:lua("vim.o.columns, vim.o.lines = ...", size[1], size[2])
    nvim:poll([[(function()
      local config = vim.api.nvim_win_get_config(0)
      local right, bottom = config.col + config.width + 2, config.row + config.height + 2
      local all = math.min(vim.api.nvim_win_text_height(0, {}).all, vim.o.lines - 6)
      return right <= vim.o.columns and bottom <= vim.o.lines and config.height == all
    end)()]])
  end
end)

check.finish()
