--- The tools that the user adds, and what language servers are asked: positions in their units, and changes that are refused.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

---@return fun(tool: table): boolean, string added, and what the user was told
local function adder()
  local nvim = check.start()
  nvim:lua([[
    Told = {}
    vim.notify = function(text) Told[#Told + 1] = text end
  ]])
  return function(code)
    local added = nvim:lua("Told = {} return require('rat').tool(" .. code .. ")")
    return added, nvim:lua("return table.concat(Told, '\\n')")
  end
end

--- Holds (Editor tools): A tool of the user's that makes no sense is not added, and the user is told why.
case("what is wrong with a tool is said", function()
  local add = adder()
  local run = "run = function() return 'x' end"
  for code, problem in pairs({
    ["5"] = "it must be a table",
    ["{ description = 'x', " .. run .. " }"] = "`name` must be lower-case letters",
    ["{ name = 'Bad Name', description = 'x', " .. run .. " }"] = "`name` must be lower-case letters",
    ["{ name = 'diagnostics', description = 'x', " .. run .. " }"] = "the name diagnostics is taken",
    ["{ name = 'a', description = ' ', " .. run .. " }"] = "`description` must say what it does",
    ["{ name = 'a', description = 'x' }"] = "`run` must be a function",
    ["{ name = 'a', description = 'x', input_schema = {}, " .. run .. " }"] = '`input_schema.type` must be "object"',
    ["{ name = 'a', description = 'x', input_schema = { type = 'object', f = print }, " .. run .. " }"] = "must hold only what JSON has",
    ["{ name = 'a', description = 'x', read_only = 1, " .. run .. " }"] = "`read_only` must be true or false",
  }) do
    local added, told = add(code)
    same(added, false, code)
    assert(told:find(problem, 1, true), code .. ": " .. told)
  end
  local added, told = add("{ name = 'a', description = 'x', " .. run .. " }")
  same(added, true)
  same(told, "")
end)

case("characters are counted in the units of the server", function()
  local nvim = check.start()
  for encoding, count in pairs({ ["utf-8"] = 6, ["utf-16"] = 3, ["utf-32"] = 2 }) do
    local found =
      nvim:lua("return require('rat.tools.client').character('ä😀x', 6, ...)", encoding)
    same(found, count, encoding)
  end
end)

check.finish()
