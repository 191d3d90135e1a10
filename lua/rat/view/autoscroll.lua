--- Where the readers of a transcript are. Those at its end follow it, the others stay where they are.
local api = vim.api
local M = {}

--- Where a reader was who was not at the end, of transcripts that no window shows.
---@type table<integer, {lnum: integer, topline: integer}>
local elsewhere = {}

---@param buf integer
---@param win integer
---@return boolean
local function is_at_end(buf, win)
  return api.nvim_win_get_cursor(win)[1] == api.nvim_buf_line_count(buf)
end

--- The windows whose reader is at the end and goes with it.
---@param buf integer
---@param wins integer[]
---@return integer[]
function M.followers(buf, wins)
  return vim.tbl_filter(function(win)
    -- Somebody selecting text at the end is not moved.
    local busy = win == api.nvim_get_current_win() and api.nvim_get_mode().mode:find("^[vV\22]")
    return is_at_end(buf, win) and not busy
  end, wins)
end

---@param win integer
local function to_end(win)
  api.nvim_win_call(win, function()
    vim.cmd("normal! G$zb0")
  end)
end

--- Moves the readers in the current tab page to the end, where they follow. |''| goes back.
---@param buf integer
function M.follow(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf and not is_at_end(buf, win) then
      to_end(win)
    end
  end
  elsewhere[buf] = nil
end

--- Puts readers of a transcript that is shown again at its end, or where they left it.
---@param buf integer
function M.attach(buf)
  local group = api.nvim_create_augroup("rat_reader_" .. buf, {})
  api.nvim_create_autocmd("BufWinLeave", {
    group = group,
    buffer = buf,
    desc = "rat: remember whether the reader was at the end",
    callback = function()
      elsewhere[buf] = nil
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        if not is_at_end(buf, win) then
          local line = api.nvim_win_get_cursor(win)[1]
          elsewhere[buf] = { lnum = line, topline = vim.fn.line("w0", win) }
        end
      end
    end,
  })
  api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    desc = "rat: restore the reader's place",
    callback = function()
      if elsewhere[buf] then
        vim.fn.winrestview(elsewhere[buf])
      else
        to_end(api.nvim_get_current_win())
      end
    end,
  })
end

return M
