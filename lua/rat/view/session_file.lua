--- Collects buffers of ours while a session file is read. For each window it makes an empty buffer and names it with `:file`,
--- which fails if a buffer has that name already, as in a chat that two windows show.
local scratch = require("rat.view.scratch")

local api = vim.api
local M = {}

---@class rat.NamedBuffer
---@field buf integer
---@field name string the one that the session file has given it

---@type rat.NamedBuffer[]
local taken = {}

---@type fun(bufs: integer[])
local listener

--- Sets what is called once a session file has been read.
---@param on_loaded fun(bufs: integer[]) gets the buffers that are empty and have the name of a buffer of ours
function M.on_loaded(on_loaded)
  listener = on_loaded
end

---@param one rat.NamedBuffer
---@return string
local function temporary_name(one)
  return ("%s?%d"):format(one.name, one.buf)
end

--- Gives the buffers their names. Windows with the same one show the same buffer.
local function finish()
  local bufs = {}
  for _, one in ipairs(taken) do
    local known = api.nvim_buf_is_valid(one.buf) and scratch.find(one.name)
    if known and api.nvim_buf_is_loaded(known) then
      for _, win in ipairs(vim.fn.win_findbuf(one.buf)) do
        api.nvim_win_set_buf(win, known)
      end
      api.nvim_buf_delete(one.buf, { force = true })
    elseif api.nvim_buf_is_valid(one.buf) then
      if known then
        api.nvim_buf_delete(known, { force = true })
      end
      scratch.name(one.buf, one.name)
      bufs[#bufs + 1] = one.buf
    end
    -- A buffer that gets another name leaves a buffer with the one that it had.
    local left = scratch.find(temporary_name(one))
    if left then
      api.nvim_buf_delete(left, { force = true })
    end
  end
  taken = {}
  listener(bufs)
end

--- Takes a buffer that a session file has just named, until all of the file has been read.
---@param buf integer
---@return boolean taken
function M.take(buf)
  if vim.g.SessionLoad ~= 1 or vim.bo[buf].buftype ~= "" then
    return false
  end
  -- `:file` shows the name of each buffer, which waits for a key after the second one. The file sets the option again.
  vim.opt.shortmess:append("F")
  if #taken == 0 then
    api.nvim_create_autocmd("SessionLoadPost", {
      once = true,
      desc = "rat: fill the buffers that a session file has named",
      callback = finish,
    })
  end
  local one = { buf = buf, name = api.nvim_buf_get_name(buf) }
  taken[#taken + 1] = one
  scratch.name(buf, temporary_name(one))
  return true
end

return M
