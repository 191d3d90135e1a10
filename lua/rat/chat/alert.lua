--- Notifies the user of requests and finished turns in chats that they are not looking at, once each.
local config = require("rat.config")
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local window = require("rat.view.window")

local M = {}

local has_focus, is_watching = true, false

--- Starts to track whether the terminal has the focus. One that never reports it counts as focused.
function M.watch()
  if is_watching then
    return
  end
  is_watching = true
  vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
    group = vim.api.nvim_create_augroup("rat_alert", {}),
    desc = "rat: whether the terminal has the focus",
    callback = function(args)
      has_focus = args.event == "FocusGained"
    end,
  })
end

--- Writes bytes to the terminal. They must not contain an agent's text.
---@param bytes string
function M.send(bytes)
  if vim.api.nvim_ui_send then
    vim.api.nvim_ui_send(bytes)
  else
    -- Neovim sends its stdout to the terminal.
    io.stdout:write(bytes)
  end
end

--- The bytes to send, by |rat-option-notify.terminal|.
---@type table<string, fun(chat: rat.Chat): string?>
local signals = {
  bell = function()
    return "\a"
  end,
  osc9 = function(chat)
    -- The name comes from the user's configuration, not from the agent.
    return ("\27]9;rat.nvim: %s\27\\"):format(chat.agent:gsub("[^%w_. -]", ""))
  end,
}

---@param chat rat.Chat
---@param text string
local function alert(chat, text)
  M.watch()
  ---@type {when: string, terminal: string}
  local options = config.get().notify
  if options.when == "never" then
    return
  end
  local is_visible = window.visible() == chat
  if not is_visible then
    notify.info(text)
  end
  local signal = signals[options.terminal]
  if signal and not (is_visible and has_focus) then
    M.send(signal(chat) --[[@as string]])
  end
end

--- Notifies the user of a new permission request.
---@param chat rat.Chat
---@param title string
function M.asked(chat, title)
  local text = "%s needs approval: %s (:RatPermission shows it)"
  alert(chat, text:format(registry.label(chat), title))
end

--- Notifies the user of the end of a turn, unless it was cancelled, has failed (the error was reported), or is followed by
--- a queued prompt.
---@param chat rat.Chat
---@param reason string ACP stop reason, or "error"
---@param next? boolean whether a queued prompt was sent at once
function M.ended(chat, reason, next)
  local waits = #(chat.status.queued or {}) > 0 and not chat.status.queue_paused
  if reason == "cancelled" or reason == "error" or next or waits then
    return
  end
  local how = reason == "end_turn" and "has finished" or "has stopped: " .. reason:gsub("_", " ")
  alert(chat, ("%s %s"):format(registry.label(chat), how))
end

return M
