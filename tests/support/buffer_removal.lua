--- The ways in which people delete buffers, each as the plugin or command of its name does it: what is shown where, and when.
local M = {}

--- Shows another buffer in a window, as plugins do before they delete the one in it: the alternate one, the previous one, or
--- an empty one.
local function replace(win, buf)
  vim.api.nvim_win_call(win, function()
    local alternate = vim.fn.bufnr("#")
    if alternate > 0 and alternate ~= buf and vim.fn.buflisted(alternate) == 1 then
      return vim.api.nvim_win_set_buf(win, alternate)
    end
    if pcall(vim.cmd, "bprevious") and vim.api.nvim_win_get_buf(win) ~= buf then
      return
    end
    vim.api.nvim_win_set_buf(win, vim.api.nvim_create_buf(true, false))
  end)
end

--- `MiniBufremove.delete()`.
function M.mini(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    replace(win, buf)
  end
  pcall(vim.cmd, "bdelete! " .. buf)
end

--- `Snacks.bufdelete()`, which works within the buffer.
function M.snacks(buf)
  vim.api.nvim_buf_call(buf, function()
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      vim.api.nvim_win_call(win, function()
        if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
          replace(win, buf)
        end
      end)
    end
    if vim.api.nvim_buf_is_valid(buf) then
      pcall(vim.cmd, "bdelete! " .. buf)
    end
  end)
end

--- `:Bwipeout` of vim-bbye, which goes from window to window.
function M.bbye(buf)
  local back = vim.api.nvim_get_current_win()
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      vim.api.nvim_set_current_win(win)
      local alternate = vim.fn.bufnr("#")
      local listed = alternate > 0 and vim.fn.buflisted(alternate) == 1
      pcall(vim.cmd, listed and "buffer #" or "bprevious")
      if vim.api.nvim_win_get_buf(win) == buf then
        vim.cmd("enew!")
      end
    end
  end
  if vim.api.nvim_win_is_valid(back) then
    vim.api.nvim_set_current_win(back)
  end
  pcall(vim.cmd, "bwipeout! " .. buf)
end

--- The map `:bprevious | bdelete #`.
function M.previous(buf)
  if buf ~= vim.api.nvim_get_current_buf() then
    return M.bdelete(buf)
  end
  pcall(vim.cmd, "bprevious")
  pcall(vim.cmd, "bdelete! " .. buf)
end

function M.bdelete(buf)
  pcall(vim.cmd, "bdelete! " .. buf)
end

function M.bwipeout(buf)
  pcall(vim.cmd, "bwipeout! " .. buf)
end

function M.api(buf)
  pcall(vim.api.nvim_buf_delete, buf, { force = true })
end

M.NAMES = { "mini", "snacks", "bbye", "previous", "bdelete", "bwipeout", "api" }

return M
