--- Where long lines of a chat wrap, and that no window of the user's wraps elsewhere for it.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local DEFAULT = " \t!@*-+;:,./?"
local LINE = ("word "):rep(7) .. "1,000,000.50 https://example.org/a/long/path.html end"

--- Rows of the screen that a window's first line takes.
local function rows(nvim, buf)
  return nvim:lua(
    [[
    local win = vim.fn.bufwinid(...)
    local height = vim.api.nvim_win_text_height(win, { start_row = 0, end_row = 0 }).all
    local origin, found = vim.fn.win_screenpos(win), {}
    vim.cmd.redraw()
    for row = 0, height - 1 do
      local cells = {}
      for col = 0, vim.api.nvim_win_get_width(win) - 1 do
        cells[#cells + 1] = vim.fn.screenstring(origin[1] + row, origin[2] + col)
      end
      found[#found + 1] = vim.trim(table.concat(cells))
    end
    return found
  ]],
    buf
  )
end

local function start()
  local nvim = check.start({ columns = 100, lines = 30 })
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:open_chat()
  local buf = nvim:lua("return vim.fn.bufnr('^rat://claude/1$')")
  nvim:lua(
    [[
    local buf, line = ...
    vim.bo[buf].modifiable = true
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, { line })
    vim.bo[buf].modifiable = false
    local win = vim.fn.bufwinid(buf)
    vim.api.nvim_win_set_width(win, 42)
    vim.api.nvim_win_set_cursor(win, { 1, 0 })
  ]],
    buf,
    LINE
  )
  nvim:poll("vim.go.breakat == ' \t'")
  return nvim, buf
end

--- Holds (Windows and views): Lines of a chat wrap at blanks only.
case("numbers, paths and URLs stay in one piece", function()
  local nvim, buf = start()
  for _, row in ipairs(rows(nvim, buf)) do
    assert(not row:match("[,./:]$"), row)
  end
end)

--- Holds (Windows and views): The user's windows keep their 'breakat'.
case("a window of the user's that wraps by 'breakat' keeps it, and its tab page", function()
  local nvim = start()
  nvim:command("wincmd t | setlocal linebreak")
  nvim:poll(("vim.go.breakat == %q"):format(DEFAULT))
  nvim:command("setlocal nolinebreak")
  nvim:poll("vim.go.breakat == ' \t'")
  nvim:command("tabnew")
  nvim:poll(("vim.go.breakat == %q"):format(DEFAULT))
  nvim:command("tabclose")
  nvim:poll("vim.go.breakat == ' \t'")
end)

case("it is what it was when no chat is shown, and never another than the user's", function()
  local nvim = start()
  nvim:command("RatToggle")
  nvim:poll(("vim.go.breakat == %q"):format(DEFAULT))
  nvim:command("set breakat=-")
  nvim:command("RatToggle")
  nvim:poll("vim.fn.bufwinid('rat://claude/1') > 0")
  nvim:command("wincmd t | wincmd p")
  nvim:poll("vim.go.breakat == '-'")
  same(nvim:lua("return vim.go.breakat"), "-")
end)

check.finish()
