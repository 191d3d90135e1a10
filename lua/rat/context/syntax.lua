--- Finds the functions and types that a buffer defines by its syntax tree, without a query: in nearly all grammars, their
--- nodes say so and have a name.
local M = {}

--- A larger buffer is not parsed for this, which takes 0.2 ms for each KiB, unless its tree is kept for highlighting anyway.
local MAX_BYTES = 64 * 1024
local MAX_NODES, MAX_DEPTH = 50000, 10
--- How long nothing else may run, and how long the others then have, in milliseconds.
local SLICE_MS, PAUSE_MS = 5, 1

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
  if not vim.api.nvim_buf_is_loaded(buf) then
    return nil
  end
  local is_kept = vim.treesitter.highlighter.active[buf] ~= nil
  local bytes = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  if not is_kept and bytes > MAX_BYTES then
    return nil
  end
  local ok, parser = pcall(vim.treesitter.get_parser, buf)
  local tree = ok and parser and parser:parse()[1]
  return tree and tree:root() or nil
end

local timer ---@type uv.uv_timer_t?

--- Goes on after others have had their turn. One thing at a time does so.
---@param step fun()
local function after_pause(step)
  timer = timer or assert(vim.uv.new_timer())
  timer:start(PAUSE_MS, 0, vim.schedule_wrap(step))
end

--- Looks at the nodes of a tree in their order, in slices.
---@param buf integer
---@param root TSNode
---@param callback fun(symbols: rat.Symbol[])
local function walk(buf, root, callback)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  ---@type rat.Symbol[]
  local found = {}
  local visited = 0
  --- The nodes that follow, the next one last, with their depths.
  ---@type {[1]: TSNode, [2]: integer}[]
  local stack = { { root, 0 } }
  ---@param node TSNode
  ---@param depth integer
  local function visit(node, depth)
    local kind = kind_of(node)
    local name = kind and name_of(node, buf)
    if kind and name then
      local first, _, last, column = node:range()
      last = column == 0 and last > first and last - 1 or last
      found[#found + 1] = { name = name, kind = kind, first = first + 1, last = last + 1 }
    end
    if depth < MAX_DEPTH then
      local first = #stack + 1
      for child in node:iter_children() do
        stack[#stack + 1] = child:named() and { child, depth + 1 } or nil
      end
      for i = 0, math.floor((#stack - first - 1) / 2) do
        stack[first + i], stack[#stack - i] = stack[#stack - i], stack[first + i]
      end
    end
  end
  local function run()
    -- The nodes of a text that has changed are elsewhere by now.
    if not vim.api.nvim_buf_is_loaded(buf) or vim.api.nvim_buf_get_changedtick(buf) ~= tick then
      return callback(found)
    end
    local pause_at = vim.uv.hrtime() + SLICE_MS * 1e6
    while #stack > 0 and visited < MAX_NODES do
      if vim.uv.hrtime() >= pause_at then
        return after_pause(run)
      end
      visited = visited + 1
      local entry = table.remove(stack) --[[@as {[1]: TSNode, [2]: integer}]]
      visit(entry[1], entry[2])
    end
    callback(found)
  end
  run()
end

--- Buffers to look at, one after the other.
---@type {buf: integer, callback: fun(symbols: rat.Symbol[])}[]
local jobs = {}

local function start_job()
  local job = jobs[1]
  local function done(symbols)
    table.remove(jobs, 1)
    if jobs[1] then
      after_pause(start_job)
    end
    job.callback(symbols)
  end
  local root = root_of(job.buf)
  if root then
    walk(job.buf, root, done)
  else
    done({})
  end
end

--- Finds what a buffer defines, in its order; nothing if there is no parser for it.
---@param buf integer
---@param callback fun(symbols: rat.Symbol[]) called later, on the main loop
function M.symbols(buf, callback)
  jobs[#jobs + 1] = { buf = buf, callback = callback }
  if #jobs == 1 then
    after_pause(start_job)
  end
end

return M
