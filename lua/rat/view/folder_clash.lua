--- Protects our buffers where a folder named `rat:` exists: netrw and other plugins that show folders would take a buffer
--- name such as `rat://claude/1` for a path in it, and replace the buffer, its window or its text.
local notify = require("rat.util.notify")

local api = vim.api
local M = {}

--- Folders that the user has been warned about.
---@type table<string, true>
local warned = {}

local watching = false

--- Whether |BufEnter| is being ignored.
local ignoring = false

local function warn()
  local folder = vim.fn.fnamemodify("rat:", ":p")
  if not warned[folder] then
    warned[folder] = true
    local text =
      "The folder %s confuses file explorers, which take chats for files in it. Rename it."
    notify.warn(text:format(vim.fs.normalize(folder, { expand_env = false })))
  end
end

--- Fires the |BufEnter| that was ignored, if the user has entered a buffer that is not ours.
---@param buf integer the buffer that was left
local function fire_missed_event(buf)
  local now = api.nvim_get_current_buf()
  if now ~= buf and not vim.startswith(api.nvim_buf_get_name(now), "rat://") then
    api.nvim_exec_autocmds("BufEnter", { buffer = now, modeline = false })
  end
end

--- Ignores the |BufEnter| that is about to fire, on which such plugins check the name of the buffer.
local function ignore_buf_enter()
  local before = vim.o.eventignore
  if ignoring or before == "all" or vim.fn.isdirectory("rat:") == 0 then
    return
  end
  ignoring = true
  local left = api.nvim_get_current_buf()
  vim.o.eventignore = before == "" and "BufEnter" or before .. ",BufEnter"
  vim.schedule(function()
    ignoring = false
    vim.o.eventignore = before
    fire_missed_event(left)
  end)
  warn()
end

--- Starts protecting all buffers of ours.
function M.watch()
  if watching then
    return
  end
  watching = true
  local group = api.nvim_create_augroup("rat_folder_clash", {})
  local desc = "rat: keep file explorers away from chats"
  -- BufLeave does not tell which buffer will be entered, so this has no pattern.
  api.nvim_create_autocmd("BufLeave", { group = group, desc = desc, callback = ignore_buf_enter })
  api.nvim_create_autocmd("WinEnter", {
    group = group,
    pattern = "rat://*",
    desc = desc,
    callback = ignore_buf_enter,
  })
end

return M
