--- Options: defaults, validation with the key's path; which agents there are, and what the binary is told of them.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local config = require("rat.config")
local schema = require("rat.config.schema")

case("defaults come from the schema", function()
  config.set({})
  local options = config.get()
  same(options.permission.open, "chat")
  same(options.diff, "inline")
  same(options.layout.position, "right")
  same(options.agents, {})
end)

case("every option is described, every choice's default is its first", function()
  local function walk(option, path)
    for _, field in ipairs(option.fields or (option.items and option.items.fields) or {}) do
      local name = path .. "." .. field.name
      assert(field.doc and field.doc:match("%.$"), name .. " has no sentence")
      if field.choices then
        same(config.default(field), field.choices[1], name)
      end
      walk(field, name)
    end
  end
  walk(schema, "")
end)

--- Holds (Confinement): An agent that options confine is not started unconfined where these options are refused.
case("what options confine stays confined where they are refused", function()
  config.set({})
  local agents = {
    claude = { confine = "write", comand = "x" },
    codex = { confine = "all" },
    gemini = { confine = false },
    qwen = { confine = { write = { "/a" } } },
  }
  same(#config.set({ agents = agents }), 2)
  same(config.get().agents, {
    claude = { confine = "write" },
    codex = { confine = "all" },
    qwen = { confine = { write = { "/a" } } },
  })
  config.set({})
  same(config.get().agents, {})
end)

case("problems name the key's full path", function()
  local wrong = {
    {
      { agents = { claude = { comand = "x" } } },
      "agents.claude.comand: unknown key, did you mean command?",
    },
    { { agents = { claude = { args = "x" } } }, "agents.claude.args: expected list, got string" },
    {
      { agents = { claude = { args = { 1 } } } },
      "agents.claude.args.1: expected string, got number",
    },
    {
      { agents = { c = { timeouts = { request = -1 } } } },
      "agents.c.timeouts.request: expected at least 0, got -1",
    },
    {
      { agents = { c = { timeouts = { request = 1.5 } } } },
      "agents.c.timeouts.request: expected integer, got number",
    },
    {
      { permission = { open = "chap" } },
      'permission.open: expected one of chat, always, never, got "chap", did you mean chat?',
    },
    { { layout = { size = 0 } }, "layout.size: expected at least 0.05, got 0" },
    {
      { agents = { c = { confine = "all" } } },
      'agents.c.confine: expected false, "write" or table, got string',
    },
    {
      { agents = { c = { confine = true } } },
      'agents.c.confine: expected false, "write" or table, got boolean',
    },
    { { layout = "right" }, "layout: expected table, got string" },
    { { permision = {} }, "permision: unknown key, did you mean permission?" },
    { { "x" }, "options: expected table, got list" },
  }
  for _, pair in ipairs(wrong) do
    same(config.set(pair[1]), { pair[2] })
  end
  same(#config.set({ diff = 1, binary = 2 }), 2)
end)

case("options with problems leave those before in force", function()
  same(config.set({ diff = "tab" }), {})
  config.set({ diff = "nonsense" })
  same(config.get().diff, "tab")
  config.set({})
end)

--- Holds (Configuration): A wrong option is reported in one line, and the rest of the user's configuration still runs.
case("setup reports what is wrong in one line, and breaks nothing", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ agents = { claude = { comand = 'x' } }, dif = 'tab' })")
  nvim:told(
    "setup: agents.claude.comand: unknown key, did you mean command?; dif: unknown key, did you mean diff? (no option was set)"
  )
  same(nvim:lua("return vim.v.errmsg"), "")
end)

local function with_settings(text)
  local nvim = check.start()
  vim.fn.mkdir(nvim.own .. "/config/nvim", "p")
  vim.fn.writefile(vim.split(text, "\n"), nvim.own .. "/config/nvim/rat.json")
  return nvim
end

case("agents of the settings file can be started, also where others are malformed", function()
  local nvim = with_settings([[{ "agent_servers": {
    "mine": { "command": "my-agent", "cwd": "sub" }, "bad": 7
  } }]])
  vim.fn.mkdir(nvim.home .. "/sub")
  nvim:command("RatStart mine")
  local start = nvim:heard("start")
  same({ start.agent, start.options }, { "mine", {} })
  same(start.settings_file, nvim.own .. "/config/nvim/rat.json")
  same(start.cwd, vim.uv.fs_realpath(nvim.home) .. "/sub")
  local names = nvim:lua("return vim.fn.getcompletion('RatStart ', 'cmdline')")
  assert(vim.list_contains(names, "mine") and vim.list_contains(names, "bad"), vim.inspect(names))
end)

--- Holds (Configuration): While setup() is refused, or the settings file it names is missing, no agent but the tour is started.
case("no agent is started with less than what the user has written", function()
  local nvim = check.start()
  local function refused(setup, told)
    nvim:lua("Said = {}; require('rat').setup(...)", setup)
    nvim:lua("Said = {}")
    nvim:command("RatStart claude")
    nvim:told(told)
  end
  refused(
    { agents = { claude = { confne = "write" } } },
    "claude was not started, because setup() was refused: agents.claude.confne: unknown key, did you mean confine?"
  )
  refused({ permision = { mode = "read-only" } }, "setup() was refused: permision: unknown key")
  local missing = nvim.own .. "/missing.json"
  refused({ settings_file = missing }, "missing.json (settings_file) does not exist.")
  same(nvim:lua("return #Heard"), 0)
  nvim:command("RatStart tour")
  same(nvim:heard("start").agent, "tour")
  nvim:lua("require('rat').setup({})")
  nvim:command("RatStart claude")
  same(nvim:heard("start", 2).agent, "claude")
end)

case("a malformed settings file keeps no agent of others from being started", function()
  local nvim = with_settings('{"agent_servers": {')
  nvim:command("RatStart tour")
  same(nvim:heard("start").agent, "tour")
  nvim:command("RatStart mine")
  nvim:told("/config/nvim/rat.json is not valid JSON.")
end)

case("what is set goes out as it is, with Neovim's environment", function()
  local nvim = check.start({ env = { KEPT = "z" } })
  nvim:lua([[require("rat").setup({
    agents = { claude = { args = {}, env = { B = "2" }, timeouts = { request = 5 } } },
    mcp_servers = { docs = { command = "sh", args = { "-c" } } },
    directories = { "~/other" },
  })]])
  nvim:command("RatStart claude")
  local start = nvim:heard("start")
  same(start.environment.KEPT, "z")
  same(start.options, { args = {}, env = { B = "2" }, timeouts = { request = 5 } })
  same(start.mcp_servers, { docs = { command = "sh", args = { "-c" } } })
  same(start.directories, { nvim.home .. "/other" })
  same(start.cwd, vim.uv.fs_realpath(nvim.home))
end)

case("a configured folder goes out absolute", function()
  local nvim = check.start()
  vim.fn.mkdir(nvim.home .. "/sub")
  nvim:lua("require('rat').setup({ agents = { mine = { command = 'x', cwd = 'sub' } } })")
  nvim:command("RatStart mine")
  same(nvim:heard("start").cwd, vim.uv.fs_realpath(nvim.home) .. "/sub")
end)

case("a folder is taken as it is called, one that is configured with its variables", function()
  local nvim = check.start()
  local home = vim.uv.fs_realpath(nvim.home)
  vim.uv.fs_mkdir(home .. "/$HOME", 448)
  nvim:lua("vim.uv.chdir(...)", home .. "/$HOME")
  nvim:command("RatStart claude")
  same(nvim:heard("start").cwd, home .. "/$HOME")
  nvim:lua("require('rat').start({ agent = 'claude', cwd = ... })", home .. "/$HOME")
  same(nvim:heard("start", 2).cwd, home .. "/$HOME")
  nvim:lua("require('rat').setup({ agents = { mine = { command = 'x', cwd = '$HOME' } } })")
  nvim:command("RatStart mine")
  same(nvim:heard("start", 3).cwd, nvim.home)
end)

case("the folder of the window is the folder of the session", function()
  local nvim = check.start()
  vim.fn.mkdir(nvim.home .. "/sub")
  nvim:command("lcd " .. nvim.home .. "/sub")
  nvim:command("RatStart claude")
  same(nvim:heard("start").cwd, vim.uv.fs_realpath(nvim.home .. "/sub"))
end)

case("which agent starts", function()
  local nvim = check.start({ env = { PATH = vim.fs.dirname(vim.fn.exepath("sh")) } })
  nvim:lua("require('rat.config.agents').installed = function() return {} end")
  nvim:command("RatStart")
  nvim:told("RatStart tour")
  nvim:told("npm install -g opencode-ai")
  nvim:lua("require('rat.config.agents').installed = function() return { 'codex' } end")
  nvim:command("RatStart")
  same(nvim:heard("start").agent, "codex")
  nvim:lua("require('rat').setup({ agents = { own = { command = 'x' } } })")
  nvim:command("RatStart")
  same(nvim:heard("start", 2).agent, "own")
  nvim:lua(
    "require('rat').setup({ agents = { own = { command = 'x' } }, default_agent = 'gemini' })"
  )
  nvim:command("RatStart!")
  local start = nvim:heard("start", 3)
  same({ start.agent, start.wish }, { "gemini", "new" })
  nvim:lua(
    "require('rat').setup({ agents = { own = { command = 'x' }, other = { command = 'y' } } })"
  )
  nvim:poll(
    "require('rat.util.private_file').read(vim.fn.stdpath('state') .. '/rat/last-agent') == 'gemini'"
  )
  nvim:command("RatStart")
  nvim:poll_screen("Start which agent?")
  nvim:input("<CR>")
  same(nvim:heard("start", 4).agent, "codex", "the last one is not among them")
  nvim:command("RatStart other")
  nvim:heard("start", 5)
  nvim:poll(
    "require('rat.util.private_file').read(vim.fn.stdpath('state') .. '/rat/last-agent') == 'other'"
  )
  nvim:command("RatStart")
  nvim:poll_screen("1  other")
  nvim:input("<CR>")
  same(nvim:heard("start", 6).agent, "other")
end)

--- Holds (Drafts and leaving Neovim): A prompt that no agent can be started for leaves its attachments and is in the history.
case("a prompt that no agent can be started for is not lost", function()
  local nvim = check.start({ env = { PATH = vim.fs.dirname(vim.fn.exepath("sh")) } })
  nvim:lua("require('rat.config.agents').installed = function() return {} end")
  nvim:lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'one', 'two' })")
  nvim:command("1RatAdd")
  nvim:command("RatSend explain this")
  nvim:told("No agent is installed")
  same(nvim:lua("return #require('rat.chat.attachment_list').all()"), 1)
  same(
    nvim:lua("return require('rat.chat.history').step(-1, vim.fn.getcwd(), -1, { '' })"),
    { "explain this" }
  )
end)

case("an unknown agent is told with the closest known one", function()
  local nvim = check.start()
  nvim:command("RatStart claud")
  nvim:told('No agent is named "claud" (did you mean claude?). Known agents: ')
end)

--- Holds (Configuration): Language servers know the options: their types are made from the same descriptions as the help.
case("the types of the options are up to date", function()
  local types = dofile("tests/support/option_types.lua")
  local present = table.concat(vim.fn.readfile(types.path), "\n")
  same(present .. "\n" == types.make(), true, "run `nvim -l tests/support/option_types.lua`")
end)

--- Holds (Configuration): Without git, `:checkhealth rat` names all that does not work.
case("checkhealth says what git is needed for", function()
  local nvim = check.start({ env = { PATH = "/nowhere" } })
  nvim:command("checkhealth rat")
  local text = table.concat(nvim:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), "\n")
  check.contains(text, "git is not on PATH")
  check.contains(text, "@diff and worktrees")
end)

check.finish()
