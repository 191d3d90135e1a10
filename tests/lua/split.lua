--- Windows of a chat that the user splits, moves and closes by hand.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Holds (Windows and views): Windows of a chat may be split, moved to another tab page and closed by hand.
case("a transcript that was split is hidden with the chat", function()
  for _, how in ipairs({ "q", ":RatToggle<CR>" }) do
    local nvim = check.start()
    local before = nvim:windows()
    nvim:open_chat()
    nvim:enter("chat")
    nvim:command("split")
    nvim:input(how)
    nvim:poll("#vim.api.nvim_list_wins() == 1")
    same(nvim:windows(), before)
    nvim:command("RatToggle")
    same(#nvim:windows(), 3)
  end
end)

--- Holds (Windows and views): Windows of a chat may be split, moved to another tab page and closed by hand.
case("a transcript that was moved to a tab page of its own is closed with `q`", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:enter("chat")
  nvim:input("<C-w>T")
  nvim:poll("vim.fn.tabpagenr('$') == 2")
  nvim:input("q")
  nvim:poll("vim.fn.tabpagenr('$') == 1")
end)

case("one of two windows of a transcript may be closed", function()
  for _, keys in ipairs({ ":q<CR>", "<C-w>j:q<CR>", "<C-w>c", "<C-w>j<C-w>c" }) do
    local nvim = check.start()
    nvim:open_chat()
    nvim:enter("chat")
    nvim:command("split")
    nvim:input(keys)
    nvim:poll("#vim.api.nvim_list_wins() == 3")
    nvim:lua("vim.schedule(function() Later = true end)")
    nvim:poll("Later")
    nvim:enter("chat")
    check.contains(nvim:screen(), "Claude ready")
    nvim:input("q")
    nvim:poll("#vim.api.nvim_list_wins() == 1")
  end
end)

case("closing the plan or the tool calls leads to the transcript", function()
  for _, position in ipairs({ "right", "bottom", "top" }) do
    local nvim = check.start({ columns = 120, lines = 50 })
    nvim:lua("require('rat').setup({ layout = { position = (...), size = 0.8 } })", position)
    nvim:open_chat()
    for _, view in ipairs({ "plan", "tools" }) do
      nvim:command(view == "plan" and "RatPlan" or "RatTools")
      nvim:command("wincmd t")
      nvim:enter(view)
      nvim:input("q")
      nvim:poll("vim.api.nvim_buf_get_name(0) == 'rat://claude/1'")
    end
  end
end)

case("the last window left of a page goes to the user's file with `q`", function()
  local nvim = check.start()
  nvim:command("edit " .. check.root .. "/LICENSE")
  local before = nvim:lua("return { vim.wo.number, vim.wo.list, vim.wo.wrap, vim.wo.winbar }")
  nvim:open_chat()
  local page = { chat = 1, kind = "info", title = "Info", filetype = "", lines = { "one" } }
  nvim:say("scratch", vim.tbl_extend("force", page, { more = false, at_end = false, focus = true }))
  nvim:command("only")
  nvim:input("q")
  nvim:poll("vim.fn.expand('%:t') == 'LICENSE'")
  same(nvim:lua("return { vim.wo.number, vim.wo.list, vim.wo.wrap, vim.wo.winbar }"), before)
  same(#nvim:windows(), 1)
end)

check.finish()
