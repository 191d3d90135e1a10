--- `:RatInstall`: shows the command that installs an agent, and runs it in a terminal if the user wants that.
local agents = require("rat.config.agents")
local notify = require("rat.util.notify")
local presets = require("rat.config.presets")
local program = require("rat.ask.program")
local splits = require("rat.view.splits")
-- `rat.ask.chooser` is loaded on first use.

local api = vim.api
local M = {}

local HEIGHT = 15

---@param name string
---@param status integer
local function report(name, status)
  local preset = presets[name]
  if status ~= 0 then
    return notify.error(("The installation of %s failed with exit status %d"):format(name, status))
  elseif vim.fn.executable(preset.command) == 0 then
    local text = "%s was installed, but %s is not on PATH of this Neovim"
    return notify.warn(text:format(preset.title, preset.command))
  end
  notify.info(("%s is installed. :RatStart %s starts it."):format(preset.title, name))
end

---@param name string
---@param command string
local function run(name, command)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  local win = splits.open(buf, { split = "below", win = -1 })
  api.nvim_win_set_height(win, math.min(HEIGHT, math.floor(vim.o.lines / 2)))
  splits.enter(win)
  local ok, job = program.run({ vim.o.shell, vim.o.shellcmdflag, command }, {
    on_exit = function(_, status)
      report(name, status)
    end,
  })
  if not ok or job <= 0 then
    notify.error(("Could not run `%s`: %s did not start"):format(command, vim.o.shell))
  end
  vim.cmd("normal! G")
end

--- Asks before the command of an agent is run.
---@param name string
local function ask(name)
  local preset = presets[name]
  local hint = preset.install_hint
  local installer = hint:match("^%S+") or hint
  if installer == "see" then
    return notify.info(("How to install %s: %s"):format(preset.title, hint))
  elseif vim.fn.executable(installer) == 0 then
    local text = "`%s` installs %s, but %s is not on PATH of this Neovim"
    return notify.error(text:format(hint, preset.title, installer))
  end
  local opts = { prompt = ("Install %s?"):format(preset.title), kind = "rat_question" }
  local run_it = ("Run `%s` in a terminal"):format(hint)
  require("rat.ask.chooser").open({ run_it, "Do nothing" }, opts, function(_, index)
    if index == 1 then
      run(name, hint)
    end
  end)
end

--- Installs an agent after a question; without a name the user chooses one.
---@param name string
function M.install(name)
  if name ~= "" then
    if presets[name] then
      return ask(name)
    end
    local known = vim.tbl_contains(agents.names(), name)
    local text = known and "%s is not an agent that rat.nvim knows how to install"
      or "No agent is named %s"
    return notify.error((text .. ". :RatInstall without a name lists them."):format(name))
  end
  local installed, names = agents.installed(), vim.tbl_keys(presets)
  table.sort(names)
  local function describe(item)
    local done = vim.list_contains(installed, item) and " (installed)" or ""
    return ("%s%s"):format(presets[item].title, done)
  end
  local opts = { prompt = "Install which agent?", format_item = describe }
  require("rat.ask.chooser").open(names, opts, function(chosen)
    if chosen then
      ask(chosen)
    end
  end)
end

return M
