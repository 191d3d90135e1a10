--- Links and files in an agent's answer, opened from where the cursor is.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- A transcript of this text, the cursor on the `^` below it.
local function start(text, marked)
  local nvim = check.start()
  nvim:open_chat()
  nvim:lua(
    [[
    Opened = {}
    vim.ui.open = function(what) table.insert(Opened, what) return {} end
    local text, column = ...
    vim.api.nvim_set_current_win(vim.fn.bufwinid("rat://claude/1"))
    vim.bo.modifiable = true
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { text })
    vim.bo.modifiable = false
    vim.api.nvim_win_set_cursor(0, { 1, column })
  ]],
    text,
    assert(marked:find("^", 1, true)) - 1
  )
  return nvim
end

--- Holds (Windows and views): `gx`, `gf` and `<CR>` open the link or file under the cursor.
case("gx opens the URL of a link, not its words", function()
  local cases = {
    { "see [the docs](https://a.example/b?c=d_(e)) now", "      ^", "https://a.example/b?c=d_(e)" },
    { 'see [x](<https://a.example> "title")', "     ^", "https://a.example" },
    { "at https://a.example/x.", "        ^", "https://a.example/x" },
    { "(https://a.example/x)", "  ^", "https://a.example/x" },
    { "<mailto:a@b.example>", "    ^", "mailto:a@b.example" },
    { "[https://good.example](https://other.example)", "     ^", "https://other.example" },
  }
  for _, one in ipairs(cases) do
    local nvim = start(one[1], one[2])
    nvim:input("gx")
    nvim:told("Opening " .. one[3])
    same(nvim:lua("return Opened"), { one[3] }, one[1])
  end
end)

case("gx opens nothing else", function()
  local cases = {
    { "no link here", " ^" },
    { "[x](file:///no/such/file)", " ^" },
    { "[x](vscode://y)", " ^" },
    { "[x](javascript:y)", " ^" },
    { "at https://a.example", "^" },
  }
  for _, one in ipairs(cases) do
    local nvim = start(one[1], one[2])
    nvim:input("gx")
    nvim:told("No link")
    same(nvim:lua("return Opened"), {}, one[1])
  end
end)

case("gx answers at once however long the line is", function()
  for _, text in ipairs({ "x", "[", "[x](", "a:" }) do
    local nvim = start((text):rep(20000), (" "):rep(10000) .. "^")
    -- The time of its process, since others may keep the machine busy.
    local began = nvim:lua("return os.clock()")
    nvim:input("gx")
    nvim:told("No link")
    assert(nvim:lua("return os.clock()") - began < 1, text)
  end
end)

--- Holds (Windows and views): `gx`, `gf` and `<CR>` open the link or file under the cursor.
case("<CR> and gf open a file and its line in the user's window", function()
  for _, keys in ipairs({ "<CR>", "gf", "gF" }) do
    for _, text in ipairs({ "look at `src/lib.rs:7`, please", "look at (src/lib.rs:7:2)." }) do
      local nvim = start(text, "              ^")
      nvim:lua("require('rat.chat.registry').get(1).cwd = ...", check.root)
      nvim:input(keys)
      nvim:poll("vim.fn.expand('%:t') == 'lib.rs' and vim.fn.line('.') == 7")
      same(nvim:lua("return #vim.api.nvim_tabpage_list_wins(0)"), 3)
    end
  end
end)

case("a link to a file opens the file, however it is written", function()
  local uri = vim.uri_from_fname(check.root .. "/src/lib.rs")
  local cases = {
    { "see [lib](src/lib.rs#L7) there", "     ^", 7 },
    { "see [lib](src/lib.rs:7) there", "     ^", 7 },
    { 'see [lib](<src/lib.rs#L7-L9> "the crate") there', "     ^", 7 },
    { ("see [lib](%s#L7)"):format(uri), "     ^", 7 },
    { "see src/lib.rs#L7-L9.", "     ^", 7 },
    { "see src/lib.rs:7-9,", "     ^", 7 },
    { "see " .. uri .. "#L7", "     ^", 7 },
    { "see [lib](src/lib.rs#the-top)", "     ^", 1 },
  }
  for _, one in ipairs(cases) do
    for _, keys in ipairs({ "<CR>", "gf", "gx" }) do
      if keys ~= "gx" or one[1]:find("](", 1, true) then
        local nvim = start(one[1], one[2])
        nvim:lua("require('rat.chat.registry').get(1).cwd = ...", check.root)
        nvim:input(keys)
        nvim:poll(("vim.fn.expand('%%:t') == 'lib.rs' and vim.fn.line('.') == %d"):format(one[3]))
        same(nvim:lua("return Opened"), {})
      end
    end
  end
end)

--- Holds (Windows and views): `gx`, `gf` and `<CR>` open the link or file under the cursor.
case("a path in backticks may have blanks", function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. "/my notes", "p")
  vim.fn.writefile({ "1", "2", "3" }, folder .. "/my notes/a (1).txt")
  vim.fn.writefile({ "1", "2", "3" }, folder .. "/plain.txt")
  local cases = {
    { "see `my notes/a (1).txt:2` there", "        ^", "a (1).txt", 2 },
    { "see `my notes/a (1).txt` there", "    ^", "a (1).txt", 1 },
    { "`cat plain.txt` or `x`", "      ^", "plain.txt", 1 },
    { "`x` plain.txt:3 `y`", "     ^", "plain.txt", 3 },
  }
  for _, one in ipairs(cases) do
    local nvim = start(one[1], one[2])
    nvim:lua("require('rat.chat.registry').get(1).cwd = ...", folder)
    nvim:input("gf")
    nvim:poll(("vim.fn.expand('%%:t') == '%s' and vim.fn.line('.') == %d"):format(one[3], one[4]))
  end
end)

case("a link to what is no file opens nothing", function()
  for _, link in ipairs({
    "file:///no/such/file",
    "file://host/etc/passwd",
    "file:///etc/passwd%00",
    "#L7",
  }) do
    local nvim = start("see [x](" .. link .. ")", "     ^")
    nvim:input("<CR>gfgx")
    nvim:told("No link")
    same(nvim:lua("return Opened"), {}, link)
    same(nvim:lua("return vim.fn.expand('%')"), "rat://claude/1")
  end
end)

case("<CR> on plain text says nothing", function()
  local nvim = start("no file here", "   ^")
  nvim:input("<CR>gx")
  nvim:told("No link")
  same(nvim:lua("return #Said"), 1)
end)

check.finish()
