--- Takes over the windows of a chat that a session file has restored. It opens and closes none.
local layouts = require("rat.view.layouts")
local size = require("rat.view.size")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

--- Restores nothing once a chat is hidden: the windows before it are not known.
local NOTHING = { list = {}, sizes = "", views = {}, editor = {} }

--- Makes the windows of a chat ours in all tab pages: the file may contain other options than those of a chat, and knows
--- nothing of layouts.
---@param chat rat.Chat
function M.adopt(chat)
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    local found, layout = layouts.existing(chat, tab), layouts.of(tab)
    if next(found) and layouts.is_empty(layout) then
      layout = { chat = chat, windows = {}, before = NOTHING, size = size.new() }
      layouts.all[tab] = layout
    end
    for view, win in pairs(found) do
      window_options.apply(win, view)
      local fixed = view == "chat" and size.fixed_side() or "winfixheight"
      window_options.set(win, { [fixed] = true })
      if layout and layout.chat == chat then
        layouts.claim(layout, view, win)
      end
    end
  end
  local here = layouts.of()
  if here and here.chat == chat then
    size.remember(here)
  end
end

return M
