--- What is typed after `:RatStart`, before the binary has the chat.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Holds (Windows and views): The windows of a chat are there before the binary answers.
case("what is typed right after :RatStart is in the prompt", function()
  local nvim = check.start()
  nvim:input(":RatStart claude<CR>ihello<CR>you")
  local start = nvim:heard("start")
  nvim:poll("vim.bo.filetype == 'ratprompt' and vim.fn.getline(2) == 'you'")
  same(#nvim:windows(), 3)
  local names = nvim:lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.fn.tabpagebuflist())")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = start.cwd, show = true, focus = true })
  nvim:input(" there<Esc>")
  nvim:poll("vim.fn.getline(2) == 'you there'")
  same(nvim:lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.fn.tabpagebuflist())"), names)
  nvim:status()
  nvim:input("<CR>")
  same(nvim:heard("prompt").text, "hello\nyou there")
  same(nvim:lua("return vim.fn.getbufline(1, 1)"), { "" })
end)

--- Holds (Windows and views): A chat opened by an autocommand looks like any other.
case("a chat that an autocommand opens looks like any other", function()
  for _, position in ipairs({ "right", "bottom", "tab" }) do
    local nvim = check.start()
    nvim:lua("require('rat').setup({ layout = { position = ... } })", position)
    nvim:command("set number | autocmd User Mine RatStart claude")
    nvim:command("doautocmd User Mine")
    nvim:heard("start")
    nvim:poll("vim.fn.bufname() == 'rat://claude/1/prompt'")
    local options = "return { vim.wo.number, vim.wo.linebreak, vim.wo.breakindentopt }"
    same(nvim:lua(options), { false, true, "list:-1" }, position)
    nvim:command("wincmd k")
    same(nvim:lua(options), { false, true, "list:-1" }, position)
    same(nvim:lua("return vim.wo.conceallevel"), 2, position)
  end
end)

case("a prompt sent before the chat is there is for it", function()
  local nvim = check.start()
  nvim:input(":RatStart claude<CR>ihello<Esc><CR>")
  nvim:heard("start")
  same(nvim:heard("prompt").text, "hello")
  same(nvim:lua("return vim.fn.getline(1)"), "")
end)

case("what was typed goes to the chat that the binary had already", function()
  local nvim = check.start()
  nvim:open_chat()
  local cwd = nvim:heard("start").cwd
  -- It knows the folder by another name.
  nvim:command("tabnew | tcd /")
  nvim:input(":RatStart claude<CR>ihello<Esc>")
  nvim:heard("start", 2)
  nvim:poll("vim.fn.getline(1) == 'hello'")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = cwd, show = true, focus = true })
  nvim:poll("vim.fn.getbufline('rat://claude/1/prompt', 1)[1] == 'hello'")
  nvim:poll("vim.fn.bufnr('^rat://claude/2$') == -1")
  same(#nvim:windows(), 3)
end)

case("what is typed after :RatStart is in the prompt of a chat that is not shown, too", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("tabnew")
  nvim:input(":RatStart claude<CR>ihello<Esc>")
  nvim:heard("start", 2)
  nvim:poll("vim.fn.bufname() == 'rat://claude/1/prompt' and vim.fn.getline(1) == 'hello'")
end)

case("two agents that were asked for do not take each other's place", function()
  local nvim = check.start()
  nvim:input(":RatStart claude<CR>ione<Esc>:RatStart gemini<CR>itwo<Esc>")
  local cwd = nvim:heard("start", 2).cwd
  nvim:poll("vim.fn.getline(1) == 'two'")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = cwd, show = true, focus = true })
  nvim:say("chat", { chat = 2, agent = "gemini", cwd = cwd, show = true, focus = true })
  local text = "return vim.fn.getbufline('rat://' .. ... .. '/prompt', 1)"
  same(nvim:lua(text, "claude/1"), { "one" })
  same(nvim:lua(text, "gemini/2"), { "two" })
end)

case("windows of a chat that never came say so", function()
  local nvim = check.start()
  nvim:command("RatStart claude")
  nvim:heard("start")
  nvim:lua("require('rat.chat').lost('rat-nvim exited with status 1')")
  same(nvim:lua("return require('rat.chat.current').get().status.state"), "failed")
  nvim:input("iagain<Esc><CR>")
  same(nvim:heard("start", 2).agent, "claude")
  same(nvim:heard("prompt").text, "again")
end)

check.finish()
