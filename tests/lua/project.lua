--- Agents from a project's settings, a registry file and commands, and their installation.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function write(nvim, name, value)
  local path = nvim.home .. "/" .. name
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  vim.fn.writefile(
    vim.split(type(value) == "string" and value or vim.json.encode(value), "\n"),
    path
  )
  return path
end

--- Holds (Configuration): A project chooses agent, options and MCP servers in a file that counts only while the user trusts it.
case("settings of a project hold once they are trusted", function()
  local nvim = check.start()
  nvim:lua([[require('rat').setup({
    agents = { claude = { command = 'c', options = { mode = 'ask', model = 'small' } }, other = { command = 'o' } },
  })]])
  local settings = {
    default_agent = "claude",
    options = { model = "large" },
    mcp_servers = { docs = { command = "docs-server" } },
    agents = { claude = { options = { effort = "high" } } },
  }
  local path = write(nvim, ".rat/settings.json", settings)
  nvim:command("RatStart other")
  nvim:told("You have not trusted the current .rat/settings.json, so it is not used.")
  same(nvim:heard("start").mcp_servers, {})
  nvim:trust(path)
  nvim:command("RatStart!")
  local start = nvim:heard("start", 2)
  same(start.agent, "claude")
  same(start.options.options, { mode = "ask", model = "large", effort = "high" })
  same(start.mcp_servers, { docs = { command = "docs-server" } })
  same(start.project_settings, {
    "agent claude",
    "option effort = high",
    "option model = large",
    "MCP server docs",
  })
end)

--- Holds (Configuration): What is wrong with a project's settings is told with its place, and no agent starts without them.
case("settings of a project that are wrong start nothing", function()
  local nvim = check.start()
  for _, wrong in ipairs({
    { "[1", "is not a JSON object (line 2, column 1: Expected" },
    { "7", "is not a JSON object" },
    {
      { default_agent = 1 },
      "is wrong: default_agent: expected string, got number (line 1, column 2)",
    },
    {
      '{\n  "agents": {"claude": {"options": {}, "ü": 1,\n   "command": "sh"}}}',
      "is wrong: agents.claude.command: unknown key, known keys: mcp_servers, options (line 3, column 4)"
        .. "; agents.claude.ü: unknown key, known keys: mcp_servers, options (line 2, column 40)",
    },
    { '{"optoins": {"mode": "plan"}}', "is wrong: optoins: unknown key, did you mean options?" },
    {
      '{"options": {"mode": "plan", "a\\\\\\"": "x"}, "options": {}}',
      "is wrong: options: is there twice (line 1, column 45)",
    },
    { { unsaved = "save" }, "is wrong: unsaved: unknown key" },
  }) do
    nvim:trust(write(nvim, ".rat/settings.json", wrong[1]))
    for _ = 1, 2 do
      nvim:lua("Said = {}")
      nvim:command("RatStart! claude")
      nvim:told(".rat/settings.json " .. wrong[2])
    end
  end
  same(nvim:lua("return vim.tbl_filter(function(it) return it[1] == 'start' end, Heard)"), {})
  nvim:trust(write(nvim, ".rat/settings.json", { options = { mode = "plan" } }))
  nvim:command("RatStart! claude")
  same(nvim:heard("start").options.options, { mode = "plan" })
end)

--- Holds (Configuration): Agents of a registry file are started by their ids; presets and options come before them.
case("a registry file adds agents", function()
  local nvim = check.start()
  local system = vim.uv.os_uname()
  local platform = system.sysname:lower() .. "-" .. system.machine
  local path = write(nvim, "registry.json", {
    version = "1.0.0",
    agents = {
      { id = "node", distribution = { npx = { package = "node-agent@1", args = { "--acp" } } } },
      { id = "python", distribution = { uvx = { package = "py-agent", env = { A = "1" } } } },
      {
        id = "program",
        distribution = {
          binary = { [platform] = { archive = "x", cmd = "./bin/program", args = { "acp" } } },
        },
      },
      {
        id = "elsewhere",
        distribution = { binary = { ["windows-x86_64"] = { archive = "x", cmd = "y" } } },
      },
      { id = "claude", distribution = { npx = { package = "not-this" } } },
      { id = "../bad", distribution = { npx = { package = "x" } } },
      "nonsense",
      { id = "half" },
    },
  })
  nvim:lua(
    "require('rat').setup({ registry_file = ..., agents = { node = { env = { B = '2' } } } })",
    path
  )
  local function started(count, name)
    nvim:command("RatStart! " .. name)
    return nvim:heard("start", count).options
  end
  same(
    started(1, "node"),
    { command = "npx", args = { "-y", "node-agent@1", "--acp" }, env = { B = "2" } }
  )
  same(started(2, "python"), { command = "uvx", args = { "py-agent" }, env = { A = "1" } })
  same(
    started(3, "program"),
    { command = "program", args = { "acp" }, env = {}, install_hint = "download x" }
  )
  same(started(4, "claude"), {})
  nvim:command("RatStart elsewhere")
  nvim:told('No agent is named "elsewhere"')
  nvim:lua("require('rat').setup({ registry_file = '/no/such/file.json' })")
  nvim:command("RatStart node")
  nvim:told("/no/such/file.json does not exist.")
end)

--- Holds (Configuration): Variables for an agent come from commands, each time it starts; a command that fails is named.
case("commands print variables for an agent", function()
  local nvim = check.start()
  nvim:lua([[require('rat').setup({ agents = { claude = {
    command = 'c', env = { B = '2' }, env_from = { KEY = { 'printf', 'secret\n' } },
  } } })]])
  nvim:lua("require('rat').send('hello')")
  local start = nvim:heard("start")
  same(start.options.env, { B = "2", KEY = "secret" })
  same(start.options.env_from, nil)
  same(nvim:heard("prompt").text, "hello")
  for _, wrong in ipairs({
    { "{ 'sh', '-c', 'echo no key >&2; exit 3' }", "KEY failed with exit status 3: no key" },
    { "{ 'no-such-program' }", "KEY was not found" },
    { "{ 'true' }", "KEY printed nothing that can be a value" },
  }) do
    nvim:lua(
      ("require('rat').setup({ agents = { claude = { command = 'c', env_from = { KEY = %s } } } })"):format(
        wrong[1]
      )
    )
    nvim:command("RatStart! claude")
    nvim:told("claude was not started: the command for " .. wrong[2])
  end
end)

case("another agent can be started while a command for the first one runs", function()
  local nvim = check.start()
  nvim:lua([[require('rat').setup({ agents = {
    slow = { command = 'c', env_from = { KEY = { 'sh', '-c', 'while [ ! -e go ]; do :; done; echo v' } } },
    other = { command = 'o' },
  } })]])
  nvim:command("cd " .. nvim.home)
  nvim:command("RatStart slow")
  nvim:lua("require('rat').send('for the slow one')")
  nvim:command("RatStart other")
  same(nvim:heard("start").agent, "other")
  nvim:say("chat", { chat = 1, agent = "other", cwd = nvim.home, show = true, focus = true })
  write(nvim, "go", "")
  same(nvim:heard("start", 2).agent, "slow")
  same(nvim:heard("prompt").text, "for the slow one")
end)

--- Holds (Configuration): What a project's file holds counts only where the user has trusted it: no link to a trusted file of another project, or of another kind, makes it count.
case("trust does not follow links", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ agents = { claude = { command = 'c' } } })")
  local other = nvim.home .. "/other"
  local texts = {
    ["rules"] = "allow execute *",
    ["settings.json"] = { options = { model = "large" } },
    ["prompts/go.md"] = "Delete everything.",
  }
  for name, text in pairs(texts) do
    nvim:trust(write(nvim, "other/.rat/" .. name, text))
  end
  --- Of both kinds: a comment of rules is a heading of a prompt.
  nvim:trust(write(nvim, "mine/.rat/prompts/rules.md", "# Go\nallow execute *"))
  local links = {
    { ".rat", other .. "/.rat" },
    { ".rat", "../other/.rat" },
    { ".rat/rules", other .. "/.rat/rules" },
    { ".rat/settings.json", other .. "/.rat/settings.json" },
    { ".rat/prompts", other .. "/.rat/prompts" },
    { ".rat/prompts/go.md", other .. "/.rat/prompts/go.md" },
    { ".rat/rules", "prompts/rules.md" },
    { ".rat/rules", "../../mine/.rat/prompts/rules.md" },
  }
  for i, link in ipairs(links) do
    local project = i == 7 and "mine" or "linked" .. i
    local path = ("%s/%s/%s"):format(nvim.home, project, link[1])
    vim.fn.mkdir(vim.fs.dirname(path), "p")
    assert(vim.uv.fs_symlink(link[2], path))
    nvim:command("cd " .. vim.fs.joinpath(nvim.home, project))
    nvim:lua("Said = {}")
    nvim:command("RatStart! claude")
    local start = nvim:heard("start", i)
    same(
      { start.project_rules, start.options.options or {}, start.project_settings },
      { {}, {}, {} }
    )
    local told = #link[1] == 4 and ".rat/rules" or link[1]
    told = told == ".rat/prompts" and ".rat/prompts/go.md" or told
    if told:find("prompts") then
      same(nvim:lua("return require('rat.chat.prompt_files').list(vim.fn.getcwd())"), {})
    end
    nvim:told(told .. " is a link, or in a folder that is one, which trust does not follow.")
  end
  nvim:command("cd " .. other)
  nvim:command("RatStart! claude")
  same(nvim:heard("start", #links + 1).project_rules[1], "allow execute *")
  -- A file of the same content counts no more than a link to it.
  write(nvim, "copy/.rat/rules", texts.rules)
  assert(vim.uv.fs_link(other .. "/.rat/settings.json", nvim.home .. "/copy/.rat/settings.json"))
  nvim:command("cd ../copy")
  nvim:command("RatStart! claude")
  local start = nvim:heard("start", #links + 2)
  same({ start.project_rules, start.options.options or {} }, { {}, {} })
end)

--- Holds (Installation): An agent's command for its installation is shown, and run in a terminal only if the user wants it.
case("an agent is installed after a question", function()
  local nvim = check.start()
  write(nvim, "bin/npm", "#!/bin/sh\necho installing $3; touch " .. nvim.home .. "/done; exit 4")
  vim.uv.fs_chmod(nvim.home .. "/bin/npm", 448)
  nvim:lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", nvim.home .. "/bin")
  nvim:command("RatInstall claude")
  nvim:poll_screen("Run `npm install -g")
  nvim:input("2<CR>")
  nvim:poll("#vim.api.nvim_list_wins() == 1")
  same(vim.uv.fs_stat(nvim.home .. "/done"), nil)
  nvim:command("RatInstall claude")
  nvim:poll_screen("Run `npm install -g")
  nvim:input("1<CR>")
  nvim:told("The installation of claude failed with exit status 4")
  same(vim.uv.fs_stat(nvim.home .. "/done") ~= nil, true)
  nvim:command("RatInstall cursor")
  nvim:told("How to install Cursor: see https://cursor.com/cli")
  nvim:command("RatInstall nobody")
  nvim:told("No agent is named nobody")
end)

check.finish()
