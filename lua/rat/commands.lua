--- Implements the `:Rat` commands that `plugin/rat.lua` defines, one function per command under the command's name. It
--- holds no state.
require("rat.chat") -- connects the modules of a chat
local adding = require("rat.chat.adding")
local attachment_list = require("rat.chat.attachment_list")
local current_chat = require("rat.chat.current")
local form = require("rat.ask.form")
local history = require("rat.chat.history")
local launch = require("rat.chat.launch")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local permission = require("rat.ask.permission")
local prompt = require("rat.chat.prompt")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local window = require("rat.view.window")
-- Modules that only one command needs are loaded by that command.

local M = {}

local NO_CHAT = "No chat is open. :RatStart starts one."

local NO_AGENT = "No agent is running. :RatStart starts one."
local NO_AGENT_FOR_TURNS =
  "Start an agent in this folder first (:RatStart): turns are undone from its chat."
local NO_AGENT_FOR_REVIEW =
  "Start an agent in this folder first (:RatStart): changes are reviewed from its chat."

---@param words string[] at least two
---@return string
local function one_of(words)
  local last = #words
  return ("%s or %s"):format(table.concat(words, ", ", 1, last - 1), words[last])
end

--- Sends the binary a notification about the current chat, or tells the user that there is none.
---@param name keyof rat.notify.Payloads
---@param payload? table
---@param without? string told if there is no chat
local function send(name, payload, without)
  local chat = current_chat.get()
  if chat and chat.id then
    local notify_binary = rpc.notify --[[@as fun(name: any, payload: table)]]
    notify_binary(name, vim.tbl_extend("force", { chat = chat.id }, payload or {}))
  else
    notify.warn(without or NO_AGENT)
  end
end

---@param args vim.api.keyset.create_user_command.command_args
---@return rat.Attachment?
local function range_attachment(args)
  if args.range > 0 then
    local buf = vim.api.nvim_get_current_buf()
    return require("rat.context.attachment").lines(buf, args.line1, args.line2)
  end
end

--- Shows the current chat and enters its prompt. If its agent is not running, it is started first, and without a chat the
--- default agent.
local function open_prompt()
  local chat = current_chat.for_prompt()
  if chat and chat.id then
    window.open(chat)
    window.enter_prompt()
  elseif not launch.is_starting() then
    local again = chat and { agent = chat.agent, cwd = chat.cwd } or {}
    launch.start(vim.tbl_extend("force", again, { focus = true }))
  end
end

local function leave_visual_mode()
  vim.api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
end

function M.RatStart(args)
  local words = vim.split(args.args, "%s+", { trimempty = true })
  local worktree = require("rat.chat.worktree")
  if words[#words] == worktree.word and #words <= 2 then
    return worktree.start(words[#words - 1])
  end
  local name = args.args ~= "" and args.args or nil
  launch.start({ agent = name, new = args.bang, focus = true })
end

--- What |:RatWorktree| takes.
M.worktree_acts = { "merge", "remove" }

function M.RatWorktree(args)
  local worktree = require("rat.chat.worktree")
  local chat = worktree.chat()
  if args.args == "" then
    worktree.choose()
  elseif args.args == "merge" then
    send("merge", { chat = chat and chat.id, all = args.bang })
  elseif args.args == "remove" then
    send("remove_worktree", { chat = chat and chat.id })
  else
    local words = one_of(M.worktree_acts)
    notify.error((':RatWorktree takes %s, not "%s"'):format(words, args.args))
  end
end

function M.RatSend(args)
  local attachment = range_attachment(args)
  if args.args == "" then
    if attachment then
      attachment_list.add(attachment)
    end
    return open_prompt()
  end
  local chat = current_chat.for_prompt()
  local attachments = vim.list_slice(attachment_list.all(chat))
  attachments[#attachments + 1] = attachment
  -- If no agent can be started, the attachments stay for the next prompt, and the text is in its history.
  history.push(chat and chat.cwd or vim.fn.getcwd(), args.args)
  local now = args.bang or nil
  local message = { text = args.args, attachments = attachments, chat = chat, now = now }
  prompt.confirm(chat, function()
    prompt.send(message, function()
      attachment_list.take_all(chat)
    end)
  end)
end

function M.RatFollow()
  require("rat.chat.follow").toggle()
end

function M.RatQueue()
  local chat = current_chat.get()
  if not chat then
    return notify.warn(NO_CHAT)
  end
  require("rat.view.queue_page").open(chat)
end

function M.RatAdd(args)
  adding.command(args)
end

--- Opens the prompt with exactly the Visual selection attached.
function M.send_selection()
  attachment_list.add(require("rat.context.region").selection())
  leave_visual_mode()
  open_prompt()
end

--- Attaches exactly the Visual selection to the next prompt and leaves the user where they are.
function M.add_selection()
  local attachment = require("rat.context.region").selection()
  leave_visual_mode()
  adding.attach({ attachment })
end

--- Begins an operator that attaches what a motion covers.
---@return string keys
function M.add_operator()
  vim.go.operatorfunc = "v:lua.require'rat.chat.adding'.operatorfunc"
  return "g@"
end

--- Attaches the image in the clipboard.
function M.add_image()
  adding.image()
end

function M.RatEdit(args)
  require("rat.in_place").command(args)
end

--- Lets the user say how an agent is to change the lines of the Visual selection.
function M.edit_selection()
  local first, last = vim.fn.line("v"), vim.fn.line(".")
  leave_visual_mode()
  require("rat.in_place").start({ first = math.min(first, last), last = math.max(first, last) })
end

--- Begins an operator that lets the user say how an agent is to change the lines of a motion.
---@return string keys
function M.edit_operator()
  vim.go.operatorfunc = "v:lua.require'rat.in_place'.operatorfunc"
  return "g@"
end

function M.RatCancel()
  if not require("rat.in_place").cancel_at_cursor() then
    send("cancel")
  end
end

function M.RatStop(args)
  local chat = args.bang and current_chat.get()
  if chat then
    require("rat.chat").close(chat)
  else
    send("stop")
  end
end

function M.RatRestart(args)
  local chat = current_chat.get()
  if chat then
    launch.restart(chat, args.bang)
  else
    notify.warn(NO_AGENT)
  end
end

function M.RatRules()
  send("rules")
end

function M.RatFork()
  send("fork")
end

function M.RatSessions(args)
  local act = args.args ~= "" and args.args or "open"
  local sessions = require("rat.chat.sessions")
  if not vim.list_contains(sessions.acts, act) then
    return notify.error((':RatSessions takes %s, not "%s"'):format(one_of(sessions.acts), act))
  end
  sessions.list(act)
end

function M.RatSearch(args)
  require("rat.chats.search").run(args.args)
end

function M.RatMode(args)
  require("rat.chat.options").set("mode", args.args)
end

function M.RatOption(args)
  local option, value = args.args:match("^(%S+)%s*(.*)$")
  require("rat.chat.options").set(option, value)
end

function M.RatLogin(args)
  local chat = current_chat.get()
  if args.args == "" and chat and chat.id and require("rat.ask.login").open(chat.id) then
    return
  end
  send("login", { method = args.args ~= "" and args.args or nil })
end

function M.RatLogout()
  send("logout")
end

function M.RatToggle()
  local here = require("rat.in_place").chat_at_cursor()
  local chat, visible = here or current_chat.get(), window.visible()
  if visible and (not here or visible == here) then
    window.hide()
  elseif chat then
    launch.show(chat)
  else
    launch.start({ focus = true })
  end
end

function M.RatChats()
  require("rat.chats.page").open()
end

--- Shows the next or the previous chat in place of the current one.
---@param step 1|-1
function M.switch_chat(step)
  local chat = current_chat.get()
  if not chat then
    return notify.warn(NO_CHAT)
  end
  local other = registry.neighbour(chat, step)
  if other == chat then
    notify.info("No other chat is open")
  end
  window.open(other)
end

---@param view "plan"|"tools"
local function toggle_view(view)
  local chat = current_chat.get()
  if chat then
    window.toggle_view(chat, view)
  else
    notify.warn(NO_CHAT)
  end
end

function M.RatPlan()
  toggle_view("plan")
end

function M.RatTools()
  toggle_view("tools")
end

function M.RatPermission()
  permission.open()
end

function M.RatForm()
  form.open()
end

function M.RatAllow()
  permission.answer(true)
end

function M.RatDeny(args)
  permission.answer(false, args.args ~= "" and args.args or nil)
end

function M.RatConflicts(args)
  local conflict_view = require("rat.diff.conflict_view")
  if args.bang then
    conflict_view.list()
  else
    conflict_view.open()
  end
end

--- What |:RatAccept| and |:RatReject| take.
M.review_scopes = { "hunk", "file", "turn", "all" }

---@param args vim.api.keyset.create_user_command.command_args
---@param keep boolean
local function review(args, keep)
  local scope = args.args ~= "" and args.args or nil
  if scope and not vim.list_contains(M.review_scopes, scope) then
    return notify.error(
      (':%s takes %s, not "%s"'):format(args.name, one_of(M.review_scopes), scope)
    )
  end
  local chat = current_chat.get()
  if not chat or not chat.id then
    return notify.warn(NO_AGENT_FOR_REVIEW)
  end
  ---@type rat.notify.Review
  local payload = { chat = chat.id, keep = keep, scope = scope == "turn" and "turn" or "all" }
  if scope ~= "turn" and scope ~= "all" then
    local buf = vim.api.nvim_get_current_buf()
    local compared = require("rat.review.compare").path_of(buf, scope == "file")
    if not compared and not require("rat.document.paths").is_document(buf) then
      return notify.warn(("This buffer is not a file. Try :%s turn."):format(args.name))
    end
    payload.path = compared or vim.api.nvim_buf_get_name(buf)
    if scope ~= "file" and not compared then
      payload.first, payload.last = args.line1, args.line2
      -- Lines may have other numbers by the time they are looked at.
      payload.hunks = require("rat.review.pending").ids(buf, args.line1 - 1, args.line2 - 1)
    end
  end
  payload.decision = require("rat.review.decisions").next_number()
  rpc.notify("review", payload)
end

--- What |:RatReview| takes.
M.list_scopes = { "turn", "tool", "session", "all" }

function M.RatReview(args)
  local scope = args.args ~= "" and args.args or "all"
  if not vim.list_contains(M.list_scopes, scope) then
    return notify.error((':RatReview takes %s, not "%s"'):format(one_of(M.list_scopes), scope))
  end
  send("list_changes", { scope = scope }, NO_AGENT_FOR_REVIEW)
end

function M.RatUndo(args)
  local here = require("rat.in_place").chat_at_cursor()
  local payload = { chat = here and here.id, force = args ~= nil and args.bang }
  send("undo", payload, NO_AGENT_FOR_TURNS)
end

function M.RatRedo()
  send("undo", { redo = true }, NO_AGENT_FOR_TURNS)
end

function M.RatTurns()
  send("turns", {}, NO_AGENT_FOR_TURNS)
end

function M.RatAccept(args)
  review(args, true)
end

function M.RatReject(args)
  review(args, false)
end

---@param step 1|-1
function M.go_to_hunk(step)
  if not require("rat.review.pending").go(step) then
    notify.info("No pending changes in this file")
  end
end

--- Shows in a floating window what the pending hunk under the cursor has removed and added, and which tool call did it.
function M.show_hunk()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local chat = current_chat.get()
  local path = vim.api.nvim_buf_get_name(0)
  require("rat.review.calls").changes(chat and chat.id, { path = path }, function(changes)
    local hunk = vim.iter(changes):find(function(change)
      local last = change.lnum + #change.added - 1
      -- The sign of a hunk that has only removed lines is on the line before them.
      local first = #change.added == 0 and math.max(change.lnum - 1, 1) or change.lnum
      return first <= line and line <= math.max(last, first)
    end)
    if not hunk then
      return notify.info("No pending changes at the cursor")
    end
    local lines = {}
    for _, text in ipairs(hunk.removed) do
      lines[#lines + 1] = "-" .. text
    end
    for _, text in ipairs(hunk.added) do
      lines[#lines + 1] = "+" .. text
    end
    local title = hunk.title ~= "" and hunk.title or "Change"
    require("rat.view.scratch").hint(lines, title, "diff")
  end)
end

--- Selects the pending hunk under the cursor, for a mapping in Visual or Operator-pending mode.
function M.select_hunk()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local hunk = require("rat.review.pending").at(0, row)
  if hunk then
    leave_visual_mode()
    vim.cmd(("normal! %dGV%dG"):format(hunk.first + 1, hunk.last + 1))
  end
end

function M.RatInfo()
  send("show")
end

function M.RatLog(args)
  local path = rpc.log_file()
  if args.args ~= "" then
    path = vim.fs.joinpath(rpc.agent_logs(), args.args .. ".log")
    if not vim.uv.fs_stat(path) then
      return notify.warn(("There is no log of %s"):format(args.args))
    end
  end
  if ((vim.uv.fs_stat(path) or {}).size or 0) == 0 then
    local whose = args.args == "" and "The log" or ("The log of " .. args.args)
    return notify.info(whose .. " is empty")
  end
  -- The log contains text from agents, which must not be read as a modeline.
  local place = {
    path = path,
    line = math.huge --[[@as integer]],
    modelines = false,
    split = true,
  }
  local back = vim.api.nvim_get_current_win()
  if location.open(place) then
    vim.bo.modeline = false
    vim.bo.readonly = true
    vim.bo.autoread = true
    local buf = vim.api.nvim_get_current_buf()
    require("rat.view.page").open(buf, "Log", { focus = true, wrap = true, back = back })
  end
end

function M.RatInstall(args)
  require("rat.ask.install").install(args.args)
end

function M.RatExport(args)
  local name = args.args
  if name == "" then
    name = ("chat-%s.md"):format(os.date("%Y-%m-%d-%H%M%S"))
  end
  local path = vim.fn.fnamemodify(vim.fs.normalize(name), ":p")
  send("export_chat", { path = path, replace = args.bang }, NO_CHAT)
end

function M.RatTrace(args)
  local file = args.args:match("^save%s+(.+)$")
  if file then
    local path = vim.fn.fnamemodify(vim.fs.normalize(file), ":p")
    return send("save_trace", { path = path, replace = args.bang })
  elseif args.args == "save" then
    return notify.error(":RatTrace save takes a file")
  end
  send("trace", { act = "open", filter = args.args })
end

return M
