--- Defines the commands, the <Plug> maps and the autocommand that reads rat:// buffers. No module is loaded until one of
--- them is used.
if vim.g.loaded_rat then
  return
end
vim.g.loaded_rat = true

local function complete(lead, line)
  return require("rat.complete").command(lead, line)
end

---@type table<string, vim.api.keyset.user_command>
local commands = {
  RatStart = { bang = true, nargs = "*", desc = "Open or focus the chat with an agent" },
  RatWorktree = {
    bang = true,
    nargs = "?",
    desc = "Resume in a git worktree; merge or remove the one of this chat",
  },
  RatSend = {
    bang = true,
    range = true,
    nargs = "*",
    desc = "Send a prompt with the range attached; with ! cancel the turn for it",
  },
  RatFollow = { desc = "Have this window follow the agent, or stop that" },
  RatQueue = { desc = "Edit the queued prompts" },
  RatAdd = {
    range = true,
    nargs = "?",
    complete = "file",
    desc = "Attach the range or a file to the next prompt",
  },
  RatEdit = { range = true, nargs = "*", desc = "Have an agent change the range in place" },
  RatCancel = { desc = "Cancel the agent's turn" },
  RatStop = { bang = true, desc = "Stop the agent; with ! close the chat" },
  RatRestart = { bang = true, desc = "Stop the agent and start it again" },
  RatRules = { desc = "List and edit the rules that decide on permission requests" },
  RatFork = { desc = "Fork the session: go on from here, or an earlier turn, in a new chat" },
  RatSessions = { nargs = "?", desc = "Pick a session: open, fork, close or delete it" },
  RatSearch = { nargs = "*", desc = "Search the sessions of all folders" },
  RatMode = { nargs = "*", desc = "Set the mode of the session" },
  RatOption = { nargs = "*", desc = "Set an option of the session, such as its model" },
  RatLogin = { nargs = "?", desc = "Log in to the agent" },
  RatLogout = { desc = "Log out of the agent" },
  RatChats = { desc = "List all chats, those that need you first" },
  RatToggle = { desc = "Show or hide the chat" },
  RatPlan = { desc = "Show or hide the agent's plan" },
  RatTools = { desc = "Show or hide the agent's tool calls" },
  RatPermission = { desc = "Choose an answer to the oldest permission request" },
  RatForm = { desc = "Open the oldest form or URL of an agent" },
  RatAllow = { desc = "Allow the oldest permission request once" },
  RatDeny = { nargs = "*", desc = "Reject the oldest permission request" },
  RatConflicts = { bang = true, desc = "Resolve conflicts between your lines and an agent's" },
  RatAccept = {
    range = true,
    nargs = "?",
    desc = "Accept what the agent changed: the hunk or range, file, turn or all",
  },
  RatReject = {
    range = true,
    nargs = "?",
    desc = "Reject what the agent changed: the hunk or range, file, turn or all",
  },
  RatReview = { nargs = "?", desc = "Review what agents changed: turn, tool, session or all" },
  RatUndo = { bang = true, desc = "Undo what the agent's last turn changed in files" },
  RatRedo = { desc = "Redo the turn that was undone last" },
  RatTurns = { desc = "Pick a turn: see or undo what it changed" },
  RatInfo = { desc = "Show the agent, its session and its capabilities" },
  RatLog = { nargs = "?", desc = "Open the log, or that of an agent" },
  RatInstall = { nargs = "?", desc = "Show and run the command that installs an agent" },
  RatExport = {
    bang = true,
    nargs = "?",
    complete = "file",
    desc = "Write the conversation to a file, as Markdown",
  },
  RatTrace = { bang = true, nargs = "*", desc = "Show or save the protocol traffic" },
}

for name, options in pairs(commands) do
  -- Commands that take free text (`nargs = "*"`) get no |:bar|, since that text may contain a "|".
  options.bar = options.nargs ~= "*" or name == "RatStart"
  options.complete = options.complete or options.nargs and complete or nil
  vim.api.nvim_create_user_command(name, function(args)
    local run = require("rat.commands")[name] --[[@as fun(args: table)]]
    require("rat.util.notify").guard(":" .. name, run)(args)
  end, options)
  local plug = "<Plug>(rat-" .. name:sub(4):lower() .. ")"
  vim.api.nvim_set_keymap("n", plug, "<Cmd>" .. name .. "<CR>", { desc = options.desc })
end

vim.api.nvim_set_keymap("x", "<Plug>(rat-send)", "", {
  desc = "Open the prompt with the selection attached",
  callback = function()
    require("rat.commands").send_selection()
  end,
})
vim.api.nvim_set_keymap("x", "<Plug>(rat-add)", "", {
  desc = "Attach the selection to the next prompt",
  callback = function()
    require("rat.commands").add_selection()
  end,
})

vim.api.nvim_set_keymap("x", "<Plug>(rat-edit)", "", {
  desc = "Have an agent change the selected lines in place",
  callback = function()
    require("rat.commands").edit_selection()
  end,
})
vim.api.nvim_set_keymap("n", "<Plug>(rat-edit-operator)", "", {
  desc = "Have an agent change the lines of a motion in place",
  expr = true,
  callback = function()
    return require("rat.commands").edit_operator()
  end,
})
vim.api.nvim_set_keymap("n", "<Plug>(rat-add-operator)", "", {
  desc = "Attach what a motion covers to the next prompt",
  expr = true,
  callback = function()
    return require("rat.commands").add_operator()
  end,
})
for _, mode in ipairs({ "n", "i" }) do
  vim.api.nvim_set_keymap(mode, "<Plug>(rat-add-image)", "", {
    desc = "Attach the image in the clipboard to the next prompt",
    callback = function()
      require("rat.commands").add_image()
    end,
  })
end

for name, step in pairs({ next = 1, previous = -1 }) do
  vim.api.nvim_set_keymap("n", "<Plug>(rat-" .. name .. ")", "", {
    desc = "Show the " .. name .. " chat",
    callback = function()
      require("rat.commands").switch_chat(step)
    end,
  })
end

vim.api.nvim_set_keymap("n", "<Plug>(rat-next-waiting)", "", {
  desc = "Show the next chat that needs you",
  callback = function()
    require("rat").next_waiting()
  end,
})

for name, step in pairs({ next = 1, previous = -1 }) do
  vim.api.nvim_set_keymap("n", "<Plug>(rat-hunk-" .. name .. ")", "", {
    desc = "Go to the " .. name .. " pending hunk",
    callback = function()
      require("rat.commands").go_to_hunk(step)
    end,
  })
end
vim.api.nvim_set_keymap("n", "<Plug>(rat-hunk-show)", "", {
  desc = "Show what the pending hunk has removed and added",
  callback = function()
    require("rat.commands").show_hunk()
  end,
})
for _, mode in ipairs({ "x", "o" }) do
  vim.api.nvim_set_keymap(mode, "<Plug>(rat-hunk)", "", {
    desc = "Select the pending hunk",
    callback = function()
      require("rat.commands").select_hunk()
    end,
  })
end

-- `:edit` fires BufReadCmd; a session file creates an empty buffer and then names it, which fires BufFilePost.
vim.api.nvim_create_autocmd({ "BufReadCmd", "BufFilePost" }, {
  group = vim.api.nvim_create_augroup("rat_read", {}),
  pattern = "rat://*",
  desc = "rat: fill a rat:// buffer opened by name",
  callback = function(args)
    require("rat.chat").read(args.buf)
  end,
})
