--- Stops `:qa` and its like once while a turn runs: to leave ends the turn. Nothing is in the way while none runs, of
--- `:qa!`, or of the second `:qa`.
local api = vim.api

local M = {}

--- The chats whose turn was told of.
---@type table<rat.Chat, true>
local told = {}

---@param of rat.Chat
---@return boolean
local function is_running(of)
  return of.id ~= nil and vim.list_contains({ "running", "waiting", "cancelling" }, of.status.state)
end

--- A chat stands differently: the next turn is another one.
---@param of rat.Chat
function M.updated(of)
  if not is_running(of) then
    told[of] = nil
  end
end

---@return rat.Chat[] those with a turn that was not told of
local function untold()
  return vim.tbl_filter(function(of)
    return is_running(of) and not told[of]
  end, require("rat.chat").list())
end

--- A buffer with unsaved changes that cannot be saved: Neovim leaves none behind unasked, and says which it is.
---@return integer buf
local function make_guard()
  local guard = api.nvim_create_buf(false, true)
  vim.bo[guard].swapfile = false
  require("rat.scratch").name(guard, "rat://a turn is running: :qa again ends it")
  vim.bo[guard].buftype = "acwrite"
  vim.bo[guard].readonly = true
  vim.bo[guard].modified = true
  vim.bo[guard].modifiable = false -- Nothing is written where it is gone at once.
  api.nvim_create_autocmd("BufWriteCmd", {
    buffer = guard,
    desc = "rat: `:wqa!` goes through",
    callback = function()
      vim.bo[guard].modified = false
    end,
  })
  return guard
end

--- Whether Neovim was kept from being left by the guard: it goes to a buffer with changes, `:wqa` to none.
---@param guard integer
---@return boolean
local function was_stopped(guard)
  return #vim.fn.win_findbuf(guard) > 0 or vim.v.errmsg:match("E45:") ~= nil
end

--- Neovim may be about to be left.
local function leaving()
  local chats = untold()
  if #chats == 0 then
    return
  end
  local win, buf = api.nvim_get_current_win(), api.nvim_get_current_buf()
  local view, guard = vim.fn.winsaveview(), make_guard()
  vim.v.errmsg = ""
  vim.schedule(function()
    local stopped = was_stopped(guard)
    if stopped and api.nvim_win_is_valid(win) and api.nvim_buf_is_valid(buf) then
      local room = require("rat.room")
      room.enter(win)
      room.show(win, buf)
      vim.fn.winrestview(view)
    end
    pcall(api.nvim_buf_delete, guard, { force = true })
    if stopped then
      for _, of in ipairs(chats) do
        told[of] = true
      end
      local text = "%s is still working: :qa again leaves and ends its turn"
      require("rat.say").warn(text:format(chats[1].title))
    end
  end)
end

--- From now on turns are looked after.
function M.watch()
  api.nvim_create_autocmd("QuitPre", {
    group = api.nvim_create_augroup("rat_leave", {}),
    desc = "rat: a turn that runs is not ended unasked",
    callback = leaving,
  })
end

return M
