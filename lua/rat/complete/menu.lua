--- Completion in the prompt by Neovim's own menu: the 'completefunc', and opening the menu as the user types, unless a
--- completion plugin offers the same.
local config = require("rat.config")
local plugins = require("rat.complete.plugins")
local prompt = require("rat.complete.prompt")
local registry = require("rat.chat.registry")

local M = {}

--- Whether the keys that open the menu are on their way. The menu before it ends with them.
local is_opening = false

--- 'completefunc' of the prompt, |complete-functions|.
---@param findstart integer
---@param base string
---@return integer|table
function M.completefunc(findstart, base)
  local chat = registry.of(vim.api.nvim_get_current_buf())
  if findstart == 1 then
    return chat and prompt.start(chat) or -3
  end
  is_opening = false
  if not chat then
    return {}
  end
  local found = prompt.words(chat, base, M.renew)
  return { words = found, refresh = not vim.startswith(base, "/") and "always" or nil }
end

--- 'completeopt' for our menu: nothing is inserted until the user chooses it.
local COMPLETEOPT = "menuone,noselect"

--- Sets our 'completeopt', and restores the option when the menu closes. Before 0.11 the option has no buffer-local value.
local function set_options()
  local has_local = vim.fn.has("nvim-0.11") == 1
  local where = has_local and { buf = vim.api.nvim_get_current_buf() } or { scope = "global" }
  local group = vim.api.nvim_create_augroup("rat_complete", { clear = false })
  if #vim.api.nvim_get_autocmds({ group = group }) > 0 then
    return
  end
  local before = vim.api.nvim_get_option_value("completeopt", where)
  vim.api.nvim_set_option_value("completeopt", COMPLETEOPT, where)
  vim.api.nvim_create_autocmd({ "CompleteDone", "InsertLeave", "BufLeave" }, {
    group = group,
    desc = "rat: restore 'completeopt'",
    callback = function(args)
      if is_opening and args.event == "CompleteDone" then
        return
      end
      is_opening = false
      vim.api.nvim_clear_autocmds({ group = group })
      if not where.buf or vim.api.nvim_buf_is_valid(where.buf) then
        vim.api.nvim_set_option_value("completeopt", before, where)
      end
    end,
  })
end

local function open_menu()
  if not is_opening then
    set_options()
    is_opening = true
    vim.api.nvim_feedkeys(vim.keycode("<C-x><C-u>"), "n", false)
  end
end

--- Shows what has arrived since the menu was opened, if the user is still typing a word that completes and has chosen
--- nothing.
function M.renew()
  local inserting = vim.api.nvim_get_mode().mode:match("^i")
  local chat = inserting and registry.of(vim.api.nvim_get_current_buf())
  local start = chat and vim.bo.filetype == "ratprompt" and prompt.start(chat)
  if start and vim.fn.complete_info({ "selected" }).selected == -1 then
    open_menu()
  end
end

--- Opens the menu while a /command or an @file is typed, |rat-option-complete|.
function M.as_typed()
  local is_wanted = config.get().complete == "typed"
  if not is_wanted or vim.fn.pumvisible() == 1 or vim.fn.reg_executing() ~= "" then
    return
  elseif plugins.is_active() then
    return
  end
  local chat = registry.of(vim.api.nvim_get_current_buf())
  local start = chat and prompt.start(chat)
  if not start then
    return
  end
  local typed = vim.api.nvim_get_current_line():sub(start + 1, vim.api.nvim_win_get_cursor(0)[2])
  local words = prompt.words(chat --[[@as rat.Chat]], typed, M.renew)
  local first = words[1]
  if not first or #words == 1 and (first.word or first) == typed then
    return
  end
  open_menu()
end

return M
