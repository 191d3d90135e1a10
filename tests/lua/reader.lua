--- Where the reader of a transcript is when it is shown again, and when a prompt is sent.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local CHAT = "rat://claude/1"

--- Puts lines at the end of a transcript.
local function write(nvim, name, count)
  nvim:lua(
    [[
    local buf, lines = vim.fn.bufnr("^" .. (...) .. "$"), {}
    for i = 1, select(2, ...) do lines[i] = "line " .. i end
    vim.bo[buf].modifiable = true
    vim.api.nvim_buf_set_lines(buf, -1, -1, false, lines)
    vim.bo[buf].modifiable = false
  ]],
    name,
    count
  )
end

--- The reader's line from the end, and whether that is in sight.
local function place(nvim, name)
  return nvim:lua(
    [[
    local buf = vim.fn.bufnr("^" .. (...) .. "$")
    local win, last = vim.fn.bufwinid(buf), vim.api.nvim_buf_line_count(buf)
    vim.cmd.redraw()
    return { vim.api.nvim_win_get_cursor(win)[1] - last, vim.fn.line("w$", win) - last }
  ]],
    name
  )
end

local function go_to(nvim, line)
  nvim:lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid((...)), { select(2, ...), 0 })", CHAT, line)
end

--- Holds (Windows and views): A transcript is shown again at its end, or where the reader was.
case("a chat that was at its end is shown again at its end", function()
  local nvim = check.start()
  nvim:open_chat()
  write(nvim, CHAT, 100)
  go_to(nvim, 101)
  nvim:command("RatToggle")
  write(nvim, CHAT, 50)
  nvim:command("RatToggle")
  same(place(nvim, CHAT), { 0, 0 })
end)

--- Holds (Windows and views): A transcript is shown again at its end, or where the reader was.
case("a reader who was elsewhere is there again", function()
  local nvim = check.start()
  nvim:open_chat()
  write(nvim, CHAT, 100)
  go_to(nvim, 10)
  nvim:command("RatToggle")
  write(nvim, CHAT, 50)
  nvim:command("RatToggle")
  same(place(nvim, CHAT)[1], 10 - 151)
end)

case("so is a chat that comes back into the windows of another", function()
  local nvim = check.start()
  nvim:open_chat()
  write(nvim, CHAT, 100)
  go_to(nvim, 101)
  nvim:say("chat", { chat = 2, agent = "gemini", cwd = "/", show = true })
  write(nvim, CHAT, 50)
  nvim:lua("require('rat.view.window').open(require('rat.chat.registry').get(1))")
  same(place(nvim, CHAT), { 0, 0 })
end)

--- Holds (Windows and views): Sending a prompt follows the answer.
case("who sends a prompt follows the answer, and can go back", function()
  local nvim = check.start()
  nvim:open_chat()
  write(nvim, CHAT, 100)
  go_to(nvim, 10)
  nvim:input("ihello<Esc><CR>")
  same(nvim:heard("prompt").text, "hello")
  same(place(nvim, CHAT), { 0, 0 })
  nvim:enter("chat")
  nvim:input("''")
  nvim:poll("vim.fn.line('.') == 10")
end)

--- A chat with a transcript that is drawn, and what draws in it.
local function drawn(lines)
  local nvim = check.start({ columns = 100, lines = 30 })
  nvim:lua("package.loaded['rat.view.ui'] = nil")
  nvim:open_chat()
  local function draw(...)
    local code = [[
      local frame = { { "draw", { chat = 1, view = "chat", ops = { ... } } } }
      return require("rat.rpc.inbox").apply(frame).problems
    ]]
    same(nvim:lua(code, ...), {})
  end
  local rows, looks = {}, {}
  for i = 1, lines do
    rows[i], looks[i] = ("line %d %s"):format(i, ("word "):rep(i % 7 * 4)), "p|||"
  end
  draw({ "l", 0, 0, rows, looks, {} })
  return nvim, draw
end

--- Waits until the end is in sight, and no line above has room.
local function poll_full(nvim, what)
  local full = [[(function()
    local win = vim.fn.bufwinid(vim.fn.bufnr("^rat://claude/1$"))
    vim.cmd.redraw()
    local last = vim.fn.line("$", win)
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    local bottom = vim.fn.win_screenpos(win)[1] + vim.api.nvim_win_get_height(win) - 1
    local row = vim.fn.screenpos(win, last, 2 ^ 30).row
    local is_all = view.topline == 1 and view.skipcol == 0
    return row == bottom or is_all and row > 0
  end)()]]
  local ok, problem = pcall(nvim.poll, nvim, full)
  if not ok then
    error(what .. ": " .. problem)
  end
end

--- Holds (Windows and views): The end of a transcript fills its window.
case("at the end there are as many lines as fit, whatever becomes of the text", function()
  local nvim, draw = drawn(100)
  poll_full(nvim, "drawn")
  draw({ "l", 90, 100, { "less" }, { "p|||" }, {} })
  poll_full(nvim, "lines taken away")
  draw({ "f", 70, 89 })
  poll_full(nvim, "lines folded")
  draw({ "l", 80, 91, {}, {}, {} })
  poll_full(nvim, "the end of a fold taken away")
end)

case("at the end there are as many lines as fit, whatever becomes of the window", function()
  local nvim = drawn(100)
  for _, size in ipairs({ { 100, 50 }, { 140, 40 }, { 60, 24 }, { 100, 16 }, { 140, 60 } }) do
    nvim:lua("vim.o.columns, vim.o.lines = ...", size[1], size[2])
    poll_full(nvim, vim.inspect(size))
  end
  for _, command in ipairs({ "RatPlan", "RatTools", "RatPlan", "RatTools" }) do
    nvim:command(command)
    poll_full(nvim, command)
  end
  nvim:input("iline<CR>line<CR>line<CR>line<CR>line<Esc>")
  poll_full(nvim, "a longer prompt")
  nvim:input("ggdG")
  poll_full(nvim, "a shorter prompt")
  for _, command in ipairs({ "RatPlan", "wincmd l | wincmd o", "RatStart claude" }) do
    nvim:command(command)
    poll_full(nvim, command)
    nvim:command("RatToggle")
    nvim:command("RatToggle")
    poll_full(nvim, command .. ", shown again")
  end
end)

check.finish()
