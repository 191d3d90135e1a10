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
  check.contains(nvim:screen(), "1-3 answer")
  nvim:poll_screen("Always allow")
  nvim:input("j<CR>")
  same(nvim:heard("permission"), { chat = 1, id = 1, option = "always" })
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
  nvim:poll("Shown == 'n'")
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
      package.loaded["rat.select"] = nil
      local open = require("rat.select").open
      require("rat.select").open = function(...) Opened = true return open(...) end]])
    wait_for(nvim, check.permission(1))
    nvim:lua("require('rat.idle').when(function() return true end, function() Idle = 1 end)")
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
  same(nvim:lua("return { Mine[2], #Mine[1] }"), { "Claude: Edit main.rs", 3 })
  nvim:status({ state = "running" })
  nvim:lua("Choose({ id = 'once', name = 'Allow once' }, 1)")
  wait_for(nvim, check.permission(2))
  nvim:poll("Mine ~= nil")
  nvim:command("RatPermission")
  nvim:lua("Choose(Mine[1][3], 3)")
  same(nvim:heard("permission"), { chat = 1, id = 2, option = "no" })
end)

case("digits answer in the prompt and on the card, and stay counts otherwise", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  nvim:input("ia<CR>b<CR>c<Esc>gg2j")
  nvim:poll("vim.fn.line('.') == 3")
  wait_for(nvim, check.permission(4))
  nvim:input("3")
  same(nvim:heard("permission"), { chat = 1, id = 4, option = "no" })
  wait_for(nvim, check.permission(5), check.permission(6))
  nvim:lua([[vim.api.nvim_set_current_win(vim.fn.bufwinid(require("rat.chat").buffer(1, "chat")))]])
  nvim:lua("Action = { kind = 'permission', id = 6 }")
  nvim:input("1")
  same(nvim:heard("permission", 2), { chat = 1, id = 6, option = "once" })
  nvim:lua("Action = vim.NIL; Action = nil")
  nvim:input("2i")
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  same(nvim:lua("return #vim.tbl_filter(function(m) return m[1] == 'permission' end, Heard)"), 2)
end)

case(":RatAllow and :RatDeny answer the oldest from anywhere", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("wincmd p")
  nvim:command("RatAllow")
  nvim:told("no permission request is waiting")
  wait_for(nvim, check.permission(1))
  nvim:command("RatAllow")
  same(nvim:heard("permission"), { chat = 1, allow = true })
  nvim:command("RatDeny not like this")
  same(nvim:heard("permission", 2), { chat = 1, allow = false, reason = "not like this" })
  check.contains(nvim:lua("return require('rat').statusline()"), "1 to answer")
end)

case("the diff of a request: native, by files, answered with ga", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat()
  wait_for(nvim, check.permission(1, 2))
  nvim:command("RatPermission")
  nvim:poll_screen("Show the diff")
  nvim:input("4")
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
  same(nvim:heard("permission"), { chat = 1, id = 1, option = "once" })
  nvim:poll("#vim.api.nvim_list_tabpages() == 1 and vim.bo.filetype == 'ratprompt'")
end)

case("a diff closes with q and when decided elsewhere, and leaves nothing", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'never' }, diff = 'tab' })")
  nvim:open_chat()
  local diff =
    { chat = 1, id = 1, title = "Edit", files = { { path = "/p/a", old = "1\n", new = "2\n" } } }
  wait_for(nvim, check.permission(1, 1))
  local buffers = nvim:lua("return #vim.api.nvim_list_bufs()")
  nvim:say("diff", diff)
  nvim:poll("#vim.api.nvim_list_tabpages() == 2")
  nvim:input("q")
  nvim:poll("#vim.api.nvim_list_tabpages() == 1")
  nvim:say("diff", diff)
  nvim:poll("#vim.api.nvim_list_tabpages() == 2")
  nvim:status({ state = "running" })
  same(nvim:lua("return #vim.api.nvim_list_tabpages()"), 1)
  same(nvim:lua("return #vim.api.nvim_list_bufs()"), buffers)
  same(nvim:has_heard("permission"), false)
end)

check.finish()
