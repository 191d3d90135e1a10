--- The common part of the sources for completion plugins: the completions of the prompt as LSP completion items. It does
--- not know the plugins and opens no menu.
local one_line = require("rat.util.text").one_line
local prompt = require("rat.complete.prompt")
local registry = require("rat.chat.registry")
local slash = require("rat.chat.slash")

local M = {}

--- Trigger characters. Plugins ask again after letters by themselves, so these are all other characters that a name may
--- contain.
local PUNCTUATION = vim.split("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "")

---@return rat.Chat? # the chat whose prompt is the current buffer
local function current_prompt()
  local chat, view = registry.of(vim.api.nvim_get_current_buf())
  return view == "prompt" and chat or nil
end

--- Whether the current buffer is a prompt.
---@return boolean
function M.is_prompt()
  return current_prompt() ~= nil
end

--- Returns the start of the word at the cursor, if it can be completed.
---@return integer? column from 0
function M.start()
  local chat = current_prompt()
  return chat and prompt.start(chat)
end

--- Returns the trigger characters; none where nothing can be completed.
---@return string[]
function M.triggers()
  return M.start() and PUNCTUATION or {}
end

--- Kinds of completion items by what is completed.
---@type table<string, string>
local KINDS = { context = "Reference", file = "File", folder = "Folder" }

---@param word string
---@param kind "context"|"file"|"folder"
---@param rank integer
---@param range lsp.Range
---@return lsp.CompletionItem
local function item(word, kind, rank, range)
  return {
    label = one_line(word),
    kind = vim.lsp.protocol.CompletionItemKind[KINDS[kind]],
    filterText = word,
    sortText = ("%05d"):format(rank),
    insertTextFormat = vim.lsp.protocol.InsertTextFormat.PlainText,
    textEdit = { newText = word, range = range },
  }
end

---@param command rat.SlashCommand
---@param rank integer
---@param range lsp.Range
---@return lsp.CompletionItem
local function command_item(command, rank, range)
  local result = item("/" .. command.name, "file", rank, range)
  -- Not Function: plugins add parentheses to those.
  result.kind = vim.lsp.protocol.CompletionItemKind.Keyword
  local hint, description = one_line(command.hint or ""), command.description or ""
  result.labelDetails = hint ~= "" and { detail = " " .. hint } or nil
  result.documentation = description ~= "" and { kind = "plaintext", value = description } or nil
  return result
end

---@param completion rat.Completion
---@param rank integer
---@param range lsp.Range
---@return lsp.CompletionItem
local function mention_item(completion, rank, range)
  local result = item(completion.word, completion.kind, rank, range)
  local about = completion.about
  result.labelDetails = about and { description = one_line(about) } or nil
  return result
end

--- Returns the completions at the cursor.
---@param chat rat.Chat
---@param later fun() called when there is more to offer
---@return lsp.CompletionItem[] items the best first; columns in bytes
---@return boolean is_incomplete whether `later` will be called
local function items(chat, later)
  local start = prompt.start(chat)
  if not start then
    return {}, false
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  ---@cast row integer
  ---@cast column integer
  local typed = vim.api.nvim_get_current_line():sub(start + 1, column)
  local found, is_incomplete = {}, false
  ---@return lsp.Range
  local function range()
    return {
      start = { line = row - 1, character = start },
      ["end"] = { line = row - 1, character = column },
    }
  end
  if vim.startswith(typed, "/") then
    for rank, command in ipairs(slash.matching(chat, typed)) do
      found[rank] = command_item(command, rank, range())
    end
  else
    local mentions, more = prompt.mentions(chat, typed, later)
    is_incomplete = more
    for rank, completion in ipairs(mentions) do
      found[rank] = mention_item(completion, rank, range())
    end
  end
  return found, is_incomplete
end

--- Passes the completions at the cursor to a callback, once all that was asked for them has answered.
---@param callback fun(items: lsp.CompletionItem[])
---@return fun() cancel
function M.request(callback)
  local buf, is_done = vim.api.nvim_get_current_buf(), false
  local function try()
    local chat = vim.api.nvim_get_current_buf() == buf and current_prompt()
    if is_done then
      return
    end
    local found, is_incomplete = {}, false
    if chat then
      found, is_incomplete = items(chat, try)
    end
    if not is_incomplete then
      is_done = true
      callback(found)
    end
  end
  try()
  return function()
    is_done = true
  end
end

return M
