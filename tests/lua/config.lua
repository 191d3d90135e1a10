--- Options and the settings file: defaults, validation with the key's path, positions in malformed JSON, agents.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local config = require("rat.config")
local schema = require("rat.schema")
local settings = require("rat.settings")

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

case("setup fails with the path", function()
  local ok, problem = pcall(require("rat").setup, { agents = { claude = { comand = "x" } } })
  same(ok, false)
  same(problem, "rat.setup: agents.claude.comand: unknown key, did you mean command?")
end)

case("a settings file as other clients have it", function()
  local found, problems = settings.parse([[{
    "theme": "One Dark",
    "agent_servers": {
      "mine": { "type": "custom", "command": "my-agent", "args": ["acp"], "env": {"A": "b"} },
      "bad": { "command": 7 }
    },
    "mcp_servers": { "docs": { "url": "http://localhost:1/mcp" } }
  }]])
  same(found.agents.mine.command, "my-agent")
  same(found.agents.bad, nil)
  same(found.mcp_servers.docs.url, "http://localhost:1/mcp")
  same(problems, { "agent_servers.bad.command: expected string, got number" })
end)

case("malformed JSON is told with line and column, the rest goes on", function()
  local found, problems = settings.parse('{\n  "agent_servers": {\n    "a": nope\n  }\n}')
  same(found, { agents = {}, mcp_servers = {} })
  same(#problems, 1)
  check.contains(problems[1], "line 3, column 10: ")
  for _, text in ipairs({ "", "[", "{", '{"a"', "7", '"x"', "null" }) do
    assert(#select(2, settings.parse(text)) == 1, text)
  end
end)

local function with_settings(text)
  local nvim = check.start()
  vim.fn.mkdir(nvim.home .. "/config/nvim", "p")
  vim.fn.writefile(vim.split(text, "\n"), nvim.home .. "/config/nvim/rat.json")
  return nvim
end

case("agents of the settings file start, a broken file is told once", function()
  local nvim =
    with_settings('{"agent_servers": {"mine": {"command": "my-agent", "env": {"A": "b"}}}}')
  nvim:command("RatStart")
  local start = nvim:heard("start")
  same(
    { start.agent.name, start.agent.command, start.agent.env },
    { "mine", "my-agent", { { "A", "b" } } }
  )
  local broken = with_settings('{"agent_servers": {')
  broken:command("RatStart tour")
  broken:command("RatStart tour")
  same(broken:heard("start", 2).agent.args, { "tour" })
  broken:told("rat.json: line 2, column 1: ")
  same(broken:lua("return #Said"), 1)
end)

case("an agent gets Neovim's environment without Neovim's own variables", function()
  local nvim = check.start({ env = { VIM = "/x", MYVIMRC = "/y", KEPT = "z" } })
  nvim:lua([[require("rat").setup({
    agents = { claude = { env = { B = "2", A = "1" }, timeouts = { request = 5 } } },
    mcp_servers = { docs = { command = "sh", args = { "-c" } }, web = { url = "http://x", headers = { K = "v" } } },
    directories = { "~/other" },
  })]])
  nvim:command("RatStart claude")
  local start = nvim:heard("start")
  local env = {}
  for _, pair in ipairs(start.agent.base_env) do
    env[pair[1]] = pair[2]
  end
  same(env.KEPT, "z")
  for _, name in ipairs({ "NVIM", "VIM", "VIMRUNTIME", "MYVIMRC", "NVIM_LISTEN_ADDRESS" }) do
    same(env[name], nil, name)
  end
  same(start.agent.env, { { "A", "1" }, { "B", "2" } })
  same(
    start.agent.timeouts,
    { initialize = 60000, authenticate = 0, session = 120000, request = 5, cancel = 10000 }
  )
  same(
    start.agent.mcp_servers[1],
    { kind = "stdio", name = "docs", command = vim.fn.exepath("sh"), args = { "-c" }, env = {} }
  )
  same(
    start.agent.mcp_servers[2],
    { kind = "http", name = "web", url = "http://x", headers = { { "K", "v" } } }
  )
  same(start.directories, { nvim.home .. "/other" })
  same(start.cwd, vim.uv.fs_realpath(nvim.home))
end)

case("a preset is changed by what is configured, the rest of it stays", function()
  local nvim = check.start()
  nvim:lua([[require("rat").setup({ agents = {
    gemini = { args = {} },
    opencode = { args = { "acp", "--x" }, env = { A = "b" } },
  } })]])
  nvim:command("RatStart gemini")
  local gemini = nvim:heard("start").agent
  same({ gemini.command, gemini.args }, { "gemini", {} })
  nvim:command("RatStart opencode")
  local opencode = nvim:heard("start", 2).agent
  same(
    { opencode.command, opencode.args, opencode.env },
    { "opencode", { "acp", "--x" }, { { "A", "b" } } }
  )
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
  nvim:lua("require('rat.agents').installed = function() return {} end")
  nvim:command("RatStart")
  nvim:told("RatStart tour")
  nvim:told("npm install -g opencode-ai")
  nvim:lua("require('rat.agents').installed = function() return { 'codex' } end")
  nvim:command("RatStart")
  same(nvim:heard("start").agent.name, "codex")
  nvim:lua("require('rat').setup({ agents = { own = { command = 'x' } } })")
  nvim:command("RatStart")
  same(nvim:heard("start", 2).agent.name, "own")
  nvim:lua(
    "require('rat').setup({ agents = { own = { command = 'x' } }, default_agent = 'gemini' })"
  )
  nvim:command("RatStart!")
  local start = nvim:heard("start", 3)
  same({ start.agent.name, start.wish }, { "gemini", "new" })
  nvim:lua(
    "require('rat').setup({ agents = { own = { command = 'x' }, other = { command = 'y' } } })"
  )
  nvim:command("RatStart")
  nvim:poll_screen("Start which agent?")
  nvim:input("<CR>")
  same(nvim:heard("start", 4).agent.name, "codex")
end)

case("an unknown agent is told with the closest known one", function()
  local nvim = check.start()
  nvim:command("RatStart claud")
  nvim:told('there is no agent "claud", did you mean claude?; known')
end)

check.finish()
