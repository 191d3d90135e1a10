--- The little that the Lua specs need: named cases, assertions, and Neovims to drive. Run a spec with `nvim -l`.
local M = {}

local this = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")
M.root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(this)))
vim.opt.runtimepath:prepend(M.root)

--- How long anything may take, in milliseconds; only a failing check waits that long.
local DEADLINE_MS = 20000

local failures, cases = {}, 0
local children = {}

--- What the tests stand on in Neovim: messages for the binary are recorded, drawing is not tested here.
local prelude = [[
  Heard = {}
  RatHeard = function(name, payload) table.insert(Heard, { name, payload }) end
  Action = nil
  package.loaded["rat.view.ui"] = {
    withdraw_requests = function() end,
    attach = function() end,
    action = function() return Action end,
    next_header = function(_, row, direction)
      local found = row + direction * 2
      return found >= 0 and found < vim.api.nvim_buf_line_count(0) and found or nil
    end,
  }
  Said, Notify = {}, vim.notify
  vim.notify = function(text, level) table.insert(Said, { text, level }) end
  Events = {}
  vim.api.nvim_create_autocmd("User", { pattern = "Rat*", callback = function(args)
    table.insert(Events, { args.match, args.data })
  end })
]]

---@class Child
local Child = {}
Child.__index = Child

--- Starts a Neovim with the plugin.
---@param options? {columns: integer?, lines: integer?, env: table?, binary: string?, args: string[]?}
---@return Child
function M.start(options)
  options = options or {}
  local home, own = vim.fn.tempname(), vim.fn.tempname()
  vim.fn.mkdir(home, "p")
  vim.fn.mkdir(own, "p")
  -- Neovim's own files lie elsewhere: what is looked for in the folder is the spec's.
  local env = { HOME = home, NVIM_BIN = vim.v.progpath, NVIM_LOG_FILE = own .. "/nvim.log" }
  for _, name in ipairs({ "CONFIG", "DATA", "STATE", "CACHE" }) do
    env["XDG_" .. name .. "_HOME"] = own .. "/" .. name:lower()
  end
  local command = { vim.v.progpath, "--embed", "--headless", "--clean", "-n" }
  vim.list_extend(command, {
    "--cmd",
    ("set rtp^=%s columns=%d lines=%d"):format(M.root, options.columns or 80, options.lines or 24),
  })
  vim.list_extend(command, options.args or {})
  local self = setmetatable({ home = home, own = own }, Child)
  self.channel = vim.fn.jobstart(command, {
    rpc = true,
    cwd = home,
    env = vim.tbl_extend("force", env, options.env or {}),
  })
  children[#children + 1] = self
  self:lua(prelude)
  self:lua("vim.g.rat_binary = ...", options.binary or M.root .. "/tests/support/standin")
  return self
end

--- Ends the child. Neovim 0.10 may take SIGTERM for nothing and go on for ever.
function Child:stop()
  local ok, pid = pcall(vim.fn.jobpid, self.channel)
  pcall(vim.fn.jobstop, self.channel)
  if ok and vim.fn.jobwait({ self.channel }, 1000)[1] == -1 then
    vim.uv.kill(pid, "sigkill")
  end
end

--- Runs Lua in the child.
function Child:lua(code, ...)
  return vim.rpcrequest(self.channel, "nvim_exec_lua", code, { ... })
end

--- The windows of the current tab page: number, width, height and buffer of each.
---@return integer[][]
function Child:windows()
  return self:lua([[
    return vim.tbl_map(function(win)
      return { win, vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win),
        vim.api.nvim_win_get_buf(win) }
    end, vim.api.nvim_tabpage_list_wins(0))
  ]])
end

--- Types keys.
function Child:input(keys)
  vim.rpcrequest(self.channel, "nvim_input", keys)
end

--- Makes the next key one that follows a pause.
function Child:let_time_pass()
  self:lua("local now = vim.uv.now; vim.uv.now = function() return now() + 1000 end")
end

--- Runs an Ex command.
function Child:command(command)
  vim.rpcrequest(self.channel, "nvim_command", command)
end

--- Has the user trust a file as it is.
function Child:trust(path)
  self:lua("vim.fn.mkdir(vim.fn.stdpath('state'), 'p')")
  self:command("edit " .. path)
  self:command("trust")
  self:command("bdelete")
end

--- Waits until an expression is true in the child.
function Child:poll(expression)
  local value
  local ok = vim.wait(DEADLINE_MS, function()
    value = self:lua("return " .. expression)
    return value == true
  end, 5)
  if not ok then
    error(("never true: %s (%s)\n%s"):format(expression, vim.inspect(value), self:screen()), 2)
  end
end

--- The screen as text.
function Child:screen()
  return self:lua([[
    vim.cmd.redraw()
    local rows = {}
    for row = 1, vim.o.lines do
      local cells = {}
      for column = 1, vim.o.columns do
        cells[column] = vim.fn.screenstring(row, column)
      end
      rows[row] = table.concat(cells)
    end
    return table.concat(rows, "\n")
  ]])
end

--- Waits until the screen shows a text.
function Child:poll_screen(text)
  local ok = vim.wait(DEADLINE_MS, function()
    return self:screen():find(text, 1, true) ~= nil
  end, 10)
  if not ok then
    error(("never on the screen: %s\n%s"):format(text, self:screen()), 2)
  end
end

--- Waits until the screen does not show a text any more.
function Child:poll_gone(text)
  local ok = vim.wait(DEADLINE_MS, function()
    return self:screen():find(text, 1, true) == nil
  end, 10)
  if not ok then
    error(("still on the screen: %s\n%s"):format(text, self:screen()), 2)
  end
end

--- Waits until the current buffer takes keys: what opened by itself holds them back at first.
function Child:poll_keys(lhs)
  self:poll(
    ("vim.fn.maparg(%q, 'n', false, true).desc ~= 'rat: ignored until you pause'"):format(lhs)
  )
end

--- What the binary was told under a name; waits for the first.
---@return table payload of the last one
function Child:heard(name, count)
  self:poll(
    ("#vim.tbl_filter(function(m) return m[1] == %q end, Heard) >= %d"):format(name, count or 1)
  )
  local found
  for _, message in ipairs(self:lua("return Heard")) do
    found = message[1] == name and message[2] or found
  end
  return found
end

--- Whether the binary was told something under a name so far.
function Child:has_heard(name)
  return vim.iter(self:lua("return Heard")):any(function(message)
    return message[1] == name
  end)
end

--- Says what the binary would say.
function Child:say(kind, payload)
  self:lua("require('rat.rpc.inbox').handle(...)", kind, payload)
end

--- Waits until the user was told something.
function Child:told(text)
  self:poll(
    ("vim.iter(Said):any(function(m) return m[1]:find(%q, 1, true) ~= nil end)"):format(text)
  )
end

--- A chat with its windows open, the user in the prompt.
function Child:open_chat(status)
  self:command("RatStart claude")
  local start = self:heard("start")
  local chat = { chat = 1, agent = "claude", cwd = start.cwd, show = true, focus = true }
  self:say("chat", chat)
  self:status(status)
  self:poll("vim.bo.filetype == 'ratprompt'")
end

--- Goes to the first window of a view of the chat: `chat` is the transcript.
function Child:enter(view)
  self:lua(
    [[vim.api.nvim_set_current_win(vim.fn.bufwinid(require("rat.chat.buffers").get(1, (...))))]],
    view
  )
end

--- Makes files without text, with the folders they need.
function Child:files(names)
  for _, name in ipairs(names) do
    vim.fn.mkdir(vim.fs.dirname(self.home .. "/" .. name), "p")
    vim.fn.writefile({}, self.home .. "/" .. name)
  end
end

--- A status of the chat.
function Child:status(status)
  local numbers = {}
  for i in ipairs((status or {}).queued or {}) do
    numbers[i] = i
  end
  self:say(
    "status",
    vim.tbl_extend("force", {
      queue_numbers = numbers,
      chat = 1,
      agent = "claude",
      title = "Claude",
      session_id = "s1",
      state = "ready",
      queued = {},
      queue_paused = false,
      permissions = {},
    }, status or {})
  )
end

--- A request as it stands in a status.
function M.permission(id, diffs)
  return {
    id = id,
    tool_call = "t" .. id,
    title = "Edit main.rs",
    asks = "Edit main.rs",
    revision = 0,
    kind = "edit",
    diffs = diffs or 0,
    for_user = false,
    options = {
      { id = "once", name = "Allow once", kind = "allow_once" },
      { id = "always", name = "Always allow", kind = "allow_always" },
      { id = "no", name = "Reject", kind = "reject_once" },
    },
  }
end

--- Fails unless both are the same.
function M.same(found, wanted, what)
  if not vim.deep_equal(found, wanted) then
    local text = ("%sfound %s\nwanted %s"):format(
      what and what .. ": " or "",
      vim.inspect(found),
      vim.inspect(wanted)
    )
    error(text, 2)
  end
end

--- Fails unless the text contains the part.
function M.contains(text, part)
  if not text:find(part, 1, true) then
    error(("%q is not in\n%s"):format(part, text), 2)
  end
end

--- One case of a spec.
function M.case(name, run)
  cases = cases + 1
  local ok, problem = xpcall(run, debug.traceback)
  for _, child in ipairs(children) do
    child:stop()
    vim.fn.delete(child.home, "rf")
  end
  children = {}
  if not ok then
    failures[#failures + 1] = ("FAILED %s\n%s\n"):format(name, problem)
  end
end

--- Ends a spec: status 1 if a case failed, or if there was none.
function M.finish()
  io.write(table.concat(failures, "\n"))
  io.write(("%d cases, %d failed\n"):format(cases, #failures))
  os.exit((cases == 0 or #failures > 0) and 1 or 0)
end

return M
