--- Keeps what the providers that a prompt mentions would attach now, for the rows above its text. What is sent is collected
--- anew.
local punctuation = require("rat.util.punctuation")
local mention = require("rat.chat.mention")
local registry = require("rat.chat.registry")
local resolve = require("rat.context.resolve")
local text_of = require("rat.util.text")

local M = {}

---@class rat.Chip
---@field word string the mention
---@field found? rat.Resolved nil while it is being collected

--- How long the user has to pause before mentions are looked up, in milliseconds: they may still be typing the name.
local PAUSE_MS = 150

---@type fun(chat: rat.Chat)[]
local listeners = {}

--- Calls a listener whenever the chips of a chat have changed.
---@param listener fun(chat: rat.Chat)
function M.on_change(listener)
  listeners[#listeners + 1] = listener
end

---@param chat rat.Chat
local function changed(chat)
  for _, listener in ipairs(listeners) do
    listener(chat)
  end
end

---@param chat rat.Chat
---@return rat.Mention[]
local function mentions_of(chat)
  local buf = chat.buffers.prompt
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return {}
  end
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  -- Most prompts name none.
  return text:find("@", 1, true) and mention.contexts(text) or {}
end

--- Looks the mentions of a prompt up.
---@param chat rat.Chat
---@param anew? boolean also those that were looked up before
function M.update(chat, anew)
  ---@type table<string, rat.Chip>
  local before = {}
  for _, chip in ipairs(chat.mentions) do
    before[chip.word] = chip
  end
  local had = #chat.mentions
  chat.mentions = {}
  for i, one in ipairs(mentions_of(chat)) do
    local chip = before[one.word] or { word = one.word }
    chat.mentions[i] = chip
    if anew or not before[one.word] then
      resolve.mention(one, chat.cwd, function(found)
        chip.found = found
        if vim.list_contains(chat.mentions, chip) then
          changed(chat)
        end
      end)
    end
  end
  if had > 0 or #chat.mentions > 0 then
    changed(chat)
  end
end

--- Describes a chip: the mention, how many entries, and their size.
---@param chip rat.Chip
---@return string
function M.describe(chip)
  local found = chip.found
  if not found then
    return chip.word .. punctuation.own(" …")
  elseif found.problem then
    return ("%s: %s"):format(chip.word, found.problem)
  end
  local bytes = 0
  for _, attachment in ipairs(found.attachments) do
    bytes = bytes + #(attachment.text or "")
  end
  local count = found.count and (" %d"):format(found.count) or ""
  return ("%s%s (%s)"):format(chip.word, count, text_of.size(bytes))
end

--- Keeps the chips of a prompt up to date.
---@param buf integer a prompt
function M.attach(buf)
  local timer = assert(vim.uv.new_timer())
  local group = vim.api.nvim_create_augroup("rat_chips_" .. buf, {})
  ---@param anew boolean
  local function update(anew)
    local chat, view = registry.of(buf)
    -- Rows above the text would push it below an open menu.
    if chat and view == "prompt" and vim.fn.pumvisible() == 0 then
      M.update(chat, anew)
    end
  end
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "CompleteDone" }, {
    group = group,
    buffer = buf,
    desc = "rat: look up what is mentioned",
    callback = function()
      timer:start(
        PAUSE_MS,
        0,
        vim.schedule_wrap(function()
          update(false)
        end)
      )
    end,
  })
  vim.api.nvim_create_autocmd("BufEnter", {
    group = group,
    buffer = buf,
    desc = "rat: look up anew what is mentioned",
    callback = vim.schedule_wrap(function()
      update(true)
    end),
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buf,
    once = true,
    callback = function()
      timer:close()
    end,
  })
end

return M
