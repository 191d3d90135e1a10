--- Defines commands, <Plug> maps and the reading of rat:// buffers; loads nothing until one of them is used.
if vim.g.loaded_rat then
  return
end
vim.g.loaded_rat = true

local function complete(lead, line)
  return require("rat.complete").command(lead, line)
end

---@type table<string, vim.api.keyset.user_command>
local commands = {
  RatStart = { bang = true, nargs = "?", desc = "Open or focus the chat with an agent" },
  RatSend = { range = true, nargs = "*", desc = "Send a prompt, with the range attached" },
  RatAdd = {
    range = true,
    nargs = "?",
    complete = "file",
    desc = "Attach the range or a file to the next prompt",
  },
  RatCancel = { desc = "Cancel the agent's turn" },
  RatStop = { desc = "End the agent" },
  RatRestart = { desc = "End the agent and start it again" },
  RatSessions = { nargs = "?", desc = "Pick a session: open, fork, close or delete it" },
  RatMode = { nargs = "*", desc = "Choose the mode of the session" },
  RatOption = { nargs = "*", desc = "Choose an option of the session, such as its model" },
  RatLogin = { nargs = "?", desc = "Log in with the agent" },
  RatLogout = { desc = "Log out with the agent" },
  RatToggle = { desc = "Show or hide the chat" },
  RatPlan = { desc = "Show or hide the agent's plan" },
  RatTools = { desc = "Show or hide the agent's tool calls" },
  RatPermission = { desc = "Choose for the oldest waiting permission request" },
  RatForm = { desc = "Fill in what an agent asks for" },
  RatAllow = { desc = "Allow the oldest waiting permission request once" },
  RatDeny = { nargs = "*", desc = "Reject the oldest waiting permission request" },
  RatConflicts = { bang = true, desc = "Decide where you and an agent changed the same lines" },
  RatInfo = { desc = "Show what is known of the agent" },
  RatLog = { desc = "Open the log" },
  RatTrace = { desc = "Show the protocol traffic" },
}

for name, options in pairs(commands) do
  options.complete = options.complete or options.nargs and complete or nil
  vim.api.nvim_create_user_command(name, function(args)
    require("rat.say").guard(":" .. name, require("rat.commands")[name])(args)
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

for name, step in pairs({ next = 1, previous = -1 }) do
  vim.api.nvim_set_keymap("n", "<Plug>(rat-" .. name .. ")", "", {
    desc = "Show the " .. name .. " chat",
    callback = function()
      require("rat.commands").switch_chat(step)
    end,
  })
end

-- `:edit` reads a buffer; a session file makes an empty one and then names it.
vim.api.nvim_create_autocmd({ "BufReadCmd", "BufFilePost" }, {
  group = vim.api.nvim_create_augroup("rat_read", {}),
  pattern = "rat://*",
  desc = "Fill a rat:// buffer that was opened by its name",
  callback = function(args)
    require("rat.chat").read(args.buf)
  end,
})
