--- A folder may have the path that the name of a buffer of ours spells: netrw and other plugins that show folders then
--- take the buffer for that folder, and its window or even its text with it. Keeps them from it.
local api = vim.api
local M = {}

--- Folders of which the user was told.
---@type table<string, true>
local told = {}

local watching = false

--- Whether |BufEnter| is being ignored.
local hushed = false

local function tell()
  local folder = vim.fn.fnamemodify("rat:", ":p")
  if not told[folder] then
    told[folder] = true
    local text =
      "move %s away: chats have the names of what is in it, and plugins that show folders mix them up"
    require("rat.say").warn(text:format(vim.fs.normalize(folder, { expand_env = false })))
  end
end

--- Lets the others know of a buffer that they have not seen entered.
---@param buf integer the one that was left
local function catch_up(buf)
  local now = api.nvim_get_current_buf()
  if now ~= buf and not vim.startswith(api.nvim_buf_get_name(now), "rat://") then
    api.nvim_exec_autocmds("BufEnter", { buffer = now, modeline = false })
  end
end

--- All such plugins look at the name of a buffer on |BufEnter|, which comes next.
local function hush()
  local before = vim.o.eventignore
  if hushed or before == "all" or vim.fn.isdirectory("rat:") == 0 then
    return
  end
  hushed = true
  local left = api.nvim_get_current_buf()
  vim.o.eventignore = before == "" and "BufEnter" or before .. ",BufEnter"
  vim.schedule(function()
    hushed = false
    vim.o.eventignore = before
    catch_up(left)
  end)
  tell()
end

--- Looks after all buffers of ours, from now on.
function M.watch()
  if watching then
    return
  end
  watching = true
  local group = api.nvim_create_augroup("rat_lookalike", {})
  local desc = "rat: a folder with the name of a chat is not meant"
  -- Which buffer will be entered is not known yet.
  api.nvim_create_autocmd("BufLeave", { group = group, desc = desc, callback = hush })
  api.nvim_create_autocmd("WinEnter", {
    group = group,
    pattern = "rat://*",
    desc = desc,
    callback = hush,
  })
end

return M
