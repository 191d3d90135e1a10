--- Makes the right side of a comparison a text that the user can change and write: |:w|, |:x| and |ZZ| accept it. As long as it
--- is as it was, Neovim closes it as it closes any unchanged text; what the user has typed is not thrown away without a `!`.
local notify = require("rat.util.notify")
local scratch = require("rat.view.scratch")

local api = vim.api
local M = {}

---@type table<integer, string[]> the lines as they were, by buffer
local originals = {}

--- Whether the user has changed the text.
---@param buf integer
---@return boolean
local function is_changed(buf)
  local original = originals[buf]
  return original ~= nil and not vim.deep_equal(api.nvim_buf_get_lines(buf, 0, -1, true), original)
end

--- Lets the text be closed, or not, as it is now. Neovim asks for a `!` only if the buffer would not stay as a hidden one.
---@param buf integer
function M.settle(buf)
  if not api.nvim_buf_is_loaded(buf) then
    return
  end
  local changed = is_changed(buf)
  vim.bo[buf].modified = changed
  vim.bo[buf].bufhidden = changed and "wipe" or "hide"
end

--- |:x| writes only modified text.
---@param buf integer
local function watch_exit(buf)
  api.nvim_create_autocmd("CmdlineLeave", {
    pattern = ":",
    desc = "rat: |:x| accepts the text, also if it was not changed",
    callback = function()
      if not api.nvim_buf_is_valid(buf) then
        return true
      elseif vim.v.event.abort or api.nvim_get_current_buf() ~= buf then
        return
      end
      local ok, command = pcall(api.nvim_parse_cmd, vim.fn.getcmdline(), {})
      if ok and (command.cmd == "xit" or command.cmd == "exit") then
        vim.bo[buf].modified = true
        vim.schedule(function()
          M.settle(buf)
        end)
      end
    end,
  })
end

---@param buf integer
local function watch_lines(buf)
  api.nvim_buf_attach(buf, false, {
    on_lines = function()
      vim.bo[buf].bufhidden = "wipe"
    end,
  })
end

---@param buf integer
---@param accept fun() called when the user writes the buffer; `settle` is called if that fails
function M.attach(buf, accept)
  originals[buf] = api.nvim_buf_get_lines(buf, 0, -1, true)
  vim.bo[buf].buftype = "acwrite"
  vim.bo[buf].bufhidden = "hide"
  local function write()
    vim.bo[buf].modified = false
    accept()
  end
  api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    desc = "rat: accept the text",
    callback = write,
  })
  vim.keymap.set("n", "ZZ", write, { buffer = buf, desc = "rat: accept the text" })
  watch_exit(buf)
  watch_lines(buf)
  api.nvim_create_autocmd("BufReadCmd", {
    buffer = buf,
    desc = "rat: |:edit|! brings the text back as it was",
    callback = function()
      scratch.fill(buf, originals[buf])
      M.settle(buf)
      watch_lines(buf)
    end,
  })
  api.nvim_create_autocmd({ "TextChanged", "InsertLeave", "QuitPre" }, {
    buffer = buf,
    desc = "rat: only a changed text needs a `!` to be closed",
    callback = function()
      M.settle(buf)
    end,
  })
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      originals[buf] = nil
    end,
  })
end

--- Whether a key that closes the comparison may throw the text away. Tells the user if it holds changes of theirs.
---@param buf integer
---@param accepting string what `ga` does there
---@return boolean
function M.may_close(buf, accepting)
  if api.nvim_buf_is_valid(buf) and is_changed(buf) then
    notify.warn(
      ("You have changed the text. ga %s it, gr rejects it, :q! drops it."):format(accepting)
    )
    return false
  end
  return true
end

--- Tells the user that closing the comparison has decided nothing.
---@param path string
function M.say_waiting(path)
  local name = vim.fn.fnamemodify((path:gsub("%c", " ")), ":.")
  notify.info(("The change to %s is still waiting: :RatPermission shows it"):format(name))
end

return M
