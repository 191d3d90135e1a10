--- A login in a terminal: runs the agent's own program where the user can answer it, once nothing is typed. Knows
--- nothing of what it does.
local chat = require("rat.chat")
local idle = require("rat.idle")
local say = require("rat.say")

local M = {}

local HEIGHT = 15

---@class rat.Login
---@field chat integer
---@field title string
---@field command string[]
---@field env table<string, string>
---@field cwd string
---@field by_user boolean the user has just asked for it

--- Those whose terminal is still to be opened, by chat.
---@type table<integer, {login: rat.Login, wait: rat.Wait}>
local waiting = {}

---@param id integer of the chat
---@param status integer?
local function ended(id, status)
  require("rat.rpc").notify("login_ended", { chat = id, status = status })
end

--- Neovim's environment is not the agent's: it gets exactly what it is started with otherwise.
---@param command string[]
---@param opts table
---@return boolean ok
---@return integer|string job
local function run(command, opts)
  if vim.fn.has("nvim-0.11") == 1 then
    opts.term = true
    return pcall(vim.fn.jobstart, command, opts)
  end
  return pcall(vim.fn.termopen, command, opts)
end

--- Closes the terminal's window. The last one stays, with an empty buffer in it.
---@param win integer
---@param back integer where the user came from
local function shut(win, back)
  if not vim.api.nvim_win_is_valid(win) then
    return
  end
  local current = vim.api.nvim_get_current_win() == win
  if #require("rat.room").tiled(vim.api.nvim_win_get_tabpage(win)) == 1 then
    vim.wo[win].winbar = ""
    return vim.api.nvim_win_set_buf(win, vim.api.nvim_create_buf(true, false))
  end
  vim.api.nvim_win_close(win, true)
  if current and vim.api.nvim_win_is_valid(back) then
    vim.api.nvim_set_current_win(back)
  end
end

--- The program has ended. No other window can be closed in the command-line window.
---@param win integer
---@param back integer
local function shut_when_possible(win, back)
  if vim.fn.getcmdwintype() == "" then
    return shut(win, back)
  end
  vim.api.nvim_create_autocmd("CmdwinLeave", {
    once = true,
    desc = "rat: a login that worked leaves no terminal",
    callback = vim.schedule_wrap(function()
      shut(win, back)
    end),
  })
end

--- Runs the program in the current window.
---@param login rat.Login
---@param back integer
local function start(login, back)
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  vim.bo[buf].bufhidden = "wipe"
  local hint = login.by_user and "" or "%=%#RatKey#i%* to type "
  require("rat.dress").set(win, { winbar = require("rat.status").escape(login.title) .. hint })
  local env = vim.tbl_extend("force", login.env, { TERM = "xterm-256color" })
  -- A terminal's program is told where this Neovim listens; the agent's is not to know.
  local command = vim.list_extend({ "env", "-u", "NVIM" }, login.command)
  local ok, job = run(command, {
    cwd = login.cwd,
    env = env,
    clear_env = true,
    on_exit = function(_, status)
      ended(login.chat, status)
      if status == 0 then
        shut_when_possible(win, back)
      end
    end,
  })
  if not ok or job <= 0 then
    error(("%s cannot be started (%s)"):format(login.command[1], job), 0)
  end
  -- What is being typed where a terminal opens by itself is not meant for its program.
  if login.by_user then
    vim.cmd.startinsert()
  end
end

--- Opens the terminal below; it goes when the login has worked, and stays to be read when it has not.
---@param login rat.Login
local function show(login)
  local back = vim.api.nvim_get_current_win()
  local ok, problem = pcall(function()
    vim.cmd(("botright %dnew"):format(math.min(HEIGHT, math.floor(vim.o.lines / 2))))
    start(login, back)
  end)
  if ok then
    return
  end
  local win = vim.api.nvim_get_current_win()
  if win ~= back then
    pcall(vim.api.nvim_win_close, win, true)
  end
  say.error("no terminal for the login: " .. require("rat.text").one_line(tostring(problem)))
  ended(login.chat)
end

---@param id integer of the chat
---@return rat.Login? login that waited
local function forget(id)
  local one = waiting[id]
  waiting[id] = nil
  if one then
    idle.forget(one.wait)
    return one.login
  end
end

--- Whether the user is where it may open by itself.
---@param login rat.Login
---@return boolean
local function ready(login)
  local of = chat.get(login.chat)
  return login.by_user or of ~= nil and require("rat.attention").is_free(of)
end

--- An agent wants a login in a terminal. It takes the focus and every key, so it waits until none is typed, and unless
--- the user has asked for it, until they are in the chat.
---@param login rat.Login
function M.wanted(login)
  forget(login.chat)
  if login.by_user and idle.now() then
    return show(login)
  end
  local wait = idle.when(function()
    return ready(login)
  end, function()
    waiting[login.chat] = nil
    show(login)
  end)
  waiting[login.chat] = { login = login, wait = wait }
  if not login.by_user and not (idle.now() and ready(login)) then
    say.info(("`:RatLogin` opens a terminal: %s"):format(login.title))
  end
end

--- Opens what waits in a chat, because the user says so.
---@param id integer
---@return boolean opened nothing waited if not
function M.open(id)
  local login = forget(id)
  if login then
    login.by_user = true
    show(login)
  end
  return login ~= nil
end

--- Compares what waits with how the chats stand: a login that nobody needs any more never opens.
function M.update()
  for id in pairs(waiting) do
    local of = chat.get(id)
    local state = of and of.status.state
    if state ~= "starting" and state ~= "waiting" then
      forget(id)
    end
  end
end

return M
