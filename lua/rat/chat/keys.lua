--- Defines the keys of the chat's buffers in tables, which `g?` also lists. The actions are implemented by other modules.
local attachment_list = require("rat.chat.attachment_list")
local config_keys = require("rat.config.keys")
local form = require("rat.ask.form")
local repeated_keys = require("rat.ask.repeated_keys")
local key_list = require("rat.view.key_list")
local line_format = require("rat.view.line_format")
local link = require("rat.view.link")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local permission = require("rat.ask.permission")
local prompt = require("rat.chat.prompt")
local queue_page = require("rat.view.queue_page")
local registry = require("rat.chat.registry")
local request_diff = require("rat.diff.request")
local request_keys = require("rat.chat.request_keys")
local request_list = require("rat.ask.request_list")
local rpc = require("rat.rpc")
local slash = require("rat.chat.slash")
local ui = require("rat.view.ui")
local window = require("rat.view.window")
-- Modules that only some keys need are loaded by those keys.

local M = {}

---@class rat.Key
---@field modes string[]
---@field lhs string
---@field doc string
---@field run? fun(chat: rat.Chat, lhs: string): string? nil if Neovim's own key is used; with `expr` it returns keys
---@field expr? boolean whether it is an <expr> mapping

---@param chat rat.Chat
---@param action table
local function run_action(chat, action)
  local kind = action.kind
  if kind == "location" then
    local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1
    location.open({
      path = action.path,
      line = action.line,
      cwd = chat.cwd,
      find = require("rat.view.diff_line").finder(buf, row, action.path),
    })
  elseif kind == "output" then
    rpc.notify("output", { chat = chat.id, tool_call = action.tool_call })
  elseif kind == "content" then
    rpc.notify("content", { chat = chat.id, id = action.content, act = "offer" })
  elseif kind == "terminal" then
    require("rat.view.terminal").open(chat, action.terminal)
  elseif kind == "permission" then
    permission.open(chat, action.id)
  elseif kind == "form" then
    form.open(action.id)
  elseif kind == "prompt" then
    rpc.notify("turns", { chat = chat.id, entry = action.id })
  elseif kind == "widen" then
    rpc.notify("widen", {
      chat = chat.id --[[@as integer]],
      path = action.path,
    })
  elseif kind == "fold" then
    vim.cmd("normal! zv")
  end
end

---@param chat rat.Chat
local function show_diff(chat)
  local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1
  local id, tool_call = request_keys.under_cursor(), line_format.tool_call(buf, row)
  if not id and tool_call then
    return rpc.notify("diff", { chat = chat.id, tool_call = tool_call })
  end
  id = id or request_list.single(chat)
  if id then
    request_diff.open(chat, id)
  else
    notify.info("No tool call under the cursor")
  end
end

--- Moves the cursor to the next or previous message, |count| times.
---@param direction 1|-1
local function go_to_message(direction)
  local buf = vim.api.nvim_get_current_buf()
  for _ = 1, vim.v.count1 do
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    local found = ui.next_header(buf, row, direction)
    if not found then
      return
    end
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { found + 1, 0 })
  end
end

--- Returns the function of an <expr> mapping that recalls a prompt at the first or last line, and elsewhere is the key itself.
---@param step 1|-1
---@return fun(chat: rat.Chat, lhs: string): string
local function recall(step)
  return function(_, lhs)
    local edge = step < 0 and 1 or vim.api.nvim_buf_line_count(0)
    if vim.fn.pumvisible() == 1 or vim.fn.line(".") ~= edge then
      return lhs
    end
    -- Runs before the next key, even if that is in the typeahead already.
    return ("<Cmd>lua require('rat.chat.prompt').recall(%d)<CR>"):format(step)
  end
end

---@param chat rat.Chat
local function send(chat)
  prompt.submit(chat)
end

local function show_help()
  M.help(select(2, registry.of(vim.api.nvim_get_current_buf())) --[[@as rat.View]])
end

---@type rat.Key[]
local everywhere = {
  {
    modes = { "n" },
    lhs = "gO",
    doc = "list the prompts of the chat",
    run = function(chat)
      require("rat.chat.outline").open(chat)
    end,
  },
  { modes = { "n" }, lhs = "g?", doc = "list these keys", run = show_help },
}

---@param modes string[]
---@return rat.Key
local function next_mode(modes)
  return {
    modes = modes,
    lhs = "<S-Tab>",
    doc = "next mode of the agent",
    run = function(chat)
      require("rat.chat.options").next_mode(chat)
    end,
  }
end

---@type rat.Key[]
local prompt_keys = {
  { modes = { "n" }, lhs = "<CR>", doc = "send", run = send },
  { modes = { "n", "i" }, lhs = "<C-s>", doc = "send", run = send },
  {
    modes = { "n" },
    lhs = "g<CR>",
    doc = "send now: cancel a running turn for it",
    run = function(chat)
      prompt.submit(chat, true)
    end,
  },
  {
    modes = { "n" },
    lhs = "<C-c>",
    doc = "cancel the turn",
    run = function(chat)
      if not repeated_keys.was_just_closed() then
        rpc.notify("cancel", { chat = chat.id })
      end
    end,
  },
  {
    modes = { "i" },
    lhs = "<C-c>",
    doc = "leave Insert mode",
    expr = true,
    run = function(_, lhs)
      repeated_keys.closed()
      return lhs
    end,
  },
  {
    modes = { "n" },
    lhs = "gd",
    doc = "show the request's diff",
    run = function(chat)
      local request = request_keys.meant(chat)
      if request then
        request_diff.open(chat, request.permission.id)
      end
    end,
  },
  { modes = { "n", "i" }, lhs = "<Up>", doc = "older prompt", run = recall(-1), expr = true },
  { modes = { "n", "i" }, lhs = "<Down>", doc = "newer prompt", run = recall(1), expr = true },
  {
    modes = { "n" },
    lhs = "g+",
    doc = "open an attachment",
    run = function(chat)
      require("rat.chat.attachment_view").pick(chat)
    end,
  },
  {
    modes = { "n" },
    lhs = "g-",
    doc = "remove an attachment or a queued prompt",
    run = function(chat)
      attachment_list.remove(chat)
    end,
  },
  {
    modes = { "n" },
    lhs = "g<",
    doc = "edit a queued prompt",
    run = function(chat)
      prompt.take_back(chat)
    end,
  },
  {
    modes = { "n" },
    lhs = "g>",
    doc = "show the queue: edit, reorder, send now",
    run = function(chat)
      queue_page.open(chat)
    end,
  },
  {
    modes = { "n" },
    lhs = "g/",
    doc = "choose a /command of the agent",
    run = function(chat)
      slash.pick(chat)
    end,
  },
  { modes = { "i" }, lhs = "<C-x><C-u>", doc = "complete /command, @context or @file" },
  next_mode({ "n", "i" }),
}

--- Like |za|, but in the line above a fold, too, since that line is its title.
local function toggle_fold()
  local at, count = vim.api.nvim_win_get_cursor(0), vim.v.count
  local is_above = vim.fn.foldlevel(at[1]) == 0 and vim.fn.foldlevel(at[1] + 1) > 0
  if is_above then
    vim.api.nvim_win_set_cursor(0, { at[1] + 1, 0 })
  end
  local found = pcall(vim.cmd.normal, { (count > 0 and count or "") .. "za", bang = true })
  if is_above then
    vim.api.nvim_win_set_cursor(0, at)
  end
  if not found then
    notify.info("No fold here")
  end
end

---@type rat.Key[]
local view_keys = {
  { modes = { "n" }, lhs = "za", doc = "open or close the fold", run = toggle_fold },
  {
    modes = { "n" },
    lhs = "q",
    doc = "hide the chat (in the plan or tool calls: only those)",
    run = function(chat)
      local view = select(2, registry.of(vim.api.nvim_get_current_buf()))
      if view == "chat" then
        window.hide()
      else
        window.toggle_view(chat, view --[[@as "plan"|"tools"]])
      end
    end,
  },
}

---@type rat.Key[]
local transcript_keys = {
  next_mode({ "n" }),
  {
    modes = { "n" },
    lhs = "<CR>",
    doc = "open what is under the cursor",
    run = function(chat)
      local action = request_keys.current_action()
      if action then
        run_action(chat, action)
      else
        link.open_file(chat.cwd, true)
      end
    end,
  },
  {
    modes = { "n" },
    lhs = "gx",
    doc = "open the link under the cursor",
    run = function(chat)
      link.open_address(chat.cwd)
    end,
  },
  {
    modes = { "n" },
    lhs = "]]",
    doc = "next message",
    run = function()
      go_to_message(1)
    end,
  },
  {
    modes = { "n" },
    lhs = "[[",
    doc = "previous message",
    run = function()
      go_to_message(-1)
    end,
  },
  { modes = { "n" }, lhs = "gd", doc = "show the tool call's diff", run = show_diff },
  {
    modes = { "n" },
    lhs = "gy",
    doc = "yank the code block",
    run = function()
      require("rat.view.code_block").yank()
    end,
  },
  {
    modes = { "n" },
    lhs = "gp",
    doc = "put the code block below the cursor in your last window",
    run = function()
      require("rat.view.code_block").put(false)
    end,
  },
  {
    modes = { "n" },
    lhs = "gP",
    doc = "put the code block above it",
    run = function()
      require("rat.view.code_block").put(true)
    end,
  },
}
for _, lhs in ipairs({ "i", "a", "o" }) do
  table.insert(transcript_keys, {
    modes = { "n" },
    lhs = lhs,
    doc = "go to the prompt in Insert mode",
    run = function(chat)
      window.open(chat)
      window.enter_prompt()
      vim.cmd("startinsert!")
    end,
  })
end

---@param chat rat.Chat
local function open_file(chat)
  local action = request_keys.current_action()
  if action and action.kind == "location" then
    return run_action(chat, action)
  end
  link.open_file(chat.cwd)
end

---@type rat.Key[]
local file_keys = {}
for i, lhs in ipairs(link.FILE_KEYS) do
  file_keys[i] = {
    modes = { "n", "x" },
    lhs = lhs,
    doc = "open the location, or the file under the cursor",
    run = open_file,
  }
end

--- Returns the keys of a view in the order in which `g?` lists them.
---@param view rat.View
---@return rat.Key[]
function M.of(view)
  local list = {}
  for _, part in ipairs({
    view == "prompt" and prompt_keys or transcript_keys,
    request_keys.keys,
    file_keys,
    view ~= "prompt" and view_keys or {},
    everywhere,
  }) do
    vim.list_extend(list, part)
  end
  return list
end

--- Returns the first key that sends a prompt in a mode and that the user has not mapped to something else.
---@param buf integer a prompt
---@param mode string
---@return string? lhs
function M.send_key(buf, mode)
  for _, key in ipairs(prompt_keys) do
    if key.run == send and vim.list_contains(key.modes, mode) then
      local lhs = config_keys.chosen(key.lhs)
      local map = vim.api.nvim_buf_call(buf, function()
        return lhs and vim.fn.maparg(lhs, mode, false, true) or {}
      end)
      if map.buffer == 1 and map.desc == "rat: " .. key.doc then
        return lhs
      end
    end
  end
end

--- Maps the keys of a view in its buffer.
---@param buf integer
---@param view rat.View
function M.attach(buf, view)
  for _, key in ipairs(M.of(view)) do
    if key.run then
      config_keys.map(key.modes, key.lhs, function()
        local chat = registry.of(buf)
        if chat then
          return notify.guard(key.lhs, key.run)(chat, key.lhs)
        end
      end, { buffer = buf, expr = key.expr, nowait = true, desc = "rat: " .. key.doc })
    end
  end
end

--- Lists the keys of a view in a floating window. Keys that do the same share a line: `i a o`, `g1 .. g9`.
---@param view rat.View
function M.help(view)
  local order, by_doc = {}, {}
  for _, key in ipairs(M.of(view)) do
    local lhs = config_keys.chosen(key.lhs)
    if lhs and not by_doc[key.doc] then
      by_doc[key.doc] = {}
      order[#order + 1] = key.doc
    end
    if lhs then
      table.insert(by_doc[key.doc], lhs)
    end
  end
  key_list.show(vim.tbl_map(function(doc)
    local keys = by_doc[doc] --[[@as string[] ]]
    local names = #keys > 3 and keys[1] .. " .. " .. keys[#keys] or table.concat(keys, " ")
    return { names, doc }
  end, order))
end

return M
