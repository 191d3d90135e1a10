--- The connection to the binary: started on first use, in order, explained when it fails.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

case("nothing is loaded or started until it is used", function()
  local nvim = check.start()
  local loaded = nvim:lua([[
    return vim.tbl_filter(function(name)
      return name:match("^rat%f[%W]") and name ~= "rat.view.ui"
    end, vim.tbl_keys(package.loaded))
  ]])
  same(loaded, {})
  same(nvim:lua("return require('rat').statusline()"), "")
end)

case("messages wait for the version and keep their order", function()
  local nvim = check.start()
  nvim:lua([[
    local rpc = require("rat.rpc")
    rpc.request("one", { n = 1 })
    rpc.notify("two", {})
  ]])
  nvim:heard("two")
  nvim:lua("require('rat.rpc').notify('three', { n = 3 })")
  nvim:heard("three")
  local names = vim.tbl_map(function(message)
    return message[1]
  end, nvim:lua("return Heard"))
  same(names, { "configure", "one", "two", "three" })
  same(nvim:lua("return Heard[2][2]"), { n = 1 })
  same(nvim:lua("return Heard[3][2]"), vim.empty_dict())
end)

case("telling starts nothing", function()
  local nvim = check.start()
  same(nvim:lua("return require('rat.rpc').notify('fact', {})"), false)
  same(nvim:lua("return require('rat.rpc').running()"), false)
end)

case("a binary of another version is told and ended", function()
  local nvim = check.start({ env = { STANDIN_VERSION = "0.0.9" } })
  nvim:command("RatStart claude")
  nvim:told("rat-nvim is version 0.0.9, but the plugin is version " .. require("rat.version"))
  same(nvim:lua("return require('rat.rpc').running()"), false)
  same(nvim:has_heard("start"), false)
end)

case("a missing binary is told with what to do", function()
  local nvim = check.start({ binary = "/nowhere/rat-nvim" })
  nvim:command("RatStart claude")
  nvim:told("/nowhere/rat-nvim is missing. Run `nvim -l build.lua`")
  nvim:told(":checkhealth rat")
  same(nvim:lua("return #Said"), 1)
end)

case("a program that is no rat-nvim is told", function()
  local nvim = check.start({ binary = vim.fn.exepath("true") })
  nvim:command("RatStart claude")
  nvim:told("rat-nvim exited with status 0")
end)

case("a binary that dies: chats fail, drafts stay, the next prompt starts it again", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:input("icrash<Esc><CR>")
  nvim:told("rat-nvim exited with status 3 (it broke)")
  same(nvim:lua("return require('rat').status().state"), "failed")
  nvim:poll(
    "vim.iter(Events):any(function(e) return e[1] == 'RatState' and e[2].state == 'failed' end)"
  )
  nvim:poll_screen(":RatRestart")
  nvim:input("isecond<Esc>")
  nvim:poll("vim.fn.getline(1) == 'second'")
  nvim:lua("Heard = {}")
  nvim:input("<CR>")
  local start = nvim:heard("start")
  same(start.agent, "claude")
  same(nvim:heard("prompt").text, "second")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = start.cwd, show = true })
  nvim:status()
  same(
    nvim:lua("return vim.api.nvim_buf_get_name(require('rat.chat.buffers').get(1, 'chat'))"),
    "rat://claude/2"
  )
  nvim:poll_screen("Claude ready")
end)

case("the draft of a chat that ended goes into the next one", function()
  local nvim = check.start()
  nvim:open_chat()
  nvim:input("icrash<Esc><CR>")
  nvim:told("rat-nvim exited")
  nvim:input("ikept<Esc>")
  nvim:poll("vim.fn.getline(1) == 'kept'")
  nvim:lua("Heard = {}")
  nvim:command("RatRestart")
  local start = nvim:heard("start")
  nvim:say("chat", { chat = 1, agent = "claude", cwd = start.cwd, show = true, focus = true })
  same(
    nvim:lua(
      "return vim.api.nvim_buf_get_lines(require('rat.chat.buffers').get(1, 'prompt'), 0, -1, false)"
    ),
    { "kept" }
  )
end)

case("a message that makes no sense does no harm", function()
  local nvim = check.start()
  nvim:say("nonsense", {})
  nvim:told("nonsense")
  nvim:say("status", { chat = 99, state = "ready" })
  nvim:say("diff", {})
  nvim:told("diff: ")
end)

case("the binary ends with Neovim", function()
  local nvim = check.start()
  nvim:command("RatStart claude")
  nvim:heard("start")
  local pid = nvim:lua([[
    for _, channel in ipairs(vim.api.nvim_list_chans()) do
      if channel.argv then return vim.fn.jobpid(channel.id) end
    end
  ]])
  same(vim.uv.kill(pid, 0), 0)
  pcall(nvim.command, nvim, "qall!")
  same(
    vim.wait(20000, function()
      return vim.uv.kill(pid, 0) ~= 0
    end, 5),
    true
  )
end)

case("the binary is looked for where the plugin is", function()
  local nvim = check.start()
  same(nvim:lua("return require('rat.rpc').root()"), check.root)
  same(nvim:lua("return vim.fn.filereadable(require('rat.rpc').root() .. '/build.lua')"), 1)
end)

check.finish()
