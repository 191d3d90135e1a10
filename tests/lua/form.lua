--- Forms: what is entered, what is told of it, when they open. What may be entered is the binary's to know.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local fields = {
  { key = "t", title = "Text", required = true, kind = "text", allows = "text", choices = {} },
  { key = "b", title = "Flag", required = false, kind = "boolean", allows = "-", choices = {} },
  {
    key = "s",
    title = "Several",
    required = false,
    kind = "several",
    allows = "any of 2",
    choices = { { value = "x", name = "Ex" }, { value = "y", name = "Why" } },
    value = { "x" },
  },
}

---@param ids integer[] what waits
local function status(nvim, ids)
  local waiting = vim.tbl_map(function(id)
    return { id = id, mode = "form", message = "Which?" }
  end, ids)
  nvim:status({ state = #ids > 0 and "waiting" or "running", elicitations = waiting })
end

local function ask(nvim, id, message)
  local form = { chat = 1, id = id, mode = "form", message = message or "Which?", fields = fields }
  nvim:say("elicitation", form)
end

local function open()
  local nvim = check.start()
  nvim:open_chat()
  status(nvim, { 1 })
  ask(nvim, 1)
  nvim:poll("vim.bo.filetype == 'ratform'")
  nvim:poll_keys("<CR>")
  return nvim
end

case("the cursor begins at what is needed and goes from field to field", function()
  local nvim = open()
  local line = function()
    return nvim:lua("return vim.api.nvim_get_current_line()")
  end
  same(line(), " Text: (empty)")
  for _, text in ipairs({ " Flag: (empty)", " Several: ", "   [x] Ex", "   [ ] Why" }) do
    nvim:input("<Tab>")
    same(line(), text)
  end
  nvim:input("<S-Tab><S-Tab>")
  same(line(), " Several: ")
end)

case("what is entered is told as it is, and what is not there is left out", function()
  local nvim = open()
  nvim:input("<Tab><CR>")
  nvim:heard("elicitation", 1)
  nvim:input("<Tab><Tab><Tab><CR>")
  local heard = nvim:heard("elicitation", 2)
  local entered = { { key = "b", value = true }, { key = "s", value = { "x", "y" } } }
  same(heard, { chat = 1, id = 1, action = "check", entered = entered })
  -- A flag that nothing is said of at first may be left out again.
  nvim:input("<S-Tab><S-Tab><S-Tab><CR><CR>")
  same(#nvim:heard("elicitation", 4).entered, 1)
  nvim:input("ga")
  same(nvim:heard("elicitation", 5).action, "accept")
  nvim:input("ga")
  nvim:input("gr")
  same(nvim:heard("elicitation", 6).action, "decline", "what does not pass the check is declined")
  nvim:input("gc")
  same(nvim:heard("elicitation", 6).action, "decline", "one answer is on its way")
end)

case("problems show once the user has been there, or wants to send", function()
  local nvim = open()
  local problems = { { key = "t", line = "is needed" }, { key = "b", line = "is odd" } }
  nvim:input("<Tab><CR>")
  nvim:heard("elicitation", 1)
  nvim:say("problems", { chat = 1, id = 1, problems = problems })
  check.contains(nvim:screen(), "✗ is odd")
  same(nvim:screen():find("is needed", 1, true), nil)
  same(nvim:lua("return vim.api.nvim_get_current_line()"), " Flag: yes")
  nvim:input("ga")
  nvim:heard("elicitation", 2)
  nvim:say("problems", { chat = 1, id = 1, problems = problems })
  check.contains(nvim:screen(), "✗ is needed")
  same(nvim:lua("return vim.api.nvim_get_current_line()"), " Flag: yes", "the cursor stays")
  nvim:input("ga")
  same(nvim:heard("elicitation", 3).action, "accept")
  status(nvim, {})
  nvim:poll("vim.bo.filetype == 'ratprompt'")
end)

case("one that was taken back before the editor heard of it never opens", function()
  local nvim = check.start()
  nvim:open_chat()
  status(nvim, {})
  ask(nvim, 7)
  same(nvim:lua("return #require('rat.ask.form').all()"), 0)
end)

case("a second one does not open over the first", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ permission = { open = 'always' } })")
  nvim:open_chat()
  status(nvim, { 1 })
  ask(nvim, 1, "First?")
  nvim:poll_screen("First?")
  status(nvim, { 1, 2 })
  ask(nvim, 2, "Second?")
  nvim:lua(
    "Idle = 0; require('rat.util.idle').when(function() return true end, function() Idle = 1 end)"
  )
  nvim:poll("Idle == 1")
  same(nvim:screen():find("Second?", 1, true), nil)
  nvim:poll_keys("<CR>")
  nvim:input("gr")
  nvim:poll_screen("Second?")
end)

case("control characters in an agent's words are marks, in rows, titles and choices", function()
  local nvim = check.start()
  nvim:open_chat()
  status(nvim, { 1 })
  local choices = { { value = "x", name = "E\194\1552Jx" }, { value = "y", name = "Why" } }
  local named = { title = "Na\194\155me\27[m", required = true, allows = "-", choices = {} }
  local asked = {
    vim.tbl_extend("error", { key = "t", kind = "text" }, named),
    vim.tbl_extend("force", named, { key = "c", kind = "choice", choices = choices }),
  }
  nvim:say("elicitation", { chat = 1, id = 1, mode = "form", message = "?", fields = asked })
  nvim:poll("vim.bo.filetype == 'ratform'")
  nvim:poll_keys("<CR>")
  same(
    nvim:lua("return vim.api.nvim_get_current_line()"),
    " Na\239\191\189me\239\191\189[m: (empty)"
  )
  nvim:input("<CR>")
  nvim:poll("vim.bo.filetype == 'ratinput'")
  local title = "return vim.api.nvim_win_get_config(0).title[1][1]"
  same(nvim:lua(title), " Na\239\191\189me\239\191\189[m ")
  nvim:input("<C-c>")
  nvim:poll("vim.bo.filetype == 'ratform'")
  nvim:input("<Tab><CR>")
  nvim:poll("vim.bo.filetype == 'ratselect'")
  same(nvim:lua(title), " Na\239\191\189me\239\191\189[m ")
  same(nvim:lua("return vim.api.nvim_get_current_line()"), " 1  E\239\191\1892Jx")
end)

case("what cannot be opened with the system's programs is told in one line", function()
  local nvim = check.start()
  nvim:open_chat()
  local ways = {
    { "error('no\\ndisplay', 0)", "(no display)" },
    { "return nil, 'no browser'", "(no browser)" },
    { "return nil", nil },
  }
  local browse = { chat = 1, id = 1, url = "https://example.com/" }
  local exported = { chat = 1, id = "x", path = "/tmp/x.png", exists = false, use = "open" }
  for _, way in ipairs(ways) do
    nvim:lua(("Said = {}; vim.ui.open = function() %s end"):format(way[1]))
    nvim:say("browse", browse)
    nvim:say("exported", exported)
    nvim:lua("Done = false; vim.schedule(function() Done = true end)")
    nvim:poll("Done")
    local said = nvim:lua("return vim.tbl_map(function(m) return m[1] end, Said)")
    local told = way[2]
      and {
        "[rat] Could not open https://example.com/: " .. way[2]:sub(2, -2),
        "[rat] Could not open /tmp/x.png: " .. way[2]:sub(2, -2),
      }
    same(said, told or {})
  end
end)

case("a form stays whole when the screen changes its size", function()
  local nvim = open()
  nvim:command("set columns=64 lines=20")
  check.contains(nvim:screen(), "Text: (empty)")
  nvim:poll_screen("q later")
  nvim:command("set columns=120 lines=40")
  check.contains(nvim:screen(), "Text: (empty)")
end)

--- Holds (Forms and URLs): A form moves between a float and a split with the size of the screen.
case("a form is a split on a small screen and floats on a larger one", function()
  local nvim = open()
  nvim:input("<Tab><Tab>")
  for _, size in ipairs({ { 50, false }, { 100, true }, { 50, false } }) do
    nvim:command("set columns=" .. size[1])
    nvim:poll(("(vim.api.nvim_win_get_config(0).relative ~= '') == %s"):format(size[2]))
    nvim:poll_screen("q later")
    same(nvim:lua("return vim.api.nvim_get_current_line()"), " Several: ")
    same(nvim:lua("return vim.bo.filetype"), "ratform")
  end
  nvim:input("<C-w>p")
  nvim:command("set columns=100")
  nvim:poll_screen("q later")
  same(nvim:lua("return vim.bo.filetype ~= 'ratform'"), true)
end)

--- The text field's input is open, with "rat" written in it.
local function write()
  local nvim = open()
  nvim:input("<CR>")
  nvim:poll("vim.bo.filetype == 'ratinput' and vim.fn.mode() == 'i'")
  nvim:input("rat")
  nvim:poll("vim.api.nvim_get_current_line() == 'rat'")
  return nvim
end

case("what is written in a field is kept however its window is closed", function()
  for _, keys in ipairs({ ":q<CR>", "ZZ", ":x<CR>", "<C-w>c", ":close<CR>", "<C-w>p" }) do
    local nvim = write()
    nvim:input("<C-Bslash><C-n>" .. keys)
    nvim:poll("vim.bo.filetype == 'ratform'")
    nvim:poll_screen("Text: rat")
    local entered = { { key = "s", value = { "x" } }, { key = "t", value = "rat" } }
    local heard = nvim:heard("elicitation", 1).entered
    table.sort(heard, function(a, b)
      return a.key < b.key
    end)
    same(heard, entered, keys)
    same(nvim:lua("return Said"), {}, keys)
    same(nvim:lua("return vim.v.errmsg"), "", keys)
  end
end)

case("what is written in a field is kept when its window is closed from elsewhere", function()
  local nvim = write()
  nvim:lua([[
    local input = vim.api.nvim_get_current_win()
    vim.cmd("noautocmd wincmd p")
    vim.api.nvim_win_close(input, true)
  ]])
  nvim:poll_screen("Text: rat")
  same(nvim:lua("return Said"), {})
end)

--- Holds (Forms and URLs): A draft in a field is shown, and the form is not sent without it by accident.
case("a draft in a field is shown, and told of before the form is sent without it", function()
  local nvim = write()
  nvim:input("<C-c>")
  nvim:poll("vim.bo.filetype == 'ratform'")
  nvim:poll_screen("Text: (empty) · draft: rat")
  nvim:input("ga")
  nvim:told('"Text" has a draft that would not be sent.')
  same(nvim:has_heard("elicitation"), false)
  nvim:input("<CR>")
  nvim:poll("vim.bo.filetype == 'ratinput' and vim.api.nvim_get_current_line() == 'rat'")
  nvim:input("<CR>")
  nvim:poll_screen("Text: rat")
  nvim:input("ga")
  same(nvim:heard("elicitation", 2).action, "accept")
end)

case("asking for the form again while writing in a field keeps the text", function()
  local nvim = write()
  nvim:input("<Cmd>RatForm<CR>")
  nvim:poll("vim.bo.filetype == 'ratform'")
  nvim:poll_screen("Text: rat")
  same(nvim:lua("return #vim.api.nvim_list_wins()"), 4, "the user's, two of the chat, the form")
  nvim:input("ga")
  same(nvim:heard("elicitation", 2).action, "accept")
end)

case("a form that is taken back while its input closes breaks nothing", function()
  local nvim = write()
  nvim:lua([[
    vim.cmd.quit()
    local status = vim.deepcopy(require("rat.chat.registry").get(1).status)
    status.chat, status.elicitations = 1, {}
    require("rat.rpc.inbox").handle("status", status)
  ]])
  nvim:poll("vim.bo.filetype == 'ratprompt'")
  same(nvim:lua("return Said"), {})
  same(nvim:has_heard("elicitation"), false)
end)

check.finish()
