--- Logins in a terminal: when it opens, and that it is told when it cannot. What the agent makes of it is not tested here.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Says what was typed into it, and whether it began.
local PROGRAM = 'echo ready; read -r line && [ "$line" = 1234 ]'

---@param nvim Child
---@param more? table
local function want(nvim, more)
  nvim:status({ state = "starting", elicitations = {} })
  local login = {
    chat = 1,
    title = "In a terminal",
    command = { "sh", "-c", PROGRAM },
    env = { PATH = vim.env.PATH },
    cwd = nvim.home,
    by_user = false,
  }
  nvim:say("login", vim.tbl_extend("force", login, more or {}))
end

--- A chat, and the user typing in another window.
local function typing()
  local nvim = check.start({ columns = 120, lines = 30 })
  nvim:open_chat({ elicitations = {} })
  nvim:command("stopinsert | wincmd t")
  nvim:input("i")
  nvim:poll("vim.fn.mode() == 'i'")
  nvim:lua("Win = vim.api.nvim_get_current_win()")
  return nvim
end

--- Waits until whatever waits for an idle user has had its turn.
---@param nvim Child
local function settle(nvim)
  nvim:lua(
    "Idle = 0; require('rat.util.idle').when(function() return true end, function() Idle = 1 end)"
  )
  nvim:poll("Idle == 1")
end

--- Holds (Options and logins): The terminal of a login takes no keys typed for something else.
case("keys typed in another window do not go to the login", function()
  local nvim = typing()
  want(nvim)
  nvim:input("1234<CR>more")
  nvim:poll("vim.api.nvim_get_current_line() == 'more'")
  same(nvim:lua("return vim.api.nvim_get_current_win() == Win"), true)
  nvim:told(":RatLogin opens a terminal")
  nvim:input("<Esc>")
  settle(nvim)
  same(nvim:lua("return vim.api.nvim_get_current_win() == Win"), true, "only in its chat by itself")
  nvim:command("wincmd b")
  nvim:poll("vim.bo.buftype == 'terminal'")
  nvim:poll_screen("ready")
  nvim:poll_screen("i to type")
  nvim:input("1234<CR>")
  same(nvim:lua("return vim.fn.mode()"), "n", "no key goes to it before the user says so")
  nvim:input("<Esc>i1234<CR>")
  same(nvim:heard("login_ended"), { chat = 1, status = 0 })
end)

case("a login that the user has chosen opens once nothing is typed, wherever they are", function()
  local nvim = typing()
  want(nvim, { by_user = true })
  nvim:input("x")
  nvim:poll("vim.api.nvim_get_current_line() == 'x'")
  same(nvim:lua("return vim.api.nvim_get_current_win() == Win"), true)
  nvim:input("<Esc>")
  nvim:poll("vim.bo.buftype == 'terminal'")
end)

case("a login that waits is opened by its command, from anywhere", function()
  local nvim = typing()
  want(nvim)
  nvim:input("<Esc>")
  nvim:command("RatLogin")
  nvim:poll("vim.bo.buftype == 'terminal'")
  same(nvim:has_heard("login"), false)
end)

case("a login that nobody needs any more never opens", function()
  local nvim = typing()
  want(nvim)
  nvim:status({ state = "failed", elicitations = {} })
  nvim:input("<Esc>")
  nvim:command("wincmd b")
  nvim:poll("require('rat.chat.registry').of(vim.api.nvim_get_current_buf()) ~= nil")
  settle(nvim)
  same(nvim:screen():find("ready", 1, true), nil)
  same(nvim:has_heard("login_ended"), false)
end)

case("the command-line window holds a login back, and its end too", function()
  local nvim = typing()
  nvim:input("<Esc>q:")
  nvim:poll("vim.fn.getcmdwintype() == ':'")
  want(nvim, { by_user = true })
  same(nvim:lua("return vim.fn.getcmdwintype()"), ":")
  nvim:command("quit")
  nvim:poll("vim.bo.buftype == 'terminal'")
  nvim:lua("Job, Terminal = vim.bo.channel, vim.api.nvim_get_current_win()")
  nvim:command("stopinsert | wincmd p")
  nvim:input("<Esc>q:")
  nvim:poll("vim.fn.getcmdwintype() == ':'")
  nvim:lua("vim.fn.chansend(Job, '1234\\r')")
  nvim:heard("login_ended")
  nvim:command("quit")
  nvim:poll("not vim.api.nvim_win_is_valid(Terminal)")
  same(nvim:lua("return Said"), {})
end)

case("a terminal that cannot be opened is told, to the user and the binary", function()
  local nvim = typing()
  nvim:input("<Esc>")
  nvim:lua("Count = #vim.api.nvim_list_wins()")
  want(nvim, { by_user = true, cwd = nvim.home .. "/nowhere" })
  same(nvim:heard("login_ended"), { chat = 1 })
  nvim:told("Could not open the login terminal")
  -- An autocommand of the user's that fails, with the window open already.
  nvim:command("autocmd BufEnter * if &buftype == '' | throw 'no new windows' | endif")
  want(nvim, { by_user = true })
  nvim:heard("login_ended", 2)
  nvim:told("no new windows")
  same(nvim:lua("return #vim.api.nvim_list_wins() == Count"), true)
  same(nvim:lua("return vim.v.errmsg"), "")
end)

case("a login that worked in the last window leaves an empty one", function()
  local nvim = typing()
  nvim:input("<Esc>")
  want(nvim, { by_user = true })
  nvim:poll("vim.bo.buftype == 'terminal'")
  nvim:command("only!")
  nvim:poll("vim.fn.mode() == 't'")
  nvim:input("1234<CR>")
  nvim:heard("login_ended")
  nvim:poll("vim.bo.buftype == ''")
  same(nvim:lua("return vim.api.nvim_get_current_line()"), "")
  same(nvim:lua("return vim.wo.winbar"), "")
  same(nvim:lua("return Said"), {})
  same(nvim:lua("return vim.v.errmsg"), "")
end)

check.finish()
