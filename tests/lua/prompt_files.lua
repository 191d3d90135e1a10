--- Prompts in files: which count, what they stand for, and what is told of the others.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- Writes a file below the home of a Neovim.
---@return string path
local function write(nvim, name, text)
  local path = nvim.home .. "/" .. name
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

--- A chat with an agent that has a command of its own.
local function open_chat(nvim)
  nvim:open_chat()
  nvim:say("commands", {
    chat = 1,
    commands = { { name = "plan", description = "The agent's" } },
  })
end

local function user_file(nvim, name, text)
  nvim:lua("vim.opt.runtimepath:prepend(...)", nvim.home .. "/mine")
  return write(nvim, "mine/rat/prompts/" .. name, text)
end

--- Sends a prompt and returns what the binary gets.
local function send(nvim, count, text)
  nvim:lua("require('rat').send(...)", text)
  return nvim:heard("prompt", count).text
end

--- Holds (Prompts and keys): A `/name` stands for the user's file of that name, with its arguments; the agent's commands come first.
case("a file is sent in place of its name", function()
  local nvim = check.start()
  user_file(
    nvim,
    "review.md",
    "---\ndescription: Look\nargument-hint: <file>\n---\nReview $1 for $2.\n"
  )
  user_file(nvim, "plain.md", "Say hello.")
  user_file(nvim, "all.md", "Do: $ARGUMENTS. It costs $$1, $HOME, $1ST.")
  user_file(nvim, "plan.md", "Mine")
  open_chat(nvim)
  same(send(nvim, 1, '/review a.c "two words"'), "Review a.c for two words.")
  same(send(nvim, 2, "/plain"), "Say hello.")
  same(send(nvim, 3, "/plain to\nall"), "Say hello.\n\nto\nall")
  same(send(nvim, 4, "/all one $1"), "Do: one $1. It costs $1, $HOME, oneST.")
  same(send(nvim, 5, "/plan x"), "/plan x")
  same(send(nvim, 6, "/plainer x"), "/plainer x")
  same(send(nvim, 7, "see /plain"), "see /plain")
  same(send(nvim, 8, "/review it's \"open"), "Review it's for \"open.")
end)

case("files are offered beside the agent's commands", function()
  local nvim = check.start()
  user_file(nvim, "review.md", "---\ndescription: Look\nargument-hint: <file>\n---\nReview $1")
  user_file(nvim, "plan.md", "Mine")
  user_file(nvim, "no name.md", "Mine")
  user_file(nvim, "empty.md", "---\ndescription: Nothing\n---\n")
  open_chat(nvim)
  nvim:input("g/")
  nvim:poll_screen("1  /plan · The agent's")
  nvim:poll_screen("2  /review <file> · Look")
  nvim:input("2<CR>")
  nvim:poll("vim.fn.getline(1) == '/review '")
  nvim:poll_screen("/review file")
  nvim:input("<Esc><CR>")
  same(nvim:heard("prompt").text, "Review")
  nvim:input("<Up>")
  nvim:poll("vim.fn.getline(1) == '/review'")
end)

--- Holds (Prompts and keys): Prompts of a project count only while the user trusts their files as they are.
case("files of a project count once they are trusted", function()
  local nvim = check.start()
  local path = write(nvim, ".rat/prompts/deploy.md", "Deploy $1 now")
  user_file(nvim, "deploy.md", "Do not deploy $1")
  open_chat(nvim)
  same(send(nvim, 1, "/deploy it"), "Do not deploy it")
  nvim:told("You have not trusted .rat/prompts/deploy.md, so /deploy is not offered.")
  nvim:command("edit " .. path)
  nvim:command("trust")
  same(send(nvim, 2, "/deploy it"), "Deploy it now")
  write(nvim, ".rat/prompts/deploy.md", "Deploy $1 and more")
  same(send(nvim, 3, "/deploy it"), "Do not deploy it")
  nvim:command("trust ++deny " .. path)
  write(nvim, ".rat/prompts/other.md", "\0")
  same(send(nvim, 4, "/deploy it"), "Do not deploy it")
  nvim:told(".rat/prompts/other.md is not a text file. It is not offered.")
end)

check.finish()
