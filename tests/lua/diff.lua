--- Changes an agent proposes, in a tab page of their own, however that is closed.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local DIFF = {
  chat = 1,
  tool_call = "t1",
  title = "Edit",
  files = { { path = "a.txt", old = "one\n", new = "two\n" } },
}

--- A chat in whose second tab page the diff is shown.
local function open_diff()
  local nvim = check.start()
  nvim:open_chat()
  nvim:say("diff", DIFF)
  same(nvim:lua("return { vim.fn.tabpagenr(), #vim.fn.tabpagebuflist() }"), { 2, 2 })
  same(nvim:lua("return vim.wo.diff"), true)
  return nvim
end

case("q closes both windows and goes back to where the user was", function()
  local nvim = open_diff()
  nvim:input("q")
  nvim:poll("vim.fn.tabpagenr('$') == 1 and vim.bo.filetype == 'ratprompt'")
end)

case("whatever the user closes it with, both windows go and it can be shown again", function()
  for _, command in ipairs({
    "quit",
    "wincmd h | quit",
    "only",
    "tabclose",
    "tabonly | tabfirst | quit",
  }) do
    local nvim = open_diff()
    nvim:command(command)
    if not command:find("tabonly") then
      nvim:poll("vim.fn.tabpagenr('$') == 1 and vim.bo.filetype == 'ratprompt'")
    else
      nvim:poll("#vim.api.nvim_list_wins() == 1")
    end
    nvim:say("diff", DIFF)
    nvim:poll("vim.fn.tabpagenr('$') == 2 and vim.wo.diff and #vim.fn.tabpagebuflist() == 2")
    same(nvim:lua("return Said"), {}, command)
  end
end)

case("closed from another tab page, it leaves the user there", function()
  local nvim = open_diff()
  nvim:command("tabfirst | wincmd k | 2tabclose")
  nvim:poll("vim.fn.tabpagenr('$') == 1")
  nvim:say("diff", DIFF)
  nvim:poll("vim.fn.tabpagenr('$') == 2")
  nvim:command("tabfirst")
  same(nvim:lua("return vim.bo.filetype"), "rat")
end)

case("the last window there is goes to the user", function()
  local nvim = open_diff()
  nvim:command("tabonly")
  nvim:input("q")
  nvim:poll("#vim.api.nvim_list_wins() == 1 and not vim.wo.diff and vim.wo.winbar == ''")
  same(nvim:lua("return { vim.bo.buftype, Said }"), { "", {} })
end)

check.finish()
