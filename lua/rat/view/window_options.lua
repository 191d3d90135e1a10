--- The options of windows that show a view; they end with the view, in whatever window. Opens and closes none.
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
  -- What wraps stays below its own beginning: code at its indent, an item behind its bullet.
  breakindent = true,
  breakindentopt = "list:-1",
}

---@type table<string, any>
local transcript = vim.tbl_extend("force", plain, {
  conceallevel = 2,
  concealcursor = "nc",
  foldmethod = "manual",
  foldenable = true,
  foldtext = "v:lua.require'rat.ui'.foldtext()",
})

---@type table<rat.View, table<string, any>>
local dress = { chat = transcript, tools = transcript, plan = transcript, prompt = plain }

--- Sets options for a window as long as it shows this buffer.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

--- The user's 'fillchars', without marks for rows that hold nothing.
---@return string
local function fillchars()
  local theirs = vim.go.fillchars
  return (theirs == "" and "" or theirs .. ",") .. "eob: ,fold: "
end

--- Dresses a window for a view.
---@param win integer
---@param view rat.View
function M.put_on(win, view)
  M.set(win, dress[view])
  M.set(win, { fillchars = fillchars() })
  if view ~= "prompt" then
    require("rat.ui").fold_window(win)
  end
end

--- Keeps the windows that show a view dressed for it.
---@param buf integer
---@param view rat.View
function M.follow(buf, view)
  vim.bo[buf].formatlistpat = [[^\s*\%(\d\+[.)]\|[-*+]\)\s\+]]
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    M.put_on(win, view)
  end
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = vim.api.nvim_create_augroup("rat_window_" .. buf, {}),
    buffer = buf,
    callback = function()
      M.put_on(vim.api.nvim_get_current_win(), view)
    end,
  })
end

return M
