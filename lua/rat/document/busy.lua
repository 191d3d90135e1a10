--- Tells when a buffer must not be changed: while text is locked, and while a command of the user's holds line numbers
--- that a change would invalidate. It changes nothing itself.
local api = vim.api
local M = {}

--- The modes from which Insert mode and the command line were last entered; unset if that was not observed.
---@type table<"insert"|"cmdline", string>
local entered_from = {}

--- Starts to record from which modes others are entered. A second call starts over.
function M.start()
  entered_from = {}
  api.nvim_create_autocmd("ModeChanged", {
    group = api.nvim_create_augroup("rat_busy", {}),
    desc = "rat: note the mode a command began in",
    callback = function(args)
      local from, to = args.match:match("^(.-):(.*)$")
      ---@cast from string
      ---@cast to string
      if to:match("^i") and not from:match("^i") and not from:match("^ni") then
        entered_from.insert = from
      elseif to:match("^c") then
        entered_from.cmdline = from
      end
    end,
  })
end

--- Stops what `start` started.
function M.stop()
  pcall(api.nvim_del_augroup_by_name, "rat_busy")
end

--- Whether |textlock| is active, as in an <expr> mapping that waits for a key: text cannot be changed and windows cannot
--- be opened.
---@return boolean
function M.is_text_locked()
  -- Neovim checks the lock before it checks that the buffer exists, so this never changes anything.
  local _, why = pcall(api.nvim_buf_set_lines, 0x7fffffff, 0, 0, true, {})
  return tostring(why):match("E565") ~= nil or tostring(why):match("E523") ~= nil
end

--- Lua patterns of the parts of a |:range| that stay correct when lines move.
local RELATIVE = { "^[%s:,;.$%%]+", "^'.", "^[+-]%d*", "^/[^/]*/?", "^%?[^?]*%??", "^\\[/?&]" }

--- Whether the range of an Ex command contains a line number.
---@param command string
---@return boolean
function M.names_lines(command)
  while not command:match("^%d") do
    local rest
    for _, part in ipairs(RELATIVE) do
      local first, last = command:find(part)
      rest = rest or (first and command:sub(last + 1))
    end
    if not rest then
      return false
    end
    command = rest
  end
  return true
end

---@param kind string of the command line, |getcmdtype()|
---@param mode string
---@return boolean
local function command_line_holds_lines(kind, mode)
  if kind == ":" then
    return M.names_lines(vim.fn.getcmdline())
  elseif kind == "/" or kind == "?" then
    -- A search in Visual mode holds the other end of the selection. Before 0.11 the mode is still the Visual one.
    local from = mode:match("^[vV\22]") and mode or entered_from.cmdline or ""
    return from:match("^[vV\22]") ~= nil or vim.fn.state("o") ~= ""
  end
  -- The caller of |input()| may continue with line numbers it has read, as |:s_c| and |:append| do.
  return kind == "@" or kind == "-"
end

--- Whether the text typed now will be inserted into every line of a block, |v_b_I|. A pending operator alone does not tell:
--- one such as `cw` is pending all through Insert mode, too. So the mode that Insert mode was entered from decides.
---@param mode string
---@return boolean
local function is_block_insert(mode)
  if not mode:match("^i") or vim.fn.state("o") == "" then
    return false
  end
  local from = entered_from.insert or vim.fn.visualmode()
  return from == "\22" or from == "\19"
end

--- Whether a command in progress holds line numbers of a buffer: an operator that waits for its motion, |:s_c|, a block
--- insert, completion, or a command line with a line number.
---@param buf integer
---@return boolean
function M.holds_lines(buf)
  if api.nvim_get_current_buf() ~= buf then
    return false
  end
  local mode, kind = api.nvim_get_mode().mode, vim.fn.getcmdtype()
  if kind ~= "" then
    return command_line_holds_lines(kind, mode)
  end
  -- Insert mode completion would remove lines inserted above along with its own text when the next match is selected.
  return mode:match("^no") ~= nil or mode:match("^[iR]v?c") ~= nil or is_block_insert(mode)
end

return M
