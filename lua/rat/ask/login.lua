--- Runs a login of an agent in a terminal window, once the user is idle. It does not know what the program does.
local auto_open = require("rat.ask.auto_open")
local idle = require("rat.util.idle")
local notify = require("rat.util.notify")
local program = require("rat.ask.program")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local splits = require("rat.view.splits")
local text_of = require("rat.util.text")
local window_options = require("rat.view.window_options")

local M = {}

local HEIGHT = 15

---@alias rat.Login rat.msg.Login

--- Logins whose terminal has not been opened yet, by the number of the chat.
---@type table<integer, {login: rat.Login, wait: rat.Wait}>
local waiting = {}

---@param id integer of the chat
---@param status integer?
local function report_end(id, status)
  rpc.notify("login_ended", { chat = id, status = status })
end

--- Closes the terminal's window. If it is the last one of its tab page, it gets an empty buffer instead.
---@param win integer
---@param back integer window the user came from
local function close_window(win, back)
  if not vim.api.nvim_win_is_valid(win) then
    return
  end
  local current = vim.api.nvim_get_current_win() == win
  if #splits.tiled(vim.api.nvim_win_get_tabpage(win)) == 1 then
    vim.wo[win].winbar = ""
    return vim.api.nvim_win_set_buf(win, vim.api.nvim_create_buf(true, false))
  end
  vim.api.nvim_win_close(win, true)
  if current and vim.api.nvim_win_is_valid(back) then
    vim.api.nvim_set_current_win(back)
  end
end

--- Closes the terminal's window now, or after the command-line window has closed, where no other window can be closed.
---@param win integer
---@param back integer
local function close_when_possible(win, back)
  if vim.fn.getcmdwintype() == "" then
    return close_window(win, back)
  end
  vim.api.nvim_create_autocmd("CmdwinLeave", {
    once = true,
    desc = "rat: close the terminal after the login",
    callback = vim.schedule_wrap(function()
      close_window(win, back)
    end),
  })
end

--- Runs the program in the current window, with exactly the environment that the agent gets.
---@param login rat.Login
---@param back integer window the user came from
local function start(login, back)
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  vim.bo[buf].bufhidden = "wipe"
  local hint = login.by_user and "" or "%=%#RatKey#i%* to type "
  window_options.set(win, { winbar = text_of.statusline_escape(login.title) .. hint })
  local env = vim.tbl_extend("force", login.env, { TERM = "xterm-256color" })
  -- Neovim sets $NVIM for programs in terminals. Agents must not know where this Neovim listens.
  local command = vim.list_extend({ "env", "-u", "NVIM" }, login.command)
  local ok, job = program.run(command, {
    cwd = login.cwd,
    env = env,
    clear_env = true,
    on_exit = function(_, status)
      report_end(login.chat, status)
      if status == 0 then
        close_when_possible(win, back)
      end
    end,
  })
  if not ok or job <= 0 then
    error(("could not start %s (%s)"):format(login.command[1], job), 0)
  end
  -- If the terminal opened by itself, what the user is typing is not meant for its program.
  if login.by_user then
    vim.cmd.startinsert()
  end
end

--- Opens the terminal at the bottom of the screen. It closes after a successful login, and otherwise stays to be read.
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
  notify.error("Could not open the login terminal: " .. text_of.one_line(tostring(problem)))
  report_end(login.chat)
end

---@param id integer of the chat
---@return rat.Login? login that was waiting
local function forget(id)
  local entry = waiting[id]
  waiting[id] = nil
  if entry then
    idle.forget(entry.wait)
    return entry.login
  end
end

--- Whether a terminal may open where the user is now.
---@param login rat.Login
---@return boolean
local function may_open(login)
  local chat = registry.get(login.chat)
  return login.by_user or chat ~= nil and auto_open.may_open(chat)
end

--- Handles a login that an agent requires. The terminal takes the focus and every key, so it opens once the user is idle
--- and, unless they asked for it, in the chat.
---@param login rat.Login
function M.wanted(login)
  forget(login.chat)
  if login.by_user and idle.is_idle() then
    return show(login)
  end
  local wait = idle.when(function()
    return may_open(login)
  end, function()
    waiting[login.chat] = nil
    show(login)
  end)
  waiting[login.chat] = { login = login, wait = wait }
  if not login.by_user and not (idle.is_idle() and may_open(login)) then
    notify.info(("Login required (%s). :RatLogin opens a terminal."):format(login.title))
  end
end

--- Opens the login that waits in a chat, because the user asked for it.
---@param id integer number of the chat
---@return boolean opened false if none was waiting
function M.open(id)
  local login = forget(id)
  if login then
    login.by_user = true
    show(login)
  end
  return login ~= nil
end

--- Follows a change of a chat's status: drops logins that are no longer needed.
function M.update()
  for id in pairs(waiting) do
    local chat = registry.get(id)
    local state = chat and chat.status.state
    if state ~= "starting" and state ~= "waiting" then
      forget(id)
    end
  end
end

return M
