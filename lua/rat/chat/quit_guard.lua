--- Stops `:qa` and similar commands once while a turn is running, since they would end it, and for other reasons that files
--- above give. `:qa!`, a second `:qa`, and `:qa` without a reason are not stopped.
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local scratch = require("rat.view.scratch")
local splits = require("rat.view.splits")

local api = vim.api

local M = {}

--- Chats about whose turn the user was warned.
---@type table<rat.Chat, true>
local warned = {}

---@param chat rat.Chat
---@return boolean
local function is_running(chat)
  return chat.id ~= nil
    and vim.list_contains({ "running", "waiting", "cancelling" }, chat.status.state)
end

--- Handles a new status of a chat: once its turn has ended, the next one is warned about again.
---@param chat rat.Chat
function M.updated(chat)
  if not is_running(chat) then
    warned[chat] = nil
  end
end

---@return rat.Chat[] chats with a running turn that the user was not warned about
local function unwarned()
  return vim.tbl_filter(function(chat)
    return is_running(chat) and not warned[chat]
  end, registry.list())
end

--- Why Neovim should not quit yet.
---@class rat.QuitReason
---@field warning string
---@field what string what is not finished, for the name of a buffer in Neovim's own message
---@field mark fun() notes that the user was warned

---@type (fun(): rat.QuitReason?)[]
local others = {}

--- Adds a function that returns a reason, or nil if there is none that the user was not warned about.
---@param find fun(): rat.QuitReason?
function M.add(find)
  others[#others + 1] = find
end

---@return rat.QuitReason?
local function reason()
  local chats = unwarned()
  if #chats == 0 then
    return vim
      .iter(others)
      :map(function(find)
        return find()
      end)
      :next()
  end
  local text = "%s is still working. :qa again quits and ends its turn."
  return {
    warning = text:format(chats[1].title),
    what = "running turn",
    mark = function()
      for _, chat in ipairs(chats) do
        warned[chat] = true
      end
    end,
  }
end

--- Commands that quit Neovim, some of them only in the last window.
local QUIT_COMMANDS = { "quit", "quitall", "qall", "wq", "wqall", "xit", "exit", "xall" }

--- The command line that the user has typed, until it was executed.
---@type string?
local typed_command

--- Whether the command that is quitting Neovim was typed by the user, without a "!".
local is_typed_quit = false

--- Whether a command line quits, without a "!" on any command that does.
---@param line string
---@return boolean
local function quits(line)
  local found = false
  while line ~= "" do
    local ok, command = pcall(api.nvim_parse_cmd, line, {})
    if not ok then
      return false
    elseif vim.list_contains(QUIT_COMMANDS, command.cmd) then
      if command.bang then
        return false
      end
      found = true
    end
    line = command.nextcmd or ""
  end
  return found
end

--- Runs a function with all autocommands disabled.
---@param action fun()
---@return boolean ok
local function without_autocommands(action)
  local ignored = vim.o.eventignore
  vim.o.eventignore = "all"
  local ok = pcall(action)
  vim.o.eventignore = ignored
  return ok
end

--- Stops a quit command. Neovim silently gives up quitting if after |ExitPre| the window of the command is not in the
--- current tab page, so another tab page is opened until the command is over.
---@param why rat.QuitReason
---@return boolean stopped
local function stop_by_tab_page(why)
  local win, tab = api.nvim_get_current_win(), api.nvim_get_current_tabpage()
  without_autocommands(function()
    vim.cmd("tab split")
  end)
  local other = api.nvim_get_current_tabpage()
  if other == tab then
    return false
  end
  why.mark()
  vim.schedule(function()
    without_autocommands(function()
      if api.nvim_win_is_valid(win) then
        api.nvim_set_current_win(win)
      end
      vim.cmd.tabclose(api.nvim_tabpage_get_number(other))
    end)
    notify.warn(why.warning)
  end)
  return true
end

--- Creates a buffer with unsaved changes that cannot be saved. Neovim does not quit without "!" while there is one, and
--- names it in its error message.
---@param what string
---@return integer buf
local function create_guard(what)
  local guard = api.nvim_create_buf(false, true)
  vim.bo[guard].swapfile = false
  scratch.name(guard, "rat://" .. what)
  vim.bo[guard].buftype = "acwrite"
  vim.bo[guard].readonly = true
  vim.bo[guard].modified = true
  vim.bo[guard].modifiable = false -- so that nobody types into it
  api.nvim_create_autocmd("BufWriteCmd", {
    buffer = guard,
    desc = "rat: let :wqa! quit",
    callback = function()
      vim.bo[guard].modified = false
    end,
  })
  return guard
end

--- Whether the guard has stopped Neovim from quitting: Neovim then shows the modified buffer, or for `:wqa` reports E45.
---@param guard integer
---@return boolean
local function was_stopped(guard)
  return #vim.fn.win_findbuf(guard) > 0 or vim.v.errmsg:match("E45:") ~= nil
end

--- Removes the guard, and warns the user if it has stopped Neovim from quitting. At a hit-enter prompt this runs with the
--- next command.
---@type fun()?
local finish_guard

--- Stops a quit command with a guard buffer. It is used where the command is not known, such as in a mapping or a plugin:
--- it may have a "!", and Neovim then ignores the buffer.
---@param why rat.QuitReason
local function stop_by_guard(why)
  local win, buf = api.nvim_get_current_win(), api.nvim_get_current_buf()
  local view, guard = vim.fn.winsaveview(), create_guard(why.what)
  vim.v.errmsg = ""
  local function finish_this()
    finish_guard = nil
    local stopped = was_stopped(guard)
    if stopped and api.nvim_win_is_valid(win) and api.nvim_buf_is_valid(buf) then
      splits.enter(win)
      splits.show(win, buf)
      vim.fn.winrestview(view)
    end
    pcall(api.nvim_buf_delete, guard, { force = true })
    if stopped then
      why.mark()
      notify.warn(why.warning)
    end
  end
  finish_guard = finish_this
  vim.schedule(function()
    if finish_guard == finish_this then
      finish_this()
    end
  end)
end

--- Handles QuitPre: a window is about to be closed, or all of them.
local function on_quit_pre()
  if finish_guard then
    finish_guard()
  end
  is_typed_quit, typed_command = typed_command ~= nil and quits(typed_command), nil
end

--- Handles ExitPre: Neovim is about to quit.
local function on_exit_pre()
  local why = reason()
  if why and not (is_typed_quit and stop_by_tab_page(why)) then
    stop_by_guard(why)
  end
end

--- Sets the autocommands. A second call sets them again.
function M.watch()
  local group = api.nvim_create_augroup("rat_quit_guard", {})
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    desc = "rat: note the command that was typed",
    callback = function()
      if finish_guard then
        finish_guard()
      end
      local line = not vim.v.event.abort and vim.fn.getcmdline() or nil
      typed_command = line
      vim.schedule(function()
        if typed_command == line then
          typed_command = nil
        end
      end)
    end,
  })
  api.nvim_create_autocmd({ "QuitPre", "VimLeavePre" }, {
    group = group,
    desc = "rat: note how Neovim is left",
    callback = on_quit_pre,
  })
  api.nvim_create_autocmd("ExitPre", {
    group = group,
    desc = "rat: warn before leaving during a turn",
    callback = on_exit_pre,
  })
end

return M
