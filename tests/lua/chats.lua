--- Several chats: which one is meant, and how to reach the others.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- A Neovim with a chat in each of these folders of its home, none shown.
local function start(folders)
  local nvim = check.start()
  for i, folder in ipairs(folders) do
    vim.fn.mkdir(nvim.home .. "/" .. folder, "p")
    nvim:say("chat", { chat = i, agent = "claude", cwd = nvim.home .. "/" .. folder })
    nvim:status({ chat = i })
  end
  return nvim
end

local function current(nvim)
  return nvim:lua("return require('rat.chat.current').get().id")
end

local function shown(nvim)
  return nvim:lua("local of = require('rat.view.window').visible() return of and of.id")
end

--- Holds (Windows and views): Commands act on the chat of the tab page or the folder.
case("the chat of the folder is meant, the nearest above it", function()
  local nvim = start({ "x", "y", "y/sub", "z" })
  for folder, wanted in pairs({ x = 1, y = 2, ["y/sub"] = 3 }) do
    nvim:command("cd " .. nvim.home .. "/" .. folder)
    same(current(nvim), wanted, folder)
  end
  vim.fn.mkdir(nvim.home .. "/x/deep/er", "p")
  nvim:command("cd " .. nvim.home .. "/x/deep/er")
  same(current(nvim), 1)
  vim.fn.mkdir(nvim.home .. "/xy")
  nvim:command("cd " .. nvim.home .. "/xy")
  same(current(nvim), 4, "none is of this folder")
end)

--- Holds (Windows and views): Commands act on the chat of the tab page or the folder.
case("each tab page has the chat of its folder", function()
  local nvim = start({ "x", "y" })
  nvim:command("tcd " .. nvim.home .. "/x | RatToggle")
  nvim:command("tabnew | tcd " .. nvim.home .. "/y")
  same(current(nvim), 2)
  nvim:command("RatToggle")
  same(shown(nvim), 2)
  nvim:command("tabprevious")
  same({ shown(nvim), current(nvim) }, { 1, 1 })
end)

--- Holds (Windows and views): A prompt never goes to the chat of another folder that is not on the screen.
case("what is written in another folder starts an agent there", function()
  local nvim = start({ "x", "y" })
  local function meant()
    return nvim:lua("local of = require('rat.chat.current').for_prompt() return of and of.id")
  end
  vim.fn.mkdir(nvim.home .. "/z")
  nvim:command("cd " .. nvim.home .. "/z")
  same({ current(nvim), meant() }, { 2, vim.NIL })
  nvim:command("edit " .. nvim.home .. "/x/a.txt")
  same(meant(), 1, "the file is in the folder of that chat")
  nvim:command("enew | RatToggle")
  same(meant(), 2, "it is on the screen")
  nvim:command("wincmd p | tabnew")
  same(meant(), vim.NIL)
  nvim:command("cd " .. nvim.home .. "/y")
  same(meant(), 2)
end)

case("a chat that lives is meant before one that has ended", function()
  local nvim = start({ "x", "x" })
  nvim:command("cd " .. nvim.home .. "/x")
  same(current(nvim), 2)
  nvim:lua("require('rat.chat.registry').get(2).id = nil")
  same(current(nvim), 1)
end)

case("all chats of a folder can be reached, and the first comes after the last", function()
  local nvim = start({ "x", "x", "y" })
  nvim:command("cd " .. nvim.home .. "/x | RatToggle")
  nvim:lua("vim.keymap.set('n', ']c', '<Plug>(rat-next)')")
  nvim:lua("vim.keymap.set('n', '[c', '<Plug>(rat-previous)')")
  same(shown(nvim), 2)
  for _, one in ipairs({ { "]c", 3 }, { "]c", 1 }, { "[c", 3 }, { "[c", 2 } }) do
    nvim:input(one[1])
    nvim:poll(("require('rat.view.window').visible().id == %d"):format(one[2]))
  end
  same(nvim:lua("return #vim.api.nvim_tabpage_list_wins(0)"), 3)
end)

case("where there is one chat, or none, that is said", function()
  local nvim = start({ "x" })
  nvim:lua("require('rat.commands').switch_chat(1)")
  nvim:told("No other chat")
  same(shown(nvim), 1)
  local none = check.start()
  none:lua("require('rat.commands').switch_chat(1)")
  none:told(":RatStart")
end)

case("another command may follow one that takes no text", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:command("RatToggle | let g:after = 1")
  same(nvim:lua("return { vim.g.after, #vim.api.nvim_tabpage_list_wins(0) }"), { 1, 1 })
  nvim:command("RatSend what is a | b?")
  same(nvim:heard("prompt").text, "what is a | b?")
end)

check.finish()
