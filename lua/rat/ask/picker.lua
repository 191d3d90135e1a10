--- Closes the picker that another plugin opened for our `vim.ui.select()` call, once its question is answered elsewhere.
--- Other open pickers are left alone.
local notify = require("rat.util.notify")

local M = {}

--- Returns the picker of snacks.nvim that a buffer belongs to.
---@param buf integer
---@return table?
local function snacks_picker(buf)
  return vim
    .iter(require("snacks").picker.get({ source = "select", tab = false }))
    :find(function(picker)
      return picker.input.win.buf == buf or picker.list.win.buf == buf
    end)
end

--- Functions that close a picker, by the filetype of its buffer.
---@type table<string, fun(buf: integer)>
local closers = {
  TelescopePrompt = function(buf)
    require("telescope.actions").close(buf)
  end,
  snacks_picker_input = function(buf)
    snacks_picker(buf):close()
  end,
  fzf = function()
    require("fzf-lua").win.close()
  end,
  minipick = function()
    require("mini.pick").stop()
  end,
  DressingSelect = function(buf)
    vim.api.nvim_win_close(vim.fn.bufwinid(buf), true)
  end,
}
closers.snacks_picker_list = closers.snacks_picker_input

---@param win integer
---@return boolean
local function is_float(win)
  return vim.api.nvim_win_get_config(win).relative ~= ""
end

---@class rat.Picker
---@field buf? integer its buffer, once a picker with a known filetype has opened
---@field before table<integer, true> floating windows that were open before it
---@field watch? {autocmd: integer, keys: integer} while it has not opened

--- Stops waiting for a picker to open.
---@param picker rat.Picker
function M.forget(picker)
  if picker.watch then
    vim.api.nvim_del_autocmd(picker.watch.autocmd)
    vim.on_key(nil, picker.watch.keys)
    picker.watch = nil
  end
end

--- Waits for the next picker to open. To be called right before `vim.ui.select()`.
---@return rat.Picker
function M.watch()
  ---@type rat.Picker
  local picker = { before = {} }
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    picker.before[win] = is_float(win) or nil
  end
  local autocmd = vim.api.nvim_create_autocmd("FileType", {
    pattern = vim.tbl_keys(closers),
    desc = "rat: find the picker that opened",
    callback = function(args)
      picker.buf = args.buf
      M.forget(picker)
    end,
  })
  -- After a key the user may have opened a picker of their own, so one that opens then is not taken for ours.
  local keys = vim.on_key(function(_, typed)
    if typed and typed ~= "" then
      M.forget(picker)
    end
  end)
  picker.watch = { autocmd = autocmd, keys = keys }
  return picker
end

--- Closes the picker. If it is of an unknown plugin, tells the user that it has no effect any more.
---@param picker rat.Picker
function M.close(picker)
  M.forget(picker)
  local buf = picker.buf
  if buf then
    if vim.api.nvim_buf_is_valid(buf) and #vim.fn.win_findbuf(buf) > 0 then
      pcall(closers[vim.bo[buf].filetype], buf)
    end
    return
  end
  local win = vim.api.nvim_get_current_win()
  if is_float(win) and not picker.before[win] then
    notify.info("Already answered. The open picker has no effect.")
  end
end

return M
