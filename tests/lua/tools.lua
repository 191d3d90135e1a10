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

--- Holds (Editor tools): What an edit has brought is told by what was wrong before it, whatever other chats have changed since.
case("each chat has its own last edit", function()
  local nvim = check.start()
  nvim:lua([[
    baseline, edits = require("rat.tools.baseline"), require("rat.document.edits")
    namespace, bufs, clock = vim.api.nvim_create_namespace("words"), {}, 0
    vim.uv.now = function() return clock end
    for _, name in ipairs({ "a.txt", "b.txt" }) do
      vim.cmd.edit(name)
      vim.cmd("silent write")
      bufs[name] = vim.api.nvim_get_current_buf()
    end
    --- Writes lines for a chat, and shows each that has BAD in it as an error.
    function write(chat, name, lines)
      clock = clock + 1000
      local buf = bufs[name]
      edits.make(buf, { { 0, -1, -1, -1, lines } })
      local found = {}
      for index, line in ipairs(lines) do
        if line:find("BAD") then
          found[#found + 1] = { lnum = index - 1, col = 0, severity = 1, message = line }
        end
      end
      vim.diagnostic.set(namespace, buf, found)
      if chat then
        baseline.changed(chat, vim.uv.fs_realpath(name))
      end
    end
    function new(chat, files)
      local found = {}
      baseline.add_known(nil, found)
      local since = baseline.before_edit(chat, vim.tbl_map(vim.uv.fs_realpath, files))
      local texts = vim.tbl_map(function(one) return one.text end, baseline.new(found, since))
      table.sort(texts)
      return texts
    end
  ]])
  local function new(chat, files)
    return nvim:lua("return new(...)", chat, files or {})
  end
  nvim:lua("write(1, 'a.txt', { 'BAD one' })")
  nvim:lua("write(2, 'b.txt', { 'BAD two' })")
  same(new(1), { "error: BAD one", "error: BAD two" })
  same(new(2), { "error: BAD two" })
  nvim:lua("write(1, 'a.txt', { 'BAD one', 'BAD three' })")
  same(new(1), { "error: BAD three" })
  same(new(2), { "error: BAD three", "error: BAD two" })
  -- It is not known yet whose edit this is.
  nvim:lua("write(nil, 'b.txt', { 'BAD two', 'BAD four' })")
  same(new(1, { "b.txt" }), { "error: BAD four" })
  same(new(1), { "error: BAD four", "error: BAD three" })
  -- What takes long to save is one edit with what follows.
  nvim:lua([[
    write(nil, "a.txt", { "BAD five" })
    clock = clock + 1000
    vim.api.nvim_buf_call(bufs["a.txt"], function() vim.cmd("silent write") end)
    clock = clock - 1000 -- since `write` lets as much time pass
    write(nil, "b.txt", { "BAD six" })
    for _, name in ipairs({ "a.txt", "b.txt" }) do
      baseline.changed(1, vim.uv.fs_realpath(name))
    end
  ]])
  same(new(1), { "error: BAD five", "error: BAD six" })
  nvim:lua("baseline.closed(1)")
  same(#new(1), 2, "nothing is known of a chat without an edit")
end)

check.finish()
