--- Completion of `:Rat` commands, and of `/commands` and `@files` in the prompt. Never waits for a file list.
local M = {}

--- More files than this are not listed, more matches not offered.
local MOST_FILES, MOST_MATCHES = 50000, 200
--- A list older than this is made anew, in milliseconds.
local FRESH_MS = 5000

---@class rat.Files
---@field list string[] relative to the folder
---@field at integer when it was made, in milliseconds
---@field busy boolean it is being made

---@type table<string, rat.Files> by folder
local files = {}

---@param lead string
---@param candidates string[]
---@return string[]
local function starting_with(lead, candidates)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

--- Completes the argument of a `:Rat` command.
---@param lead string
---@param line string
---@return string[]
function M.command(lead, line)
  local name = line:match("Rat%u%l+")
  if name == "RatStart" then
    return starting_with(lead, require("rat.agents").names())
  elseif name == "RatSessions" then
    return starting_with(lead, require("rat.sessions").acts)
  elseif name == "RatMode" or name == "RatOption" then
    local words = vim.split(vim.trim(line:sub(1, #line - #lead)), "%s+")
    return starting_with(
      lead,
      require("rat.options").words(name == "RatMode" and "mode" or words[2])
    )
  elseif name == "RatSend" then
    return M.words(lead, vim.fn.getcwd())
  end
  return {}
end

--- The files, and the folders they are in.
---@param list string[]
---@return string[]
local function with_folders(list)
  local all, seen = vim.list_slice(list), {}
  for _, path in ipairs(list) do
    local folder = path:match("^.*/")
    while folder and not seen[folder] do
      seen[folder] = true
      all[#all + 1] = folder
      folder = folder:sub(1, -2):match("^.*/")
    end
  end
  return all
end

---@param folder string
---@param found rat.Files
---@param list string[]
local function settle(folder, found, list)
  found.list, found.busy, found.at = with_folders(list), false, vim.uv.now()
  if M.waiting == folder then
    M.waiting = nil
    M.again()
  end
end

--- Lists a folder that git knows nothing of, a folder at a time.
---@param folder string
---@param callback fun(list: string[])
local function walk(folder, callback)
  local list, folders = {}, { "" }
  local function step()
    local below = table.remove(folders, 1)
    if not below or #list >= MOST_FILES then
      return vim.schedule(function()
        callback(list)
      end)
    end
    vim.uv.fs_scandir(folder .. "/" .. below, function(_, entries)
      while entries do
        local name, kind = vim.uv.fs_scandir_next(entries)
        if not name then
          break
        elseif kind == "directory" and not name:match("^%.") and name ~= "node_modules" then
          folders[#folders + 1] = below .. name .. "/"
        elseif kind == "file" then
          list[#list + 1] = below .. name
        end
      end
      step()
    end)
  end
  step()
end

---@param text string names, each ended by NUL
---@return string[]
local function names(text)
  local list = {}
  for name in text:gmatch("[^%z]+") do
    list[#list + 1] = name
    if #list >= MOST_FILES then
      break
    end
  end
  return list
end

--- Has the files of a folder listed, unless that was done a moment ago.
---@param folder string
function M.warm(folder)
  local found = files[folder] or { list = {}, at = -FRESH_MS, busy = false }
  files[folder] = found
  if found.busy or vim.uv.now() - found.at < FRESH_MS then
    return
  end
  found.busy = true
  local function fallback()
    walk(folder, function(list)
      settle(folder, found, list)
    end)
  end
  local command = { "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard" }
  local options = { cwd = folder, env = { GIT_OPTIONAL_LOCKS = "0" } }
  local started = pcall(vim.system, command, options, function(result)
    vim.schedule(function()
      if result.code ~= 0 then
        return fallback()
      end
      settle(folder, found, names(result.stdout or ""))
    end)
  end)
  if not started then
    fallback()
  end
end

--- `@path` for the files that match.
---@param lead string with the `@`
---@param folder string
---@return string[] the best first
function M.words(lead, folder)
  if not vim.startswith(lead, "@") then
    return {}
  end
  M.warm(folder)
  local found = files[folder]
  local wanted = lead:sub(2)
  local list = wanted == "" and found.list or vim.fn.matchfuzzy(found.list, wanted)
  local words = {}
  for _, path in ipairs(vim.list_slice(list, 1, MOST_MATCHES)) do
    -- What would be shown as another name is not what the user means.
    if require("rat.text").one_line(path) == path then
      words[#words + 1] = "@" .. path
    end
  end
  return words
end

--- Where the word before the cursor starts, if it is one we complete.
---@param of rat.Chat
---@return integer? column from 0
local function start_column(of)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local before = vim.api.nvim_get_current_line():sub(1, column)
  -- Names of commands may hold spaces.
  local slash = before:match("^/")
  if row == 1 and slash and (#before == 1 or #require("rat.slash").matching(of, before) > 0) then
    return 0
  end
  local at = before:match("^.*%f[@]()@[^%s]*$") or before:match("^()@[^%s]*$")
  if at and (at == 1 or before:sub(at - 1, at - 1):match("[%s(]")) then
    return at - 1
  end
end

--- 'completefunc' of the prompt, |complete-functions|.
---@param findstart integer
---@param base string
---@return integer|table
function M.prompt(findstart, base)
  local of = require("rat.chat").of(vim.api.nvim_get_current_buf())
  if findstart == 1 then
    return of and start_column(of) or -3
  elseif not of then
    return {}
  elseif vim.startswith(base, "/") then
    return { words = require("rat.slash").words(of, base) }
  end
  local found = M.words(base, of.cwd)
  M.waiting = files[of.cwd].busy and #found == 0 and of.cwd or nil
  return { words = found, refresh = "always" }
end

--- Inserts nothing before the user chooses it.
local CHOSEN_ONLY = "menuone,noselect"

--- Opens the menu with 'completeopt' set for it, and restores the option once the menu is closed. Before 0.11 it has no
--- buffer-local value.
local function open_menu()
  local has_local = vim.fn.has("nvim-0.11") == 1
  local where = has_local and { buf = vim.api.nvim_get_current_buf() } or { scope = "global" }
  local group = vim.api.nvim_create_augroup("rat_complete", { clear = false })
  if #vim.api.nvim_get_autocmds({ group = group }) == 0 then
    local before = vim.api.nvim_get_option_value("completeopt", where)
    vim.api.nvim_set_option_value("completeopt", CHOSEN_ONLY, where)
    vim.api.nvim_create_autocmd({ "CompleteDone", "InsertLeave", "BufLeave" }, {
      group = group,
      desc = "rat: restore 'completeopt'",
      callback = function()
        vim.api.nvim_clear_autocmds({ group = group })
        if not where.buf or vim.api.nvim_buf_is_valid(where.buf) then
          vim.api.nvim_set_option_value("completeopt", before, where)
        end
      end,
    })
  end
  vim.api.nvim_feedkeys(vim.keycode("<C-x><C-u>"), "n", false)
end

--- Completes again once the files are listed, if the user still waits for them.
function M.again()
  local waits = vim.api.nvim_get_mode().mode:match("^i")
  local of = waits and require("rat.chat").of(vim.api.nvim_get_current_buf())
  if of and vim.bo.filetype == "ratprompt" and start_column(of) then
    open_menu()
  end
end

--- Offers what completes a /command or an @file while it is typed.
function M.as_typed()
  local is_wanted = require("rat.config").get().complete == "typed"
  if not is_wanted or vim.fn.pumvisible() == 1 or vim.fn.reg_executing() ~= "" then
    return
  end
  local of = require("rat.chat").of(vim.api.nvim_get_current_buf())
  local start = of and start_column(of)
  if not start then
    return
  end
  local typed = vim.api.nvim_get_current_line():sub(start + 1, vim.api.nvim_win_get_cursor(0)[2])
  local words = M.prompt(0, typed).words
  local first = words[1]
  if not first or #words == 1 and (first.word or first) == typed then
    return
  end
  open_menu()
end

return M
