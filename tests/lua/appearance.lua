--- Keys, signs and texts as the user wants them.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Applies drawing operations to the transcript.
local function draw(nvim, ...)
  local code = [[
    local frame = { { "draw", { chat = 1, view = "chat", ops = { ... } } } }
    return require("rat.rpc.inbox").apply(frame).problems
  ]]
  same(nvim:lua(code, ...), {})
end

--- A chat with a message, a header, a tool call and two rows of its card, one of which is empty.
local function drawn(options)
  local nvim = check.start()
  nvim:lua("package.loaded['rat.view.ui'] = nil")
  nvim:lua("require('rat').setup(...)", options)
  nvim:open_chat()
  local lines = { "", "Some words.", "", "", "Run it", "    output here", "" }
  local formats = { "", "p|5,10B||", "", "H|||agent\tClaude", "x|0,3B||", "y|4,10B||", "y|||" }
  draw(nvim, { "l", 0, 0, lines, formats, { 4, "✓ ", "G", 5, "  │ ", "X", 6, "  │ ", "X" } })
  return nvim
end

local function rows(nvim)
  return nvim:lua(
    "return vim.api.nvim_buf_get_lines(require('rat.chat.buffers').get(1, 'chat'), 0, -1, true)"
  )
end

local function spans(nvim, row)
  return nvim:lua(
    "return require('rat.view.line_format').at(require('rat.chat.buffers').get(1, 'chat'), ...).spans",
    row
  )
end

--- Holds (Windows and views): The signs before lines can be ASCII, or the user's own, each a character of one cell.
case("icons are what the user wants", function()
  local nvim = drawn({ icons = "ascii" })
  nvim:poll_screen("# Claude")
  nvim:poll_screen("+ Run it")
  nvim:poll_screen("  | output here")
  nvim = drawn({ icons = { done = "●", running = "✓" } })
  nvim:poll_screen("● Run it")
  nvim:poll_screen("▌ Claude")
  nvim:lua("require('rat').setup({ icons = { done = 'OK' } })")
  nvim:told("icons.done: expected a character of one cell, got string")
  nvim:lua("require('rat').setup({ icons = { don = 'x' } })")
  nvim:told("icons.don: unknown key, did you mean done?")
  nvim:lua("require('rat').setup({ icons = 'emoji' })")
  nvim:told('icons: expected "unicode", "ascii" or table, got string')
end)

--- Holds (Windows and views): In text mode speakers and states are words in the text, and the rest keeps its highlighting.
case("text mode has words for what is drawn beside the text", function()
  local nvim = drawn({ text_mode = true })
  nvim:poll_screen("[done] Run it")
  same(rows(nvim), {
    "",
    "Some words.",
    "",
    "Claude:",
    "[done] Run it",
    "  | output here",
    "  |",
  })
  same(spans(nvim, 1), { { 5, 10, "B" } })
  same(spans(nvim, 4), { { 7, 10, "B" } })
  same(spans(nvim, 5), { { 4, 10, "B" } })
  -- What streams in is appended where the binary thinks the end is.
  draw(nvim, { "t", 1, 11, { " More." }, { "p|5,10B||" } })
  nvim:poll_screen("Some words. More.")
end)

--- Holds (Prompts and keys): Keys of our buffers are replaced or taken away by the option `keys`, and the hints say so.
case("keys are what the user wants", function()
  local nvim = check.start()
  nvim:lua([[require('rat').setup({ keys = {
    ["<cr>"] = "<leader>s", ["g?"] = false, ["g-"] = "gm", q = "<Esc>",
  } })]])
  nvim:command("let mapleader = ','")
  nvim:open_chat()
  nvim:poll_screen("<leader>s send")
  same(nvim:lua("return vim.fn.maparg('g?', 'n')"), "")
  nvim:input("ihello<Esc><CR>")
  nvim:input(",s")
  same(nvim:heard("prompt").text, "hello")
  nvim:lua("require('rat.chat.attachment_list').add({ uri = 'file:///a', label = 'a.txt' })")
  nvim:poll_screen("g+ open  gm remove")
  nvim:input("gm")
  nvim:poll("#require('rat.chat.current').get().attachments == 0")
  nvim:enter("chat")
  nvim:input("<Esc>")
  nvim:poll("vim.bo.filetype ~= 'rat'")
  nvim:lua("require('rat').setup({ keys = { ga = 1 } })")
  nvim:told("keys.ga: expected a key or false, got number")
end)

check.finish()
