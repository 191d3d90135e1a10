--- Sets the local options of every window that shows a view, so that they end when it shows another buffer. It opens and
--- closes no window.
local fold = require("rat.view.fold")
local line_breaks = require("rat.view.line_breaks")
local notify = require("rat.util.notify")

local M = {}

---@type table<string, any>
local plain = {
  number = false,
  relativenumber = false,
  signcolumn = "no",
  statuscolumn = "",
  foldcolumn = "0",
  colorcolumn = "",
  list = false,
  spell = false,
  wrap = true,
  linebreak = true,
  -- Wrapped lines are indented: code by its own indent, a list item behind its bullet.
  breakindent = true,
  breakindentopt = "list:-1",
}

---@type table<string, any>
local transcript = vim.tbl_extend("force", plain, {
  -- So that the end of a paragraph that is taller than the window is visible, too, and its rows can be scrolled through.
  smoothscroll = true,
  conceallevel = 2,
  concealcursor = "nc",
  foldmethod = "manual",
  foldenable = true,
  foldtext = "v:lua.require'rat.view.fold'.text()",
})

---@type table<rat.View, table<string, any>>
local by_view = { chat = transcript, tools = transcript, plan = transcript, prompt = plain }

--- Sets options of a window for as long as it shows its current buffer.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

--- Returns the user's 'fillchars' with some of ours.
---@param own string
---@return string
function M.fillchars(own)
  local global = vim.go.fillchars
  return (global == "" and "" or global .. ",") .. own
end

--- Fires FileType again in a window, so that window options the user sets there override ours: the buffer got its filetype
--- before it had a window.
---@param win integer
local function fire_filetype(win)
  vim.api.nvim_win_call(win, function()
    local pattern = vim.bo.filetype
    local ok, problem = pcall(vim.api.nvim_exec_autocmds, "FileType", {
      pattern = pattern,
      modeline = false,
    })
    if not ok then
      notify.failed("Autocommand for FileType " .. pattern, problem)
    end
  end)
end

--- The buffer for which each window last got options.
---@type table<integer, integer>
local applied = {}

--- The views of the buffers whose windows get options.
---@type table<integer, rat.View>
local followed = {}

---@param win integer
local function record_applied(win)
  for other in pairs(applied) do
    if not vim.api.nvim_win_is_valid(other) then
      applied[other] = nil
    end
  end
  applied[win] = vim.api.nvim_win_get_buf(win)
end

--- Sets the options of a view in a window.
---@param win integer
---@param view rat.View
function M.apply(win, view)
  record_applied(win)
  M.set(win, by_view[view])
  M.set(win, { fillchars = M.fillchars("eob: ,fold: ") })
  fire_filetype(win)
  if view ~= "prompt" then
    fold.in_window(win)
  end
end

--- Sets the options of a window that has just shown a view, if BufWinEnter has not done so: no autocommands fire within
--- one of the user's that is not `++nested`.
---@param win integer
function M.apply_if_missing(win)
  local buf = vim.api.nvim_win_get_buf(win)
  if followed[buf] and applied[win] ~= buf then
    M.apply(win, followed[buf])
  end
end

--- Sets the options in every window that shows a view, from now on.
---@param buf integer
---@param view rat.View
function M.follow(buf, view)
  followed[buf] = view
  vim.bo[buf].formatlistpat = [[^\s*\%(\d\+[.)]\|[-*+]\)\s\+]]
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    M.apply(win, view)
  end
  line_breaks.follow(buf)
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = vim.api.nvim_create_augroup("rat_window_options_" .. buf, {}),
    buffer = buf,
    callback = function()
      M.apply(vim.api.nvim_get_current_win(), view)
    end,
  })
end

return M
