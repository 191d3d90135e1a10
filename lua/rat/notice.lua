--- Tells of what happens where the user does not look: a request that waits, a turn that has ended. Each once.
local M = {}

local has_focus, is_following = true, false

--- Follows whether the user is in this terminal at all. One that never says so counts as looked at.
function M.watch()
  if is_following then
    return
  end
  is_following = true
  vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
    group = vim.api.nvim_create_augroup("rat_notice", {}),
    desc = "rat: is anybody there?",
    callback = function(args)
      has_focus = args.event == "FocusGained"
    end,
  })
end

---@param of rat.Chat
---@return boolean
local function is_in_sight(of)
  return require("rat.window").visible() == of
end

--- Sends bytes to the terminal. None of them may be an agent's.
---@param bytes string
function M.send(bytes)
  if vim.api.nvim_ui_send then
    vim.api.nvim_ui_send(bytes)
  else
    -- Neovim has it lead to the terminal.
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
  local in_sight = is_in_sight(of)
  if not in_sight then
    require("rat.say").info(text)
  end
  local signal = signals[options.terminal]
  if signal and not (in_sight and has_focus) then
    M.send(signal(of))
  end
end

---@param of rat.Chat
---@return string the agent and its folder
function M.whose(of)
  return ("%s in %s"):format(of.title, vim.fn.fnamemodify(of.cwd, ":t"))
end

--- A request has come.
---@param of rat.Chat
---@param title string
function M.asked(of, title)
  local text = "%s asks: %s (`:RatAllow`, `:RatDeny`, `:RatPermission`)"
  tell(of, text:format(M.whose(of), title))
end

--- A turn has ended. One that the user cancelled is no news; of one that failed they are told what happened. Where a queued
--- prompt follows, the agent is still at work.
---@param of rat.Chat
---@param reason string
function M.ended(of, reason)
  if reason == "cancelled" or reason == "error" or #(of.status.queued or {}) > 0 then
    return
  end
  local how = reason == "end_turn" and "has finished" or "has stopped: " .. reason:gsub("_", " ")
  tell(of, ("%s %s"):format(M.whose(of), how))
end

return M
