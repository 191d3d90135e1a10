--- A login in a terminal: runs the agent's own program where the user can answer it. Knows nothing of what it does.
local say = require("rat.say")

local M = {}

local HEIGHT = 15

---@param chat integer
---@param status integer?
local function ended(chat, status)
  require("rat.rpc").notify("login_ended", { chat = chat, status = status })
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

--- Opens the terminal below; it goes when the login has worked, and stays to be read when it has not.
---@param login {chat: integer, title: string, command: string[], env: table<string, string>, cwd: string}
function M.open(login)
  local back = vim.api.nvim_get_current_win()
  vim.cmd(("botright %dnew"):format(math.min(HEIGHT, math.floor(vim.o.lines / 2))))
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  vim.bo[buf].bufhidden = "wipe"
  local env = vim.tbl_extend("force", login.env, { TERM = "xterm-256color" })
  -- A terminal's program is told where this Neovim listens; the agent's is not to know.
  local command = vim.list_extend({ "env", "-u", "NVIM" }, login.command)
  local ok, job = run(command, {
    cwd = login.cwd,
    env = env,
    clear_env = true,
    on_exit = function(_, status)
      ended(login.chat, status)
      if status == 0 and vim.api.nvim_win_is_valid(win) then
        local current = vim.api.nvim_get_current_win() == win
        vim.api.nvim_win_close(win, true)
        if current and vim.api.nvim_win_is_valid(back) then
          vim.api.nvim_set_current_win(back)
        end
      end
    end,
  })
  if not ok or job <= 0 then
    vim.api.nvim_win_close(win, true)
    say.error(("%s cannot be started (%s)"):format(login.command[1], job))
    return ended(login.chat)
  end
  require("rat.dress").set(win, { winbar = require("rat.status").escape(login.title) })
  vim.cmd.startinsert()
end

return M
