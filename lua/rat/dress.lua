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
  breakindent = false,
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

--- Dresses a window for a view.
---@param win integer
---@param view rat.View
function M.put_on(win, view)
  M.set(win, dress[view])
  if view ~= "prompt" then
    require("rat.ui").fold_window(win)
  end
end

--- Keeps the windows that show a view dressed for it.
---@param buf integer
---@param view rat.View
function M.follow(buf, view)
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
