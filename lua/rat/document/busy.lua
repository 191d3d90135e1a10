--- Knows when Neovim cannot take changes: while text is locked, and while a command of the user's has noted lines by
--- their numbers, which a change would move. It changes nothing itself.

local api = vim.api
local M = {}

---In which mode Insert mode and the command line were entered, as far as it was seen.
---@type table<"insert"|"cmdline", string>
local entered_from = {}

---Starts to note in which mode others are entered. Again: starts afresh.
function M.start()
  entered_from = {}
  api.nvim_create_autocmd("ModeChanged", {
    group = api.nvim_create_augroup("rat_busy", {}),
    desc = "rat: which lines the user is about to change",
    callback = function(args)
      local from, to = args.match:match("^(.-):(.*)$")
      if to:match("^i") and not from:match("^i") and not from:match("^ni") then
        entered_from.insert = from
      elseif to:match("^c") then
        entered_from.cmdline = from
      end
    end,
  })
end

---Stops what `start` started.
function M.stop()
  pcall(api.nvim_del_augroup_by_name, "rat_busy")
end

---Whether Neovim lets nobody change text or open windows just now: in an <expr> mapping that waits
---for a key, for example (|textlock|). That is looked at before anything else, a buffer that is not
---there included.
---@return boolean
function M.is_text_locked()
  local _, why = pcall(api.nvim_buf_set_lines, 0x7fffffff, 0, 0, true, {})
  return tostring(why):match("E565") ~= nil or tostring(why):match("E523") ~= nil
end

---Parts of a range that stay right when lines move, at its beginning (|:range|).
local MOVING = { "^[%s:,;.$%%]+", "^'.", "^[+-]%d*", "^/[^/]*/?", "^%?[^?]*%??", "^\\[/?&]" }

---Whether the range of an Ex command names a line by its number.
---@param command string
---@return boolean
function M.names_lines(command)
  while not command:match("^%d") do
    local rest
    for _, part in ipairs(MOVING) do
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

---@param kind string of the command line (|getcmdtype()|)
---@param mode string
---@return boolean
local function command_line_holds(kind, mode)
  if kind == ":" then
    return M.names_lines(vim.fn.getcmdline())
  elseif kind == "/" or kind == "?" then
    -- The other end of the selection is a line number; before 0.11 the mode is still the Visual one.
    local from = mode:match("^[vV\22]") and mode or entered_from.cmdline or ""
    return from:match("^[vV\22]") ~= nil or vim.fn.state("o") ~= ""
  end
  -- What has called |input()| goes on with lines it knows, as |:s_c| and |:append| do.
  return kind == "@" or kind == "-"
end

---Whether the text typed now is put into every line of a block afterwards. An operator such as `cw`
---is pending all through Insert mode, too.
---@param mode string
---@return boolean
local function is_block_insert(mode)
  if not mode:match("^i") or vim.fn.state("o") == "" then
    return false
  end
  local from = entered_from.insert or vim.fn.visualmode()
  return from == "\22" or from == "\19"
end

---Whether the user is within a command that has noted lines of a buffer by their numbers: an operator
---that waits for its motion, |:s_c|, an insert into a block, a completion, or a command line.
---@param buf integer
---@return boolean
function M.holds_lines(buf)
  if api.nvim_get_current_buf() ~= buf then
    return false
  end
  local mode, kind = api.nvim_get_mode().mode, vim.fn.getcmdtype()
  if kind ~= "" then
    return command_line_holds(kind, mode)
  end
  -- Completion takes lines that came in above for its own, and removes them with the next match.
  return mode:match("^no") ~= nil or mode:match("^[iR]v?c") ~= nil or is_block_insert(mode)
end

return M
