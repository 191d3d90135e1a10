--- Loads files into buffers for language servers, as if the user had opened them, but without a window, a swap file or what
--- filetype plugins do for typing. Once the user enters such a buffer, it is opened as usual.
local paths = require("rat.document.paths")

local api = vim.api
local M = {}

--- The largest file that is loaded, in bytes.
local MOST_BYTES = 4 * 1024 * 1024

--- Buffers that were loaded here and not entered since: when, and with which 'changedtick'.
---@type table<integer, {at: integer, tick: integer}>
local hidden = {}

--- Makes a buffer as it would be if the user had opened it, in the window they look at it.
---@param buf integer
local function open_as_usual(buf)
  vim.b[buf].did_ftplugin, vim.b[buf].did_indent = nil, nil
  vim.bo[buf].swapfile = vim.go.swapfile
  if vim.bo[buf].modified or vim.fn.undotree().seq_last > 0 then
    -- Reading it again would be an undo step of its own after those of the agent.
    vim.bo[buf].filetype = vim.bo[buf].filetype
    return
  end
  local lines = vim.o.undoreload
  vim.o.undoreload = 0
  pcall(vim.cmd.edit, { mods = { silent = true, emsg_silent = true } })
  vim.o.undoreload = lines
end

--- Waits until the user enters one of these buffers, or wipes it out.
local function watch()
  local group = api.nvim_create_augroup("rat_tools_files", {})
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    desc = "rat: forget a file that was loaded for a language server",
    callback = function(event)
      hidden[event.buf] = nil
    end,
  })
  api.nvim_create_autocmd("BufEnter", {
    group = group,
    desc = "rat: open a file as usual that was loaded for a language server",
    callback = function(event)
      local buf = event.buf
      if not hidden[buf] or vim.fn.bufwinid(buf) < 0 then
        return
      end
      hidden[buf] = nil
      vim.schedule(function()
        local win = api.nvim_buf_is_valid(buf) and vim.fn.bufwinid(buf) or -1
        if win >= 0 then
          api.nvim_win_call(win, function()
            open_as_usual(buf)
          end)
        end
      end)
    end,
  })
end

---@param path string
---@return integer? buf
---@return string? problem
local function load(path)
  if next(hidden) == nil then
    watch()
  end
  -- By the name that `:edit` would give it.
  local buf = vim.fn.bufadd(vim.fn.fnamemodify(path, ":."))
  vim.bo[buf].swapfile = false
  -- The filetype has to be set for language servers; what it sets up for typing takes too long.
  vim.b[buf].did_ftplugin, vim.b[buf].did_indent = 1, 1
  local ignored = vim.o.eventignore
  vim.opt.eventignore:append({ "Syntax", "BufEnter", "BufWinEnter", "SwapExists" })
  local ok, problem = pcall(vim.fn.bufload, buf)
  vim.o.eventignore = ignored
  if not ok or not api.nvim_buf_is_loaded(buf) then
    return nil, ("it cannot be loaded: %s"):format(vim.split(tostring(problem), "\n")[1])
  end
  hidden[buf] = { at = vim.uv.now(), tick = api.nvim_buf_get_changedtick(buf) }
  return buf
end

--- Finds the buffer of a file, or loads one.
---@param path string real path
---@return integer? buf
---@return string? problem
function M.buffer(path)
  local buf = paths.find(path)
  if buf then
    return buf
  end
  local facts = vim.uv.fs_stat(path)
  if not facts then
    return nil, ("%s does not exist"):format(path)
  elseif facts.type ~= "file" then
    return nil, ("%s is not a file"):format(path)
  elseif facts.size > MOST_BYTES then
    return nil, ("%s is too large for a language server"):format(path)
  end
  local loaded, problem = load(path)
  if not loaded then
    return nil, ("%s: %s"):format(path, problem)
  end
  return loaded
end

--- Returns when a buffer was loaded here, and its 'changedtick' then. nil if the user has opened it.
---@param buf integer
---@return {at: integer, tick: integer}?
function M.loaded(buf)
  return hidden[buf]
end

return M
