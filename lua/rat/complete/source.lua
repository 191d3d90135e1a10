--- The common part of the sources for completion plugins: the completions of the prompt as LSP completion items. It does
--- not know the plugins and opens no menu.
local files = require("rat.complete.files")
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

---@param word string
---@param rank integer
---@param range lsp.Range
---@return lsp.CompletionItem
local function item(word, rank, range)
  local folder = word:sub(-1) == "/"
  return {
    label = one_line(word),
    kind = vim.lsp.protocol.CompletionItemKind[folder and "Folder" or "File"],
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
  local result = item("/" .. command.name, rank, range)
  -- Not Function: plugins add parentheses to those.
  result.kind = vim.lsp.protocol.CompletionItemKind.Keyword
  local hint, description = one_line(command.hint or ""), command.description or ""
  result.labelDetails = hint ~= "" and { detail = " " .. hint } or nil
  result.documentation = description ~= "" and { kind = "plaintext", value = description } or nil
  return result
end

--- Returns the completions at the cursor.
---@param chat rat.Chat
---@return lsp.CompletionItem[] items the best first; columns in bytes
local function items(chat)
  local start = prompt.start(chat)
  if not start then
    return {}
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  ---@cast row integer
  ---@cast column integer
  local typed = vim.api.nvim_get_current_line():sub(start + 1, column)
  local found = {}
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
    for rank, word in ipairs(files.words(typed, chat.cwd)) do
      found[rank] = item(word, rank, range())
    end
  end
  return found
end

--- Passes the completions at the cursor to a callback: at once, or, if there are none because files are still being listed,
--- after that.
---@param callback fun(items: lsp.CompletionItem[])
---@return fun() cancel
function M.request(callback)
  local chat = current_prompt()
  local found = chat and items(chat) or {}
  local buf, cancel = vim.api.nvim_get_current_buf(), nil
  if chat and #found == 0 and prompt.start(chat) then
    cancel = files.when_listed(chat.cwd, function()
      callback(vim.api.nvim_get_current_buf() == buf and items(chat) or {})
    end)
  end
  if not cancel then
    callback(found)
  end
  return cancel or function() end
end

return M
