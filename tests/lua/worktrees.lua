--- Git worktrees of sessions: which there are, and what of the user's folder holds in them.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function write(path, value)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local text = type(value) == "string" and value or vim.json.encode(value)
  vim.fn.writefile(vim.split(text, "\n"), path)
  return path
end

--- A worktree as the binary creates it. Gives the folder of the project and the one in the worktree.
local function created(nvim, name, changes)
  local folder = nvim:lua("return require('rat.config.worktrees').folder()")
  local project = nvim:lua("return vim.fn.getcwd()")
  local top = vim.fs.joinpath(folder, name)
  local cwd = top .. "/src"
  vim.fn.mkdir(cwd, "p")
  local record = { top = top, git_dir = "/git", project = project, cwd = cwd, agent = "claude" }
  write(top .. ".json", vim.tbl_extend("force", record, changes or {}))
  return project, cwd
end

--- Holds (Configuration): What holds in a trusted project holds in its worktrees, too: settings, rules and prompts.
case("a worktree has the settings, rules and prompts of its project", function()
  local nvim = check.start()
  nvim:lua("require('rat').setup({ agents = { claude = { command = 'c' } } })")
  local project, cwd = created(nvim, "project-1")
  nvim:trust(write(project .. "/.rat/settings.json", { options = { model = "large" } }))
  nvim:trust(write(project .. "/.rat/rules", "deny edit secret/**"))
  nvim:trust(write(project .. "/.rat/prompts/check.md", "Check it"))
  nvim:lua("require('rat').start({ agent = 'claude', cwd = ... })", cwd)
  local start = nvim:heard("start")
  same(start.cwd, cwd)
  same(start.options.options, { model = "large" })
  same(start.project_rules[1], "deny edit secret/**")
  same(start.worktree.project, project)
  local names = nvim:lua(
    [[return vim.tbl_map(function(file) return file.name end, require('rat.chat.prompt_files').list(...))]],
    cwd
  )
  same(vim.list_contains(names, "check"), true)
end)

case("what is beside worktrees and makes no sense is left out", function()
  local nvim = check.start()
  created(nvim, "project-2")
  created(nvim, "project-1")
  created(nvim, "other-1", { project = "/elsewhere" })
  created(nvim, "odd-1", { agent = 1 })
  created(nvim, "gone-1", { cwd = "/nowhere" })
  local folder = nvim:lua("return require('rat.config.worktrees').folder()")
  write(folder .. "/broken-1.json", "{")
  local listed = [[return vim.tbl_map(function(worktree) return worktree.name end,
    require('rat.config.worktrees').list(vim.fn.getcwd()))]]
  same(nvim:lua(listed), { "project-1", "project-2" })
  same(nvim:lua("return require('rat.config.worktrees').of(...)", folder .. "/broken-1"), vim.NIL)
  same(nvim:lua("return require('rat.config.worktrees').of(...)", folder), vim.NIL)
end)

case("an agent that knows folders by other paths gets no worktree", function()
  local nvim = check.start()
  nvim:lua(
    [[require('rat').setup({ agents = { claude = { command = 'c', paths = { ['/home/me'] = '/work' } } } })]]
  )
  nvim:command("RatStart! claude worktree")
  nvim:told("claude knows your folders by other paths, so it cannot see a worktree")
end)

case("the word completes after the agent", function()
  local nvim = check.start()
  same(nvim:lua([[return vim.fn.getcompletion('RatStart! claude w', 'cmdline')]]), { "worktree" })
  same(nvim:lua([[return vim.fn.getcompletion('RatWorktree ', 'cmdline')]]), { "merge", "remove" })
end)

check.finish()
