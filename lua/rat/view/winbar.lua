--- Composes the winbars of a chat's windows. It sets none.
local status = require("rat.chat.status")

local M = {}

---@type table<rat.View, fun(chat: rat.Chat, width: integer): string>
local bars = {
  chat = status.transcript_bar,
  prompt = status.prompt_bar,
  plan = function(chat)
    local plan = chat.status.plan
    return plan and ("%%#RatBar# Plan %%*%d of %d"):format(plan.done, plan.total)
      or "%#RatBar# Plan %*"
  end,
  tools = function()
    return "%#RatBar# Tool calls %*"
  end,
}

--- Returns the |'winbar'| of a window that shows a view.
---@param chat rat.Chat
---@param view rat.View
---@param width integer of the window, in columns
---@return string
function M.text(chat, view, width)
  return bars[view](chat, width)
end

return M
