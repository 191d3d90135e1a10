--- Marks of conflicts in a file that is changed at random.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local WORLD = [[
  local conflict = require("rat.document.conflict")
  local seed, path = ...
  math.randomseed(seed)
  vim.cmd("edit! " .. path)
  local buf = vim.api.nvim_get_current_buf()
  for _ = 1, 30 do
    local count, kept, at = vim.api.nvim_buf_line_count(buf), {}, 0
    while at < count - 3 and #kept < 12 do
      local first = at + math.random(0, 4)
      at = math.min(count, first + math.random(0, 5))
      if first < count then
        kept[#kept + 1] = { first, at, { "theirs" } }
      end
      at = at + 1
    end
    conflict.mark(buf, kept)
    for _ = 1, 4 do
      local from = math.random(0, vim.api.nvim_buf_line_count(buf) - 1)
      local to = math.min(vim.api.nvim_buf_line_count(buf), from + math.random(0, 6))
      local new = {}
      for i = 1, math.random(0, 6) do
        new[i] = "new " .. i
      end
      vim.api.nvim_buf_set_lines(buf, from, to, false, new)
    end
    if math.random(4) == 1 then
      vim.cmd("silent! undo")
    elseif math.random(9) == 1 then
      vim.cmd("silent! edit!")
    end
  end
  local outside = 0
  for _, one in ipairs(conflict.list(buf)) do
    local lines, first = conflict.lines(buf, one.region)
    outside = outside + (first + #lines > vim.api.nvim_buf_line_count(buf) and 1 or 0)
  end
  return outside
]]

--- Holds (Changes on disk): The marks of unresolved hunks survive any change of the text.
case("Neovim outlives whatever is done to the lines between marks", function()
  local nvim, path, lines = check.start(), vim.fn.tempname(), {}
  for i = 1, 60 do
    lines[i] = "line " .. i
  end
  vim.fn.writefile(lines, path)
  for seed = 1, 5 do
    same({ seed, nvim:lua(WORLD, seed, path) }, { seed, 0 })
  end
end)

case("only where there are no conflicts are you told so", function()
  local nvim, path = check.start(), vim.fn.tempname()
  vim.fn.writefile({ "one", "two" }, path)
  nvim:command("RatConflicts")
  nvim:told("No conflicts to resolve")
  nvim:lua("Said = {}; vim.fn.setqflist({ { text = 'of the user' } })")
  nvim:command("RatConflicts!")
  nvim:told("No conflicts to resolve")
  same(
    nvim:lua("return { #vim.api.nvim_list_wins(), vim.fn.getqflist()[1].text }"),
    { 1, "of the user" }
  )
  nvim:lua("Said = {}; vim.cmd.edit(...)", path)
  nvim:lua(
    "require('rat.document.conflict').mark(vim.api.nvim_get_current_buf(), { { 0, 1, { 'theirs' } } })"
  )
  nvim:command("new")
  nvim:command("RatConflicts!")
  nvim:poll("vim.bo.buftype == 'quickfix'")
  same(nvim:lua("return #vim.api.nvim_list_tabpages()"), 1)
  nvim:command("cclose")
  nvim:command("RatConflicts")
  nvim:poll("vim.wo.diff and #vim.api.nvim_list_tabpages() == 2")
  same(nvim:lua("return Said"), {})
end)

--- Holds (Several chats): The bar of a chat speaks of the conflicts in its own folder; the statusline speaks of all.
case("a chat of another project does not speak of a conflict", function()
  local nvim, folder = check.start(), vim.fn.tempname()
  vim.fn.mkdir(folder .. "/sub", "p")
  vim.fn.writefile({ "one" }, folder .. "/sub/a.txt")
  nvim:command("edit " .. folder .. "/sub/a.txt")
  nvim:open_chat({ state = "ready" })
  nvim:lua([[
    local buf = vim.fn.bufnr("a.txt$")
    require("rat.document.conflict").mark(buf, { { 0, 1, { "theirs" } } })
  ]])
  nvim:poll("require('rat').statusline():find(':RatConflicts', 1, true) ~= nil")
  local bar = [[
    local chat = require("rat.chat.registry").get(1)
    chat.cwd = ... or chat.cwd
    return require("rat.chat.status").transcript_bar(chat, 60)
  ]]
  same(nvim:lua(bar):find(":RatConflicts", 1, true), nil)
  check.contains(nvim:lua(bar, folder), ":RatConflicts")
  same(nvim:lua(bar, folder .. "/su"):find(":RatConflicts", 1, true), nil)
  check.contains(nvim:lua(bar, folder .. "/sub"), ":RatConflicts")
end)

case("the last window of a comparison is the user's again", function()
  local nvim, path = check.start(), vim.fn.tempname()
  vim.fn.writefile({ "one", "two" }, path)
  nvim:command("edit " .. path)
  nvim:lua(
    "require('rat.document.conflict').mark(vim.api.nvim_get_current_buf(), { { 0, 1, { 'theirs' } } })"
  )
  nvim:command("RatConflicts")
  nvim:poll_screen("theirs")
  nvim:command("tabonly")
  nvim:command("wincmd l")
  nvim:command("only")
  nvim:poll("vim.wo.winbar == '' and not vim.wo.diff")
  same(nvim:lua("return { vim.fn.expand('%:p'), #vim.api.nvim_list_wins() }"), { path, 1 })
end)

--- Holds (Changes on disk): The mark of a conflict stays on its lines when those around them are replaced or deleted and come back.
case("a conflict keeps to its lines", function()
  local nvim = check.start()
  nvim:lua([[
    vim.api.nvim_buf_set_lines(0, 0, -1, true, { "one", "two", "mine", "four", "five" })
    Conflict = require("rat.document.conflict")
    Conflict.mark(vim.api.nvim_get_current_buf(), { { 2, 3, { "theirs" } } })
  ]])
  local function stays(keys, rest)
    nvim:lua("vim.cmd('let &undolevels = &undolevels | silent normal! ' .. ...)", keys)
    local lines = [[(function()
      local one = Conflict.list()[1]
      return one and table.concat(Conflict.lines(one.buf, one.region), " ")
    end)()]]
    nvim:poll(("%s == '%s'"):format(lines, rest or "mine"))
  end
  for _, keys in ipairs({ "2GSnew\27", "4GSnew\27", "2GOmore\27", "ggdd", "u", "u" }) do
    stays(vim.keycode(keys))
  end
  nvim:lua([[
    vim.cmd("let &undolevels = &undolevels")
    vim.api.nvim_buf_set_lines(0, 1, 2, true, { "replaced", "by two" })
    vim.api.nvim_buf_set_lines(0, 4, 5, true, { "replaced" })
  ]])
  stays("gg")
  stays("u")
  stays("2G3dd", "")
  stays("u")
  stays("3GSours" .. vim.keycode("<Esc>"), "ours")
end)

--- Opens the conflict in a file whose first line the agent has changed in the buffer, and whose second is the user's.
local function in_conflict()
  local nvim, path = check.start(), vim.fn.tempname()
  vim.fn.writefile({ "one", "two", "three" }, path)
  nvim:command("edit " .. path)
  nvim:lua([[
    vim.api.nvim_buf_set_lines(0, 1, 2, false, { "mine" })
    vim.cmd("let &undolevels = &undolevels")
    require("rat.document.conflict").mark(vim.api.nvim_get_current_buf(), { { 1, 2, { "theirs" } } })
    vim.api.nvim_buf_set_lines(0, 0, 1, false, { "agent" })
    vim.cmd("let &undolevels = &undolevels")
  ]])
  nvim:command("RatConflicts")
  nvim:poll("vim.wo.diff and vim.fn.line('.') == 2")
  return nvim
end

local TEXTS = [[vim.deep_equal(
  vim.tbl_map(function(win)
    return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true), " ")
  end, vim.api.nvim_tabpage_list_wins(0)), { "%s", "%s" }) and require("rat.document.conflict").count() == %d]]

--- Holds (Changes on disk): In a conflict, `u` undoes `dp` and `do` in either window, and an edit of the agent only after them.
case("u takes back what was decided last", function()
  local nvim = in_conflict()
  local both, mine = "agent theirs three", "agent mine three"
  nvim:input("dp")
  nvim:poll(TEXTS:format(mine, mine, 0))
  nvim:input("u")
  nvim:poll(TEXTS:format(both, mine, 1))
  nvim:input("do")
  nvim:poll(TEXTS:format(both, both, 0))
  nvim:input("u")
  nvim:poll(TEXTS:format(both, mine, 1))
  nvim:input("u")
  nvim:poll(TEXTS:format(both, "one mine three", 1))
  nvim:input("<C-r>")
  nvim:poll(TEXTS:format(both, mine, 1))
  nvim:command("quit")
  nvim:poll("not vim.wo.diff and vim.fn.maparg('u', 'n') == ''")
end)

check.finish()
