--- Commands and files offered in the prompt as they are typed, without any plugin.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function start(options)
  local nvim = check.start()
  nvim:files({ "alpha.txt", "sub/beta.txt", "sub/deep/gamma.txt", "a@b/@c/x.md" })
  nvim:lua("require('rat').setup(...)", options or vim.empty_dict())
  nvim:open_chat()
  nvim:say("commands", {
    chat = 1,
    commands = {
      { name = "review", description = "Look", hint = "what" },
      { name = "rest", description = "Stop" },
    },
  })
  return nvim
end

local function poll_line(nvim, wanted)
  nvim:poll(("vim.fn.getline('.') == %q"):format(wanted))
end

--- Holds (Prompts and keys): Commands and files are offered as they are typed.
case("/commands are offered, and taken only when chosen", function()
  local nvim = start()
  local before = nvim:lua("return vim.go.completeopt")
  nvim:input("i/")
  nvim:poll_screen("/review what")
  nvim:input("re")
  nvim:poll_screen("/rest")
  poll_line(nvim, "/re")
  nvim:input("<C-n><C-y>")
  poll_line(nvim, "/review")
  nvim:input(" now<Esc>")
  poll_line(nvim, "/review now")
  same(nvim:lua("return { vim.go.completeopt, vim.o.completeopt }"), { before, before })
end)

--- Holds (Prompts and keys): Commands and files are offered as they are typed.
case("@files and folders are offered, fewer with each letter", function()
  local nvim = start()
  nvim:input("isee @")
  nvim:poll_screen("@alpha.txt")
  nvim:poll_screen("@sub/deep/")
  nvim:input("beta")
  nvim:poll("#vim.fn.complete_info({ 'items' }).items == 1")
  nvim:input("<C-n><C-y> and @dee")
  nvim:poll_screen("@sub/deep/gamma.t")
  nvim:input("<C-e>p and a@b")
  poll_line(nvim, "see @sub/beta.txt and @deep and a@b")
  nvim:poll("vim.fn.pumvisible() == 0")
end)

case("an @ in the name of a folder starts no other name", function()
  local nvim = start()
  nvim:input("isee (@a@b/@c/")
  nvim:poll_screen("@a@b/@c/x.md")
  nvim:input("<C-n><C-n><C-y>")
  poll_line(nvim, "see (@a@b/@c/x.md")
end)

case("text that is no command and no file is typed as always", function()
  local nvim = start()
  nvim:input("ihello / there<CR>/x @nothing.here<CR>end<Esc>")
  nvim:poll("vim.api.nvim_get_mode().mode == 'n'")
  same(
    nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"),
    { "hello / there", "/x @nothing.here", "end" }
  )
end)

case("<CR> in an open menu where nothing was chosen is a new line", function()
  local nvim = start()
  nvim:input("i@al")
  nvim:poll("vim.fn.pumvisible() == 1")
  nvim:input("<CR>x<Esc>")
  nvim:poll("vim.api.nvim_get_mode().mode == 'n'")
  same(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), { "@al", "x" })
end)

case("only by the key, where that is chosen", function()
  local nvim = start({ complete = "key" })
  nvim:input("i/re")
  poll_line(nvim, "/re")
  same(nvim:lua("return vim.fn.pumvisible()"), 0)
  nvim:input("<C-x><C-u>")
  nvim:poll_screen("/review what")
end)

check.finish()
