--- Tells the user about requests and finished turns of chats they are not looking at, once each.
local M = {}

local has_focus, is_following = true, false

--- Follows whether the terminal has the focus. One that never reports it counts as focused.
function M.watch()
  if is_following then
    return
  end
  is_following = true
  vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
    group = vim.api.nvim_create_augroup("rat_notice", {}),
    desc = "rat: whether the terminal has the focus",
    callback = function(args)
      has_focus = args.event == "FocusGained"
    end,
  })
end

--- Sends bytes to the terminal. They must not contain an agent's text.
---@param bytes string
function M.send(bytes)
  if vim.api.nvim_ui_send then
    vim.api.nvim_ui_send(bytes)
  else
    -- Neovim redirects it to the terminal.
    io.stdout:write(bytes)
  end
end

---@type table<string, fun(of: rat.Chat): string?>
local signals = {
  bell = function()
    return "\a"
  end,
  osc9 = function(of)
    -- The name is the user's own, from their configuration.
    return ("\27]9;rat.nvim: %s\27\\"):format(of.agent:gsub("[^%w_. -]", ""))
  end,
}

---@param of rat.Chat
---@param text string
local function tell(of, text)
  M.watch()
  local options = require("rat.config").get().notify
  if options.when == "never" then
    return
  end
  local in_sight = require("rat.window").visible() == of
  if not in_sight then
    require("rat.say").info(text)
  end
  local signal = signals[options.terminal]
  if signal and not (in_sight and has_focus) then
    M.send(signal(of))
  end
end

--- A request has come.
---@param of rat.Chat
---@param title string
function M.asked(of, title)
  local text = "%s asks: %s (`:RatAllow`, `:RatDeny`, `:RatPermission`)"
  tell(of, text:format(require("rat.chat").label(of), title))
end

--- A turn has ended. Says nothing about one that was cancelled, that failed (its error was reported) or that a queued prompt
--- follows.
---@param of rat.Chat
---@param reason string
function M.ended(of, reason)
  if reason == "cancelled" or reason == "error" or #(of.status.queued or {}) > 0 then
    return
  end
  local how = reason == "end_turn" and "has finished" or "has stopped: " .. reason:gsub("_", " ")
  tell(of, ("%s %s"):format(require("rat.chat").label(of), how))
end

return M
