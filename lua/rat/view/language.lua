--- Languages that code is highlighted in: their parsers and compiled highlight queries. It highlights nothing itself.
local M = {}

--- Treesitter's names of languages that are usually called otherwise after a fence.
local ALIASES = {
  ["c++"] = "cpp",
  cs = "c_sharp",
  csharp = "c_sharp",
  js = "javascript",
  jsx = "javascript",
  md = "markdown",
  py = "python",
  rb = "ruby",
  rs = "rust",
  sh = "bash",
  shell = "bash",
  ts = "typescript",
  viml = "vim",
  vimscript = "vim",
  yml = "yaml",
  zsh = "bash",
}

---@param name string
---@return string? language one with a parser
local function resolve(name)
  name = name:lower()
  local language = ALIASES[name] or vim.treesitter.language.get_lang(name) or name
  local ok, added = pcall(vim.treesitter.language.add, language)
  -- If there is a parser, 0.10 returns nothing, later versions true.
  if ok and added ~= false and added ~= nil then
    return language
  elseif ok and vim.fn.has("nvim-0.11") == 0 then
    return language
  end
end

--- Results of `resolve`.
---@type table<string, string|false>
local resolved = {}

--- Returns treesitter's name of a language that has a parser.
---@param name string as after a fence, or a filetype
---@return string?
function M.find(name)
  if resolved[name] == nil then
    resolved[name] = resolve(name) or false
  end
  return resolved[name] or nil
end

--- Compiled highlight queries by language; false if there is none, nil if it was not compiled yet.
---@type table<string, vim.treesitter.Query|false>
M.queries = {}

--- Compiles the query of a language, which may take 20 ms.
---@param language string
function M.compile(language)
  local ok, query = pcall(vim.treesitter.query.get, language, "highlights")
  M.queries[language] = ok and query or false
end

local groups = {}

---@param capture string
---@param language string
---@return string
local function group_of(capture, language)
  local key = capture .. "." .. language
  local group = groups[key]
  if not group then
    group = "@" .. key
    groups[key] = group
  end
  return group --[[@as string]]
end

--- Returns the highlights of some rows of a text.
---@param language string whose query is compiled
---@param tree TSTree
---@param text string
---@param from integer first row
---@param to integer end exclusive
---@return table<integer, any[][]> rows lists of {start, end or -1, group}
function M.captures(language, tree, text, from, to)
  local query = M.queries[language]
  local rows = {}
  for row = from, to - 1 do
    rows[row] = {}
  end
  if not query then
    return rows
  end
  for id, node in query:iter_captures(tree:root(), text, from, to) do
    local name = query.captures[id]
    if name:sub(1, 1) ~= "_" and name ~= "spell" and name ~= "nospell" then
      local r1, c1, r2, c2 = node:range()
      for row = math.max(r1, from), math.min(r2, to - 1) do
        local start, stop = row == r1 and c1 or 0, row == r2 and c2 or -1
        local list = rows[row]
        list[#list + 1] = { start, stop, group_of(name, language) }
      end
    end
  end
  return rows
end

return M
