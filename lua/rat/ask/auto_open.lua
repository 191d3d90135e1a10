--- Decides when a window may open that the user did not ask for, and which of the keys typed then are meant for it.
local buffers = require("rat.chat.buffers")
local config = require("rat.config")
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local scratch = require("rat.view.scratch")

local M = {}

--- A window that opened by itself ignores keys until the user has typed nothing for this long, in milliseconds: keys
--- typed until then were meant for something else.
local PAUSE_MS = 500

--- Whether a window of a chat may open by itself where the user is now, by |rat-option-permission.open|. Never over a
--- prompt that holds text.
---@param chat rat.Chat
---@return boolean
function M.may_open(chat)
  local policy = config.get().permission.open
  local here = registry.of(vim.api.nvim_get_current_buf())
  if policy == "never" or (here and not scratch.is_empty(buffers.get(here, "prompt"))) then
    return false
  end
  return policy == "always" or here == chat
end

--- Returns the keys that a user may be typing, in |key-notation|.
---@return string[]
function M.all_keys()
  local keys = { "<lt>", "<Bar>", "<Bslash>", "<Space>", "<CR>", "<Tab>", "<BS>", "<Del>", "<Esc>" }
  vim.list_extend(keys, { "<Up>", "<Down>", "<Left>", "<Right>", "<Home>", "<End>" })
  vim.list_extend(keys, { "<PageUp>", "<PageDown>", "<Insert>" })
  for byte = 0x21, 0x7e do
    local char = string.char(byte)
    if not char:find("[<|\\]") then
      keys[#keys + 1] = char
    end
  end
  for byte = 0x61, 0x7a do
    keys[#keys + 1] = ("<C-%s>"):format(string.char(byte))
  end
  return keys
end

--- Maps all keys in buffers that opened by themselves to nothing until the user pauses.
---@param bufs integer[]
---@param on_pause fun() called when keys are no longer ignored, unless the first buffer is gone
function M.hold_keys(bufs, on_pause)
  local timer = assert(vim.uv.new_timer())
  local keys = M.all_keys()
  local function release()
    timer:close()
    if not vim.api.nvim_buf_is_valid(bufs[1]) then
      return
    end
    for _, buf in ipairs(bufs) do
      for _, lhs in ipairs(vim.api.nvim_buf_is_valid(buf) and keys or {}) do
        pcall(vim.keymap.del, "n", lhs, { buffer = buf })
      end
    end
    notify.guard("keys", on_pause)()
  end
  local function restart_timer()
    if not timer:is_closing() then
      timer:start(PAUSE_MS, 0, vim.schedule_wrap(release))
    end
  end
  for _, buf in ipairs(bufs) do
    for _, lhs in ipairs(keys) do
      vim.keymap.set(
        "n",
        lhs,
        restart_timer,
        { buffer = buf, nowait = true, desc = "rat: ignored until you pause" }
      )
    end
  end
  restart_timer()
end

--- Lua patterns of the keys that can only select in a picker: moves, the mouse, digits.
local SELECTING = { "<Up>", "<Down>", "<C%-[NPJK]>", "<S?%-?Tab>", "%d" }
vim.list_extend(SELECTING, { "<[%w-]*Mouse>", "<[%w-]*Release>", "<[%w-]*ScrollWheel%a+>" })

--- Watches what the user types in a picker of another plugin that opened by itself. An answer is meant if nothing was
--- typed, or, after a pause, only keys that select.
---@return fun(): boolean is_meant ends the watch and returns whether an answer given now is meant
function M.watch_keys()
  local last, typed, paused = vim.uv.now(), "", false
  local namespace = vim.on_key(function(key, raw)
    local now = vim.uv.now()
    if typed == "" then
      paused = now - last >= PAUSE_MS
    end
    typed, last = typed .. vim.fn.keytrans(raw or key or ""), now
  end)
  return function()
    vim.on_key(nil, namespace)
    if typed == "" then
      return true
    end
    local selecting = typed:gsub("<CR>$", "")
    local rest = selecting
    for _, pattern in ipairs(SELECTING) do
      rest = rest:gsub(pattern, "")
    end
    return paused and selecting ~= "" and rest == ""
  end
end

return M
