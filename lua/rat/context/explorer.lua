--- Finds the files that lines of a file explorer stand for: netrw, oil.nvim, neo-tree.nvim and mini.files.
local M = {}

---@param name string of an entry as netrw shows it
---@return string
local function without_marks(name)
  -- Links are shown with their target, and in long listings with size and time behind blanks.
  return (name:gsub("\t *%-%->.*$", ""):gsub("%s%s+.*$", ""):gsub("[*@|=/]$", ""))
end

--- Returns the path of an entry of netrw's tree: the names above it that are less indented lead to it.
---@param lnum integer
---@return string? # nil if it is the root itself
local function in_tree(lnum)
  local function depth_and_name(at)
    local bars, name = (vim.fn.getline(at) --[[@as string]]):match("^([| ]*)(.*)$")
    return #bars, name
  end
  local depth, name = depth_and_name(lnum)
  if depth == 0 then
    return nil
  end
  local path = without_marks(name)
  for above = lnum - 1, 1, -1 do
    local less, folder = depth_and_name(above)
    if less < depth then
      if less == 0 then
        return vim.fs.joinpath(vim.w.netrw_treetop or folder, path)
      end
      depth, path = less, vim.fs.joinpath(without_marks(folder), path)
    end
  end
end

---@type table<string, fun(buf: integer, lnum: integer): string?> by 'filetype': the path that a line stands for
local explorers = {
  netrw = function(buf, lnum)
    local line = vim.fn.getline(lnum) --[[@as string]]
    local folder = vim.b[buf].netrw_curdir
    if line:match('^"') or line == "" or not folder then
      return nil
    elseif line:match("^| ") or vim.w.netrw_liststyle == 3 then
      return in_tree(lnum)
    end
    return vim.fs.joinpath(folder, without_marks(line))
  end,
  oil = function(buf, lnum)
    local oil = require("oil")
    local entry, folder = oil.get_entry_on_line(buf, lnum), oil.get_current_dir(buf)
    return entry and folder and vim.fs.joinpath(folder, entry.name) or nil
  end,
  ["neo-tree"] = function(_, lnum)
    local manager = require("neo-tree.sources.manager")
    local state = manager.get_state_for_window(vim.api.nvim_get_current_win())
    local node = state and state.tree and state.tree:get_node(lnum)
    return node and node:get_id() or nil
  end,
  minifiles = function(buf, lnum)
    local entry = require("mini.files").get_fs_entry(buf, lnum)
    return entry and entry.path or nil
  end,
}

--- Returns the files that lines of the current buffer stand for.
---@param first integer
---@param last integer inclusive
---@return string[]? paths nil if the buffer is no explorer
function M.paths(first, last)
  local path_of, buf = explorers[vim.bo.filetype], vim.api.nvim_get_current_buf()
  if not path_of then
    return nil
  end
  local found = {}
  for lnum = first, last do
    -- What a plugin of another version lacks is no error of ours.
    local ok, path = pcall(path_of, buf, lnum)
    if ok and type(path) == "string" then
      found[#found + 1] = path
    end
  end
  return found
end

return M
