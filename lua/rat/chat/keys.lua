--- The keys of the chat's buffers, in one table that `g?` lists too. Carries nothing out itself.
local chat = require("rat.chat")
local permission = require("rat.permission")
local rpc = require("rat.rpc")
local scratch = require("rat.scratch")

local M = {}

---@class rat.Key
---@field modes string[]
---@field lhs string
---@field doc string
---@field run? fun(of: rat.Chat, lhs: string): string? keys to run in its place; nil where Neovim's own key is meant
---@field expr? boolean `run` decides whether the key is ours

--- What stands in the transcript's current line.
---@return table?
local function action()
  if vim.fn.foldclosed(".") ~= -1 then
    return { kind = "fold" }
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  return require("rat.ui").action(vim.api.nvim_get_current_buf(), row)
end

--- The request of the card the cursor is on.
---@return integer? id
local function request_here()
  local what = action()
  if what and what.kind == "permission" then
    return what.id
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  return require("rat.look").request(vim.api.nvim_get_current_buf(), row)
end

---@param of rat.Chat
---@param what table?
local function act(of, what)
  local kind = what and what.kind
  if kind == "location" then
    require("rat.location").open({ path = what.path, line = what.line, cwd = of.cwd })
  elseif kind == "output" then
    rpc.notify("output", { chat = of.id, tool_call = what.tool_call })
  elseif kind == "content" then
    rpc.notify("content", { chat = of.id, id = what.content, act = "offer" })
  elseif kind == "terminal" then
    require("rat.terminal").open(of, what.terminal)
  elseif kind == "permission" then
    permission.open(of, what.id)
  elseif kind == "form" then
    require("rat.form").open(what.id)
  elseif kind == "fold" then
    vim.cmd("normal! zv")
  end
end

--- The request meant where the user is: of the card under the cursor, else the only one that waits.
---@param of rat.Chat
---@return rat.Request?
local function request_meant(of)
  local in_prompt = select(2, chat.of(vim.api.nvim_get_current_buf())) == "prompt"
  local id = not in_prompt and request_here() or permission.only(of)
  local request = id and permission.request(of, id)
  if not request then
    local several = #of.status.permissions > 1
    require("rat.say").info(
      several and "several requests wait: put the cursor on one, or `:RatPermission`"
        or "no permission request is waiting"
    )
  end
  return request
end

---@param allow boolean
---@return fun(of: rat.Chat)
local function decide(allow)
  return function(of)
    local request = request_meant(of)
    if request then
      permission.decide(request, allow)
    end
  end
end

---@param of rat.Chat
---@param lhs string
local function answer(of, lhs)
  local request, number = request_meant(of), tonumber(lhs:sub(-1))
  if request and not permission.pick(of, request.permission.id, number) then
    require("rat.say").info(("the request has no answer %d"):format(number))
  end
end

---@param of rat.Chat
local function show_diff(of)
  local id = request_here() or permission.only(of)
  if id then
    require("rat.diff").request(of, id)
  else
    require("rat.say").info("there is no permission request under the cursor")
  end
end

---@param direction 1|-1
local function next_message(direction)
  local buf = vim.api.nvim_get_current_buf()
  for _ = 1, vim.v.count1 do
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    local found = require("rat.ui").next_header(buf, row, direction)
    if not found then
      return
    end
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { found + 1, 0 })
  end
end

---@param step 1|-1
---@return fun(of: rat.Chat, lhs: string): string
local function recall(step)
  return function(_, lhs)
    local edge = step < 0 and 1 or vim.api.nvim_buf_line_count(0)
    if vim.fn.pumvisible() == 1 or vim.fn.line(".") ~= edge then
      return lhs
    end
    -- Before the next key, also where that is typed already.
    return ("<Cmd>lua require('rat.prompt').recall(%d)<CR>"):format(step)
  end
end

---@param of rat.Chat
local function send(of)
  require("rat.prompt").submit(of)
end

local function help()
  M.help(select(2, chat.of(vim.api.nvim_get_current_buf())))
end

---@type rat.Key[]
local everywhere = {
  { modes = { "n" }, lhs = "g?", doc = "list these keys", run = help },
}

---@type rat.Key[]
local prompt_keys = {
  { modes = { "n" }, lhs = "<CR>", doc = "send", run = send },
  { modes = { "n", "i" }, lhs = "<C-s>", doc = "send", run = send },
  {
    modes = { "n" },
    lhs = "<C-c>",
    doc = "cancel the turn",
    run = function(of)
      rpc.notify("cancel", { chat = of.id })
    end,
  },
  { modes = { "n", "i" }, lhs = "<Up>", doc = "older prompt", run = recall(-1), expr = true },
  { modes = { "n", "i" }, lhs = "<Down>", doc = "newer prompt", run = recall(1), expr = true },
  {
    modes = { "n" },
    lhs = "g-",
    doc = "remove an attachment",
    run = function(of)
      require("rat.attached").remove(of)
    end,
  },
  {
    modes = { "n" },
    lhs = "g<",
    doc = "edit a queued prompt",
    run = function(of)
      require("rat.prompt").take_back(of)
    end,
  },
  {
    modes = { "n" },
    lhs = "g/",
    doc = "choose a command of the agent",
    run = function(of)
      require("rat.slash").pick(of)
    end,
  },
  { modes = { "i" }, lhs = "<C-x><C-u>", doc = "complete /command or @file" },
}

---@type rat.Key[]
local view_keys = {
  { modes = { "n" }, lhs = "za", doc = "open or close the fold" },
  {
    modes = { "n" },
    lhs = "q",
    doc = "hide the chat, or the plan or the tool calls alone",
    run = function(of)
      local window = require("rat.window")
      local view = select(2, chat.of(vim.api.nvim_get_current_buf()))
      if view == "chat" then
        window.hide()
      else
        window.toggle_view(of, view)
      end
    end,
  },
}

---@type rat.Key[]
local transcript_keys = {
  {
    modes = { "n" },
    lhs = "<CR>",
    doc = "open what stands here",
    run = function(of)
      local what = action()
      if what then
        act(of, what)
      else
        require("rat.location").open_under_cursor(of.cwd, true)
      end
    end,
  },
  {
    modes = { "n" },
    lhs = "gx",
    doc = "open the link under the cursor",
    run = function()
      require("rat.location").open_link()
    end,
  },
  {
    modes = { "n" },
    lhs = "]]",
    doc = "next message",
    run = function()
      next_message(1)
    end,
  },
  {
    modes = { "n" },
    lhs = "[[",
    doc = "previous message",
    run = function()
      next_message(-1)
    end,
  },
  { modes = { "n" }, lhs = "gd", doc = "show the request's diff", run = show_diff },
}
for _, lhs in ipairs({ "i", "a", "o" }) do
  table.insert(transcript_keys, {
    modes = { "n" },
    lhs = lhs,
    doc = "write in the prompt",
    run = function(of)
      require("rat.window").open(of)
      require("rat.window").enter_prompt()
      vim.cmd("startinsert!")
    end,
  })
end

---@param of rat.Chat
local function open_file(of)
  local what = action()
  if what and what.kind == "location" then
    return act(of, what)
  end
  require("rat.location").open_under_cursor(of.cwd)
end

---@type rat.Key[]
local file_keys = {}
for i, lhs in ipairs(require("rat.location").FILE_KEYS) do
  file_keys[i] = {
    modes = { "n", "x" },
    lhs = lhs,
    doc = "open the location, or the file under the cursor",
    run = open_file,
  }
end

---@type rat.Key[]
local answer_keys = {
  { modes = { "n" }, lhs = "ga", doc = "allow the request once", run = decide(true) },
  { modes = { "n" }, lhs = "gr", doc = "reject the request", run = decide(false) },
}
for digit = 1, 9 do
  answer_keys[digit + 2] = {
    modes = { "n" },
    lhs = "g" .. digit,
    doc = "answer the request with that option",
    run = answer,
  }
end

--- The keys of a view, in the order of the help.
---@param view rat.View
---@return rat.Key[]
function M.of(view)
  local list = {}
  for _, part in ipairs({
    view == "prompt" and prompt_keys or transcript_keys,
    answer_keys,
    file_keys,
    view ~= "prompt" and view_keys or {},
    everywhere,
  }) do
    vim.list_extend(list, part)
  end
  return list
end

--- Maps the keys of a view in its buffer.
---@param buf integer
---@param view rat.View
function M.attach(buf, view)
  for _, key in ipairs(M.of(view)) do
    if key.run then
      vim.keymap.set(key.modes, key.lhs, function()
        local of = chat.of(buf)
        if of then
          return require("rat.say").guard(key.lhs, key.run)(of, key.lhs)
        end
      end, { buffer = buf, expr = key.expr, nowait = true, desc = "rat: " .. key.doc })
    end
  end
end

--- Groups keys that do the same: `i a o`, `1 .. 9`.
---@param view rat.View
---@return string[]
local function help_lines(view)
  local order, by_doc = {}, {}
  for _, key in ipairs(M.of(view)) do
    if not by_doc[key.doc] then
      by_doc[key.doc] = {}
      order[#order + 1] = key.doc
    end
    table.insert(by_doc[key.doc], key.lhs)
  end
  return vim.tbl_map(function(doc)
    local keys = by_doc[doc]
    local names = #keys > 3 and keys[1] .. " .. " .. keys[#keys] or table.concat(keys, " ")
    return (" %-12s %s "):format(names, doc)
  end, order)
end

--- Lists the keys of a view in a small window.
---@param view rat.View
function M.help(view)
  scratch.float(help_lines(view), "Keys")
end

return M
