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
  nvim:lua("require('rat.window').open(require('rat.chat').get(1))")
  same(place(nvim, CHAT), { 0, 0 })
end)

case("who sends a prompt follows the answer, and can go back", function()
  local nvim = check.start()
  nvim:open_chat()
  write(nvim, CHAT, 100)
  go_to(nvim, 10)
  nvim:input("ihello<Esc><CR>")
  same(nvim:heard("prompt").text, "hello")
  same(place(nvim, CHAT), { 0, 0 })
  nvim:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", CHAT)
  nvim:input("''")
  nvim:poll("vim.fn.line('.') == 10")
end)

check.finish()
