--- `:RatChats`: which chats need the user, how their rows fit into a width, and what the page does with them.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- A Neovim with a chat in each of these states, none shown.
local function start(states, options)
  local nvim = check.start(options)
  nvim:lua("require('rat.rpc').start()")
  for id, state in ipairs(states) do
    local folder = ("%s/p%d"):format(nvim.home, id)
    vim.fn.mkdir(folder, "p")
    nvim:say("chat", { chat = id, agent = "claude", cwd = folder })
    nvim:status({ chat = id, state = state, session_title = "title " .. id })
  end
  return nvim
end

--- The numbers of the chats in the order in which the page lists them.
local function listed(nvim)
  return nvim:lua([[
    return vim.tbl_map(function(line)
      return tonumber(line:match("title (%d+)"))
    end, vim.api.nvim_buf_get_lines(vim.fn.bufnr("rat://chats"), 0, -1, true))
  ]])
end

--- The number of the chat that the cursor is on.
local function here(nvim)
  return nvim:lua("return tonumber(vim.fn.getline('.'):match('title (%d+)'))")
end

local function counts(nvim)
  return nvim:lua("return require('rat').counts()")
end

local function end_turn(nvim, id, reason)
  nvim:say("event", { name = "RatTurnEnd", data = { chat = id, stop_reason = reason } })
  nvim:status({ chat = id, session_title = "title " .. id })
end

local function row(fields)
  return vim.tbl_extend("force", {
    standing = "running",
    agent = "Claude",
    title = "Fix the parser",
    age = "5 min ago",
    folder = "~/work/project",
    added = 12,
    removed = 3,
  }, fields or {})
end

local rows = require("rat.chats.rows")

--- Holds (Several chats): Each row names the state by a sign and a word, and no row is wider than its window.
case("rows fit into every width, in cells", function()
  local list = {
    row(),
    row({
      standing = "waiting",
      title = ("日本語"):rep(20),
      folder = "~/" .. ("深い/"):rep(30),
    }),
    row({ standing = "done", title = "", added = 0, removed = 0, age = "" }),
    row({
      standing = "cancelling",
      agent = ("x"):rep(60),
      title = "a\tb\n\27[31m",
      age = "2026-01-02",
    }),
  }
  for width = 30, 300 do
    local lines, spans = rows.format(list, width)
    for at, line in ipairs(lines) do
      assert(vim.api.nvim_strwidth(line) <= width, width .. line)
      assert(not line:find("[%c]"), line)
      for _, span in ipairs(spans[at]) do
        assert(span.first < span.last and span.last <= #line, width .. vim.inspect(span) .. line)
      end
    end
    check.contains(lines[1], "> running")
    check.contains(lines[2], "? needs you")
    check.contains(lines[3], "* done")
  end
end)

case("columns give way in an order: folder, agent, age, changes", function()
  local function shown(width)
    local line = rows.format({ row() }, width)[1]
    local parts = { folder = "~/work", agent = "Claude", age = "5 min", changes = "+12 -3" }
    local found = {}
    for _, name in ipairs({ "folder", "agent", "age", "changes" }) do
      found[#found + 1] = line:find(parts[name], 1, true) and name or nil
    end
    return table.concat(found, " ")
  end
  same(shown(80), "folder agent age changes")
  same(shown(52), "agent age changes")
  same(shown(46), "age changes")
  same(shown(35), "changes")
  same(shown(26), "")
  same(
    rows.format({ row() }, 80)[1],
    "> running  Fix the parser  +12 -3  5 min ago  Claude  ~/work/project"
  )
  check.contains(rows.format({ row() }, 63)[1], "…")
end)

case("no chat: the page says how to begin", function()
  local nvim = check.start()
  nvim:command("RatChats")
  nvim:poll_screen("No chat is open. :RatStart starts one.")
  nvim:input("dd<CR>xr]w")
  nvim:input(":let g:typed = 1<CR>")
  nvim:poll("vim.g.typed == 1")
  same(nvim:lua("return Said"), {})
  nvim:say("chat", { chat = 1, agent = "claude", cwd = nvim.home })
  nvim:status({ chat = 1, session_title = "title 1" })
  nvim:poll_screen("title 1")
end)

--- Holds (Several chats): Chats that need the user are listed first: those that wait, have failed, have finished unseen.
case("those that need the user come first", function()
  local nvim = start({ "ready", "running", "ready", "failed", "ready", "starting" })
  nvim:status({
    chat = 5,
    session_title = "title 5",
    state = "waiting",
    permissions = { check.permission(1) },
  })
  nvim:status({ chat = 3, session_title = "title 3", state = "running" })
  end_turn(nvim, 3, "end_turn")
  nvim:command("RatChats")
  same(listed(nvim), { 5, 4, 3, 2, 6, 1 })
  same(counts(nvim), { waiting = 1, failed = 1, done = 1, running = 1 })
  check.contains(nvim:screen(), "Chats: 1 waiting · 1 failed · 1 done · 1 running")
  same(
    nvim:lua("return require('rat').statusline({ chats = true })"),
    "1 waiting · 1 failed · 1 done · 1 running"
  )
end)

--- Holds (Several chats): A chat that finishes while it is not on the screen is unread until it is.
case("what was seen is not unread", function()
  local nvim = start({ "running", "running", "running" })
  nvim:command("RatToggle")
  same(nvim:lua("return require('rat.view.window').visible().id"), 3)
  end_turn(nvim, 3, "end_turn")
  same(counts(nvim).done, 0)
  end_turn(nvim, 2, "end_turn")
  same(counts(nvim).done, 1)
  end_turn(nvim, 1, "cancelled")
  same(counts(nvim).done, 1, "who cancels knows that it has ended")
  nvim:lua("require('rat.view.window').open(require('rat.chat.registry').get(2))")
  same(counts(nvim).done, 0)
  nvim:command("tabnew")
  nvim:status({ chat = 2, state = "running" })
  end_turn(nvim, 2, "error")
  same({ counts(nvim).failed, counts(nvim).done }, { 1, 0 })
  end_turn(nvim, 2, "refusal")
  same(counts(nvim).done, 1, "on another tab page it is not on the screen")
  nvim:command("tabprevious")
  same(counts(nvim).done, 0)
  local events = nvim:lua([[return vim.tbl_filter(function(event)
    return event[1] == "RatChats"
  end, Events)]])
  same(events[#events][2], { waiting = 0, failed = 0, done = 0, running = 0 })
end)

--- Holds (Several chats): The list follows the chats, and the cursor stays on its chat.
case("the cursor stays on its chat", function()
  local nvim = start({ "ready", "ready", "ready" })
  nvim:command("RatChats")
  same(listed(nvim), { 1, 2, 3 })
  nvim:input("j")
  nvim:poll("vim.fn.line('.') == 2")
  nvim:status({ chat = 3, session_title = "title 3", state = "running" })
  nvim:poll("vim.fn.getline(1):find('title 3') ~= nil")
  same({ listed(nvim), here(nvim) }, { { 3, 1, 2 }, 2 })
  nvim:say("closed", { chat = 2 })
  nvim:poll("vim.fn.line('$') == 2")
  same(here(nvim), 1, "the row of one that is gone is the next one's, or the last")
end)

case("rows do not move under a selection", function()
  local nvim = start({ "ready", "ready", "ready" })
  nvim:command("RatChats")
  nvim:input("Vj")
  nvim:poll("vim.fn.mode() == 'V' and vim.fn.line('.') == 2")
  nvim:status({ chat = 3, session_title = "title 3", state = "running" })
  nvim:lua(
    "Drawn = 0; vim.uv.new_timer():start(450, 0, vim.schedule_wrap(function() Drawn = 1 end))"
  )
  nvim:poll("Drawn == 1")
  same(listed(nvim), { 1, 2, 3 })
  nvim:input("d")
  nvim:heard("close", 2)
  local closed = vim.tbl_filter(function(message)
    return message[1] == "close"
  end, nvim:lua("return Heard"))
  same({ closed[1][2].chat, closed[2][2].chat }, { 1, 2 })
  nvim:poll("vim.fn.getline(1):find('title 3') ~= nil")
end)

--- Holds (Several chats): A chat is closed from the list after a question where that ends a turn.
case("a running turn is ended only after a question", function()
  local nvim = start({ "ready", "running", "ready" })
  nvim:command("RatChats")
  same(here(nvim), 2)
  nvim:input("2dd")
  nvim:poll_screen("1 of 2 agents are still working. Close these chats?")
  nvim:poll_keys("1")
  nvim:input("1<CR>")
  nvim:poll("vim.bo.filetype == 'ratchats'")
  same(nvim:has_heard("close"), false)
  nvim:input("dd")
  nvim:poll_screen("Claude is still working. Close this chat?")
  nvim:poll_keys("2")
  nvim:input("2<CR>")
  same(nvim:heard("close"), { chat = 2 })
end)

case("a chat that was closed meanwhile is neither closed again nor started", function()
  local nvim = start({ "running", "ready" })
  nvim:command("RatChats")
  nvim:input("dd")
  nvim:poll_screen("Claude is still working. Close this chat?")
  nvim:poll_keys("2")
  nvim:say("closed", { chat = 1 })
  nvim:input("2<CR>")
  nvim:poll("vim.bo.filetype == 'ratchats' and vim.fn.line('$') == 1")
  nvim:lua([[
    require("rat.chat").closed(require("rat.chat.registry").get(2))
    vim.cmd("normal r")
    vim.cmd("normal x")
  ]])
  same({ nvim:has_heard("close"), nvim:has_heard("restart") }, { false, false })
  same({ nvim:has_heard("start"), nvim:lua("return #Said") }, { false, 0 })
end)

case("keys open a chat, cancel its turn and restart its agent", function()
  local nvim = start({ "running", "ready" }, { columns = 120, lines = 40 })
  nvim:command("RatChats")
  nvim:input("jr")
  same(nvim:heard("restart"), { chat = 2, force = false })
  nvim:input("k")
  nvim:poll("vim.fn.line('.') == 1")
  nvim:input("<C-c>")
  same(nvim:heard("cancel"), { chat = 1 })
  nvim:input("j<CR>")
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  same(nvim:lua("return require('rat.chat.registry').of(vim.api.nvim_get_current_buf()).id"), 2)
  nvim:command("stopinsert | call win_gotoid(bufwinid('rat://chats'))")
  nvim:input("g?")
  nvim:poll_screen("close the selected chats")
end)

--- Holds (Several chats): One key leads to the chat that needs the user next, from anywhere.
case("one key leads from chat to chat that needs the user", function()
  local nvim = start({ "failed", "ready", "running", "ready" })
  -- A question that opens by itself takes the next keys.
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:lua("vim.keymap.set('n', ']w', '<Plug>(rat-next-waiting)')")
  nvim:status({ chat = 4, state = "waiting", permissions = { check.permission(1) } })
  end_turn(nvim, 3, "end_turn")
  for _, id in ipairs({ 4, 1, 3, 4 }) do
    nvim:input("]w")
    nvim:poll(("(require('rat.view.window').visible() or {}).id == %d"):format(id))
  end
  nvim:input("]w")
  nvim:told("No other chat needs you")
  nvim:status({ chat = 4 })
  nvim:input("]w")
  nvim:told("No chat needs you")
end)

case("chats on tab pages of their own are gone to", function()
  local nvim = start({ "ready", "failed", "ready" })
  nvim:lua(
    "require('rat').setup({ layout = { position = 'tab' }, permission = { open = 'never' } })"
  )
  nvim:lua("vim.keymap.set('n', ']w', '<Plug>(rat-next-waiting)')")
  nvim:status({ chat = 3, state = "waiting", permissions = { check.permission(1) } })
  for _, id in ipairs({ 3, 2, 3 }) do
    nvim:let_time_pass()
    nvim:input("]w")
    nvim:poll(("(require('rat.view.window').visible() or {}).id == %d"):format(id))
  end
end)

case("pending lines are counted again when they change, but not all the time", function()
  local nvim = start({ "ready" })
  local function asked()
    return nvim:lua([[return #vim.tbl_filter(function(message)
      return message[1] == "list_changes"
    end, Heard)]])
  end
  nvim:command("RatChats")
  same(nvim:heard("list_changes"), { scope = "all", count = true })
  nvim:say("pending_counts", { items = { { chat = 1, added = 7, removed = 2 } } })
  nvim:poll_screen("+7 -2")
  for _ = 1, 20 do
    nvim:say("event", { name = "RatReviewChanged" })
  end
  nvim:heard("list_changes", 2)
  same(asked(), 2)
  nvim:say("pending_counts", { items = {} })
  nvim:poll_gone("+7 -2")
end)

case("a page that is not on the screen costs nothing", function()
  local nvim = start({ "ready" })
  nvim:command("RatChats")
  nvim:heard("list_changes")
  nvim:command("tabnew")
  nvim:status({ chat = 1, session_title = "another title" })
  nvim:lua(
    "Later = 0; vim.uv.new_timer():start(450, 0, vim.schedule_wrap(function() Later = 1 end))"
  )
  nvim:poll("Later == 1")
  local line = "vim.fn.getbufline('rat://chats', 1)[1]"
  check.contains(nvim:lua("return " .. line), "title 1")
  nvim:command("tabprevious")
  nvim:poll(line .. ":find('another title') ~= nil")
end)

check.finish()
