--- How large the windows of a chat are, whatever becomes of the screen and of the user's windows.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local CHAT, PROMPT = "rat://claude/1", "rat://claude/1/prompt"

local function width(nvim, name)
  return nvim:lua("return vim.api.nvim_win_get_width(vim.fn.bufwinid(...))", name)
end

local function height(nvim, name)
  return nvim:lua("return vim.api.nvim_win_get_height(vim.fn.bufwinid(...))", name)
end

local function poll_size(nvim, name, what, wanted)
  nvim:poll(("vim.api.nvim_win_get_%s(vim.fn.bufwinid(%q)) == %d"):format(what, name, wanted))
end

--- A Neovim with this many columns and a file beside a chat.
local function start(columns, position)
  local nvim = check.start({ columns = columns, lines = 40 })
  if position then
    nvim:lua("require('rat').setup({ layout = { position = ... } })", position)
  end
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:open_chat()
  return nvim
end

--- Holds (Windows and views): The chat keeps its share of the screen, and the user's windows keep theirs.
case("the chat keeps its share of the screen, the user's windows keep room", function()
  for _, position in ipairs({ "right", "left" }) do
    local nvim = start(200, position)
    same(width(nvim, CHAT), 84)
    for _, step in ipairs({ { 80, 40 }, { 120, 50 }, { 60, 30 }, { 200, 84 } }) do
      nvim:command("set columns=" .. step[1])
      poll_size(nvim, CHAT, "width", step[2])
      same(width(nvim, PROMPT), step[2])
      same(width(nvim, "LICENSE"), step[1] - step[2] - 1)
    end
  end
end)

case("several windows beside it share what is left when the screen was small", function()
  local nvim = start(200)
  nvim:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('LICENSE'))")
  nvim:command("autocmd WinResized * let g:resized = 1")
  nvim:command("vsplit " .. check.root .. "/Cargo.toml")
  nvim:poll("vim.g.resized == 1")
  nvim:command("set columns=80")
  poll_size(nvim, CHAT, "width", 40)
  nvim:command("set columns=200")
  poll_size(nvim, CHAT, "width", 84)
  for _, name in ipairs({ "LICENSE", "Cargo.toml" }) do
    assert(width(nvim, name) >= 50, name .. ": " .. width(nvim, name))
  end
end)

case("a width that the user chose is a share, too", function()
  local nvim = start(120)
  nvim:command("autocmd WinResized * let g:resized = 1")
  nvim:command("vertical resize 60")
  nvim:poll("vim.g.resized == 1")
  nvim:command("set columns=200")
  poll_size(nvim, CHAT, "width", 100)
end)

case("above and below, lines are shared in the same way", function()
  for _, position in ipairs({ "bottom", "top" }) do
    local nvim = start(100, position)
    local before = height(nvim, CHAT)
    nvim:command("set lines=24")
    nvim:poll("vim.api.nvim_win_get_height(vim.fn.bufwinid('LICENSE')) >= 8")
    nvim:command("set lines=40")
    poll_size(nvim, CHAT, "height", before)
    same(height(nvim, PROMPT), 5, position)
  end
end)

case("the prompt is as it was after a window below came and went", function()
  for _, position in ipairs({ "right", "bottom" }) do
    local nvim = start(120, position)
    same(height(nvim, PROMPT), 5)
    nvim:command("copen")
    nvim:command("cclose")
    poll_size(nvim, PROMPT, "height", 5)
    nvim:enter("prompt")
    nvim:input("8<C-w>_")
    nvim:poll("vim.api.nvim_win_get_height(0) == 8")
    nvim:command("copen")
    nvim:command("cclose")
    poll_size(nvim, PROMPT, "height", 8)
  end
end)

--- Holds (Windows and views): The chat takes its room from all windows beside it.
case("windows beside a new chat keep their proportions", function()
  for _, position in ipairs({ "right", "left" }) do
    local nvim = check.start({ columns = 171, lines = 40 })
    nvim:lua("require('rat').setup({ layout = { position = ... } })", position)
    nvim:command("edit " .. check.root .. "/LICENSE")
    nvim:command("rightbelow vsplit " .. check.root .. "/Cargo.toml | vertical resize 60")
    nvim:command("rightbelow split " .. check.root .. "/Makefile")
    nvim:command("topleft vsplit " .. check.root .. "/README.md | vertical resize 30")
    nvim:command("setlocal winfixwidth")
    local names = { "README.md", "LICENSE", "Cargo.toml", "Makefile" }
    local function widths()
      return vim.tbl_map(function(name)
        return width(nvim, name)
      end, names)
    end
    local before = widths()
    same(before, { 30, 79, 60, 60 })
    nvim:open_chat()
    same(width(nvim, CHAT), 71)
    same(widths(), { 30, 38, 29, 29 }, position)
    nvim:command("RatToggle")
    same(widths(), before, position)
  end
end)

--- Holds (Windows and views): The chat keeps its share of the screen, and the user's windows keep theirs.
case("on a screen too narrow for both, nothing is taken for the user's choice", function()
  local nvim = start(120)
  same(width(nvim, CHAT), 50)
  nvim:command("autocmd WinResized * let g:resized = 1")
  nvim:command("set columns=30")
  nvim:poll("vim.g.resized == 1")
  nvim:command("wincmd t")
  nvim:poll("vim.api.nvim_win_get_width(0) == 20")
  nvim:enter("prompt")
  nvim:command("set columns=120")
  poll_size(nvim, CHAT, "width", 50)
end)

check.finish()
