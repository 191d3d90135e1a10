--- What each `:Rat` command does, under its own name; `plugin/rat.lua` defines them. Keeps nothing.
local chat = require("rat.chat")
local rpc = require("rat.rpc")
local say = require("rat.say")

local M = {}

--- Tells the binary something about the current chat.
---@param name string
---@param payload? table
local function tell(name, payload)
  local of = chat.current()
  if of and of.id then
    rpc.notify(name, vim.tbl_extend("force", { chat = of.id }, payload or {}))
  else
    say.warn("no agent is running: `:RatStart` starts one")
  end
end

---@param args vim.api.keyset.create_user_command.command_args
---@return rat.Attachment?
local function range_of(args)
  if args.range > 0 then
    local buf = vim.api.nvim_get_current_buf()
    return require("rat.context").lines(buf, args.line1, args.line2)
  end
end

--- Shows the prompt and puts the user into it; starts an agent if there is none.
local function open_prompt()
  local of = chat.current()
  if of and of.id then
    require("rat.window").open(of)
    require("rat.window").enter_prompt()
  elseif not require("rat.launch").pending() then
    local again = of and { agent = of.agent, cwd = of.cwd } or {}
    require("rat.launch").start(vim.tbl_extend("force", again, { focus = true }))
  end
end

---@param attachment rat.Attachment
local function add(attachment)
  local of = require("rat.attached").add(attachment)
  if not of or require("rat.window").visible() ~= of then
    say.info(("%s goes with the next prompt"):format(require("rat.attached").title(attachment)))
  end
end

local function leave_visual_mode()
  vim.api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
end

function M.RatStart(args)
  local name = args.args ~= "" and args.args or nil
  require("rat.launch").start({ agent = name, new = args.bang, focus = true })
end

function M.RatSend(args)
  local attachment = range_of(args)
  if args.args == "" then
    if attachment then
      require("rat.attached").add(attachment)
    end
    return open_prompt()
  end
  local of = chat.current()
  local attachments = require("rat.attached").take(of)
  attachments[#attachments + 1] = attachment
  require("rat.prompt").send({ text = args.args, attachments = attachments, chat = of })
end

function M.RatAdd(args)
  local context, path = require("rat.context"), args.args
  if path ~= "" and args.range > 0 then
    return say.error(":RatAdd takes a range or a file, not both")
  end
  local shown = vim.api.nvim_buf_get_name(0)
  if path == "" and (args.range > 0 or not context.media(shown)) then
    return add(range_of(args) or context.buffer(vim.api.nvim_get_current_buf()))
  end
  path = vim.fn.fnamemodify(path ~= "" and path or shown, ":p")
  context.file(path, function(found, problem)
    if found then
      return add(found)
    end
    say.error(("%s cannot be attached: %s"):format(vim.fn.fnamemodify(path, ":."), problem))
  end)
end

--- Opens the prompt with exactly the selection attached.
function M.send_selection()
  require("rat.attached").add(require("rat.context").selection())
  leave_visual_mode()
  open_prompt()
end

--- Attaches exactly the selection to the next prompt; the user stays where they are.
function M.add_selection()
  local attachment = require("rat.context").selection()
  leave_visual_mode()
  add(attachment)
end

function M.RatCancel()
  tell("cancel")
end

function M.RatStop()
  tell("stop")
end

function M.RatRestart()
  local of = chat.current()
  if of and not of.id then
    require("rat.launch").start({ agent = of.agent, cwd = of.cwd, focus = true })
  else
    tell("restart")
  end
end

function M.RatSessions(args)
  local act = args.args ~= "" and args.args or "open"
  local sessions = require("rat.sessions")
  if not vim.list_contains(sessions.acts, act) then
    local known = table.concat(sessions.acts, ", ")
    return say.error((':RatSessions does not know "%s", only %s'):format(act, known))
  end
  sessions.list(act)
end

function M.RatMode(args)
  require("rat.options").set("mode", args.args)
end

function M.RatOption(args)
  local option, value = args.args:match("^(%S+)%s*(.*)$")
  require("rat.options").set(option, value)
end

function M.RatLogin(args)
  local of = chat.current()
  if args.args == "" and of and of.id and require("rat.login").open(of.id) then
    return
  end
  tell("login", { method = args.args ~= "" and args.args or nil })
end

function M.RatLogout()
  tell("logout")
end

function M.RatToggle()
  local window = require("rat.window")
  local of = chat.current()
  if window.visible() then
    window.hide()
  elseif of then
    -- A tab page of its own is in nobody's sight without going there.
    local is_tab = require("rat.config").get().layout.position == "tab"
    if is_tab then
      window.expect()
    end
    window.open(of, is_tab)
  else
    require("rat.launch").start({ focus = true })
  end
end

--- Shows the next or the previous chat in place of the one that is meant.
---@param step 1|-1
function M.switch_chat(step)
  local of = chat.current()
  if not of then
    return say.warn("there is no chat: `:RatStart` starts one")
  end
  local other = chat.neighbour(of, step)
  if other == of then
    say.info("there is no other chat")
  end
  require("rat.window").open(other)
end

---@param view "plan"|"tools"
local function toggle_view(view)
  local of = chat.current()
  if of then
    require("rat.window").toggle_view(of, view)
  else
    say.warn("there is no chat: `:RatStart` starts one")
  end
end

function M.RatPlan()
  toggle_view("plan")
end

function M.RatTools()
  toggle_view("tools")
end

function M.RatPermission()
  require("rat.permission").open()
end

function M.RatForm()
  require("rat.form").open()
end

function M.RatAllow()
  require("rat.permission").answer(true)
end

function M.RatDeny(args)
  require("rat.permission").answer(false, args.args ~= "" and args.args or nil)
end

function M.RatConflicts(args)
  local decide = require("rat.decide")
  return args.bang and decide.list() or decide.open()
end

function M.RatInfo()
  tell("show", { what = "info" })
end

function M.RatLog()
  local path = rpc.log_file()
  if not vim.uv.fs_stat(path) then
    return say.info("nothing has been logged yet")
  end
  -- It holds words of agents: none of them is a modeline.
  if require("rat.location").open({ path = path, line = math.huge, modelines = false }) then
    vim.bo.modeline = false
    vim.bo.readonly = true
    vim.bo.autoread = true
  end
end

function M.RatTrace()
  tell("show", { what = "trace" })
end

return M
