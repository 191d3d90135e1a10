--- Closes the picker of a plugin in which `vim.ui.select` asks for us, once what it asks is decided elsewhere. A picker
--- that is open for anything else stays.
local M = {}

--- The picker of snacks.nvim that has this buffer.
---@param buf integer
---@return table?
local function snacks_picker(buf)
  return vim
    .iter(require("snacks").picker.get({ source = "select", tab = false }))
    :find(function(one)
      return one.input.win.buf == buf or one.list.win.buf == buf
    end)
end

--- How a picker is closed, by the filetype of its buffer.
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
---@field buf? integer its buffer, where it is of a plugin we know
---@field before table<integer, true> floats there were before it
---@field watch? {autocmd: integer, keys: integer} what waits for it

--- Waits no longer for a picker to open.
---@param picker rat.Picker
function M.forget(picker)
  if picker.watch then
    vim.api.nvim_del_autocmd(picker.watch.autocmd)
    vim.on_key(nil, picker.watch.keys)
    picker.watch = nil
  end
end

--- Notes which picker opens. Call it before one does.
---@return rat.Picker
function M.watch()
  ---@type rat.Picker
  local picker = { before = {} }
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    picker.before[win] = is_float(win) or nil
  end
  local autocmd = vim.api.nvim_create_autocmd("FileType", {
    pattern = vim.tbl_keys(closers),
    desc = "rat: which picker asks for us",
    callback = function(args)
      picker.buf = args.buf
      M.forget(picker)
    end,
  })
  -- Whoever types may open a picker of their own: what comes after a key need not be ours.
  local keys = vim.on_key(function(_, typed)
    if typed and typed ~= "" then
      M.forget(picker)
    end
  end)
  picker.watch = { autocmd = autocmd, keys = keys }
  return picker
end

--- Closes the picker, or says that it answers nothing any more.
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
    require("rat.say").info("this is decided: the open picker answers nothing any more")
  end
end

return M
