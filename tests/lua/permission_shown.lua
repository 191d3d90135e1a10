--- Permission requests as they are shown: a long command in the chooser, the keys in the bar.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Holds (Permission requests): The chooser shows the end of a long command as well as its beginning.
case("the first and the last line of a long command are in the chooser", function()
  for _, size in ipairs({ { 120, 40 }, { 80, 24 }, { 60, 20 } }) do
    local nvim = check.start({ columns = size[1], lines = size[2] })
    nvim:open_chat()
    local request = check.permission(1)
    local lines = { "Run it" }
    for number = 1, 120 do
      lines[#lines + 1] = ("%s echo line %d"):format(number == 1 and "$" or " ", number)
    end
    lines[#lines] = "  rm -rf THE_LAST"
    request.asks = table.concat(lines, "\n")
    nvim:status({ state = "waiting", permissions = { request } })
    nvim:command("RatPermission")
    nvim:poll("vim.bo.filetype == 'ratselect'")
    local screen = nvim:screen()
    for _, part in ipairs({ "Run it", "rows, see the chat", "rm -rf THE_LAST", "Allow once" }) do
      check.contains(screen, part)
    end
  end
end)

--- Holds (Permission requests): In Insert mode the bar of the prompt names the keys of that mode.
case("in Insert mode the bar names keys that do what it says", function()
  local nvim = check.start({ columns = 120 })
  nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
  nvim:open_chat({ state = "waiting", permissions = { check.permission(1) } })
  nvim:poll_screen("ga allow once · gr reject · <C-c> cancel")
  nvim:input("i")
  nvim:poll_screen("after <Esc>: ga allow once · gr reject")
  nvim:status({ state = "running" })
  nvim:poll_screen("<C-s> queue · after <Esc>: <C-c> cancel")
  nvim:status({ state = "ready" })
  nvim:poll_screen("<C-s> send · after <Esc>: g? keys")
  nvim:input("<Esc>")
  nvim:poll_screen(" <CR> send · g? keys")
  nvim:lua("require('rat').setup({ keys = { ['<C-s>'] = '<M-s>', ['g?'] = false } })")
  nvim:input("A")
  nvim:poll_screen(" <M-s> send")
  same(nvim:screen():find("after <Esc>", 1, true), nil)
end)

check.finish()
