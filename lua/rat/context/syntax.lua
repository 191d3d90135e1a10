--- Finds the functions and types that a buffer defines by its syntax tree, without a query: in nearly all grammars, their
--- nodes say so and have a name.
local M = {}

--- A larger buffer is not parsed for this, unless its tree is kept for highlighting anyway.
local MAX_BYTES = 256 * 1024
local MAX_NODES, MAX_DEPTH = 50000, 10

--- What the type of a node contains if it defines something, and what that is called.
local KINDS = {
  { "function", "function" },
  { "method", "method" },
  { "constructor", "constructor" },
  { "class", "class" },
  { "struct", "struct" },
  { "enum", "enum" },
  { "interface", "interface" },
  { "trait", "trait" },
  { "module", "module" },
  { "mod_item", "module" },
  { "macro", "macro" },
  { "type_", "type" },
}

---@param node TSNode
---@return string? kind nil if it defines nothing
local function kind_of(node)
  local kind = node:type()
  local defines = kind:match("_definition$")
    or kind:match("_declaration$")
    or kind:match("_item$")
    or kind:match("_spec$")
    or kind:match("_specifier$") and node:field("body")[1]
  for _, one in ipairs(defines and KINDS or {}) do
    if kind:find(one[1], 1, true) then
      return one[2]
    end
  end
end

---@param node TSNode
---@param buf integer
---@return string?
local function name_of(node, buf)
  local name = node:field("name")[1]
  -- The grammar of C has the name within declarators.
  local declarator = not name and node:field("declarator")[1] or nil
  while declarator do
    name, declarator = declarator, declarator:field("declarator")[1]
  end
  return name and vim.treesitter.get_node_text(name, buf)
end

---@param buf integer
---@return TSNode?
local function root_of(buf)
  local is_kept = vim.treesitter.highlighter.active[buf] ~= nil
  local bytes = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  if not is_kept and bytes > MAX_BYTES then
    return nil
  end
  local ok, parser = pcall(vim.treesitter.get_parser, buf)
  local tree = ok and parser and parser:parse()[1]
  return tree and tree:root() or nil
end

--- Returns what a buffer defines, in its order; nothing if there is no parser for it.
---@param buf integer
---@return rat.Symbol[]
function M.symbols(buf)
  local found, visited = {}, 0
  ---@param node TSNode
  local function visit(node, depth)
    visited = visited + 1
    if visited > MAX_NODES then
      return
    end
    local kind = kind_of(node)
    local name = kind and name_of(node, buf)
    if name then
      local first, _, last, column = node:range()
      last = column == 0 and last > first and last - 1 or last
      found[#found + 1] = { name = name, kind = kind, first = first + 1, last = last + 1 }
    end
    if depth < MAX_DEPTH then
      for child in node:iter_children() do
        visit(child, depth + 1)
      end
    end
  end
  local root = root_of(buf)
  if root then
    visit(root, 0)
  end
  return found
end

return M
