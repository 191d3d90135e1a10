--- The help: up to date with what it is made from, complete, and well-formed.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local help = dofile("tests/support/help.lua")
local text = help.read()

case("the generated parts are up to date", function()
  same(help.update(text) == text, true, "run `nvim -l tests/support/help.lua`")
end)

case("every command, function and key is in it", function()
  local nvim = check.start()
  for _, name in ipairs(nvim:lua("return vim.tbl_keys(vim.api.nvim_get_commands({}))")) do
    if name:match("^Rat") then
      check.contains(text, "*:" .. name .. "*")
    end
  end
  for name in pairs(require("rat")) do
    check.contains(text, "*rat." .. name .. "()*")
  end
  for _, view in ipairs({ "chat", "prompt" }) do
    for _, key in ipairs(require("rat.chat.keys").of(view)) do
      if not key.lhs:match("^g%d$") then
        check.contains(text, key.lhs)
      end
    end
  end
end)

case("every autocommand and <Plug> map is in it", function()
  local count = 0
  local function has(name)
    count = count + 1
    check.contains(text, "*" .. name .. "*")
  end
  for _, path in ipairs(vim.fn.glob(check.root .. "/lua/rat/**/*.lua", true, true)) do
    for name in table.concat(vim.fn.readfile(path), "\n"):gmatch('notify%.event%("(Rat%a+)"') do
      has(name)
    end
  end
  for _, path in ipairs(vim.fn.glob(check.root .. "/src/nvim/messages/**/*.rs", true, true)) do
    for name in table.concat(vim.fn.readfile(path), "\n"):gmatch('"(Rat%u%a+)"') do
      has(name)
    end
  end
  for plug in
    table.concat(vim.fn.readfile(check.root .. "/plugin/rat.lua")):gmatch("<Plug>%(rat%-[%a-]+%)")
  do
    has(plug)
  end
  assert(count > 15, "they are defined in another way: " .. count)
end)

case("every highlight group is in it, wherever it is defined", function()
  local count = 0
  for _, path in ipairs(vim.fn.glob(check.root .. "/lua/rat/**/*.lua", true, true)) do
    for _, line in ipairs(vim.fn.readfile(path)) do
      local group = line:match('^%s+(Rat%u%w+) = "')
      if group then
        count = count + 1
        check.contains(text, "*hl-" .. group .. "*")
      end
    end
  end
  assert(count > 40, "the groups are defined in another way: " .. count)
end)

case("each command of the help exists", function()
  local nvim = check.start()
  for name in text:gmatch("%*:(Rat%a+)%*") do
    same(nvim:lua("return vim.fn.exists(':' .. ...)", name), 2, name)
  end
  for plug in text:gmatch("<Plug>%(rat%-%a+%)") do
    same(
      nvim:lua("return vim.fn.maparg(..., 'n') ~= '' or vim.fn.maparg(..., 'x') ~= ''", plug),
      true,
      plug
    )
  end
end)

case("tags are unique, links have targets", function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. "/doc", "p")
  vim.fn.writefile(vim.split(text, "\n"), folder .. "/doc/rat.txt")
  vim.cmd.helptags(folder .. "/doc")
  local tags = {}
  for _, line in ipairs(vim.fn.readfile(folder .. "/doc/tags")) do
    tags[line:match("^[^\t]+")] = true
  end
  for link in text:gmatch("|([^|%s]+)|") do
    local ours = link:match("^:?[rR]at") or link:match("^<Plug>%(rat")
    if ours then
      same(tags[link], true, link)
    end
  end
  vim.fn.delete(folder, "rf")
end)

--- Holds (Configuration): Every `:help` that health, a message or a page names leads to a tag as it stands there.
case("what is printed names tags that are there", function()
  local tags = {}
  for tag in text:gmatch("%*([^*%s]+)%*") do
    tags[tag] = true
  end
  local count = 0
  local folders = { lua = "%.lua$", plugin = "%.lua$", src = "%.rs$" }
  for folder, ending in pairs(folders) do
    local files = vim.fs.find(function(name)
      return name:find(ending) ~= nil
    end, { path = folder, type = "file", limit = math.huge })
    for _, file in ipairs(files) do
      for _, line in ipairs(vim.fn.readfile(file)) do
        local is_comment = line:find("^%s*%-%-") or line:find("^%s*//")
        for tag in (is_comment and "" or line):gmatch(':help ([^%s"`]+)') do
          local is_ours = tag:find("^:?[rR]at")
          same(not is_ours or tags[tag] == true, true, file .. ": " .. line)
          count = count + (is_ours and 1 or 0)
        end
      end
    end
  end
  assert(count > 8, "they are written in another way: " .. count)
end)

--- Holds (Installation): Each of the requests that users of other clients make is answered in the help, with a test that is there.
case("each request of users is answered, and its test exists", function()
  local section = assert(text:match("%*rat%-requests%*(.*)$"))
  local entries = {}
  for line in section:gmatch("[^\n]+") do
    if line:match("^ +%d+%. ") then
      entries[#entries + 1] = line
    elseif #entries > 0 then
      entries[#entries] = entries[#entries] .. "\n" .. line
    end
  end
  for _, entry in ipairs(entries) do
    local tests = 0
    for name in entry:gmatch("`([^`]+)`") do
      tests = tests + 1
      local file, test = name:match("^([%w_:]-)::([%w_]+)$")
      local path = file and file:gsub("::", "/") or ""
      local sources = { name, "tests/" .. path .. ".rs", "src/" .. path .. ".rs" }
      local where = assert(vim.iter(sources):find(vim.uv.fs_stat), name)
      if test then
        check.contains(table.concat(vim.fn.readfile(where), "\n"), "fn " .. test .. "(")
      end
    end
    same(tests > 0 or entry:find("Not answered", 1, true) ~= nil, true, entry)
  end
  same(#entries, 25)
end)

case("no line is wider than a help window", function()
  for line in text:gmatch("[^\n]+") do
    same(vim.fn.strdisplaywidth(line) <= 82, true, line)
  end
end)

check.finish()
