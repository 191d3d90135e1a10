--- Where something that an agent wants may open by itself, and which keys are meant for it then.
local chat = require("rat.chat")

local M = {}

--- What opened by itself takes no key before none has come for so long, in milliseconds: those on their way were typed for
--- something else.
local PAUSE_MS = 500

--- Whether something of a chat may open by itself where the user is: not in a file, unless they have chosen so, and never
--- over a prompt that holds text.
---@param of rat.Chat
---@return boolean
function M.is_free(of)
  local policy = require("rat.config").get().permission.open
  local here = chat.of(vim.api.nvim_get_current_buf())
  if
    policy == "never" or (here and not require("rat.scratch").is_empty(chat.buffer(here, "prompt")))
  then
    return false
  end
  return policy == "always" or here == of
end

--- Every key that a user may be typing.
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

--- Holds every key back from buffers that opened by themselves until the user pauses.
---@param bufs integer[]
---@param on_pause fun() from now on keys are meant for them; not called once the first of them is gone
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
    require("rat.say").guard("keys", on_pause)()
  end
  local function wait()
    if not timer:is_closing() then
      timer:start(PAUSE_MS, 0, vim.schedule_wrap(release))
    end
  end
  for _, buf in ipairs(bufs) do
    for _, lhs in ipairs(keys) do
      vim.keymap.set(
        "n",
        lhs,
        wait,
        { buffer = buf, nowait = true, desc = "rat: not meant for this" }
      )
    end
  end
  wait()
end

--- What selects in a picker and is nothing else, as Lua patterns: moves, the mouse, a number.
local SELECTING = { "<Up>", "<Down>", "<C%-[NPJK]>", "<S?%-?Tab>", "%d" }
vim.list_extend(SELECTING, { "<[%w-]*Mouse>", "<[%w-]*Release>", "<[%w-]*ScrollWheel%a+>" })

--- Watches what the user types, for what opened by itself and whose keys are not ours.
---@return fun(): boolean meant whether nothing but an answer was typed, after a pause; ends the watch
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
