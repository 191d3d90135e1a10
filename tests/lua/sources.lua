--- The sources of completion for blink.cmp and nvim-cmp. The spec plays the plugins by their protocols.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- What a plugin does with a source, and how it looks to us. `Ask()` has the source of it asked at the cursor, as often as
--- it answers that is in `Answers`.
local plugins = {
  blink = [[
    Asked = {}
    package.loaded["blink.cmp"] = {}
    package.loaded["blink.cmp.config"] = { enabled = function() return On end }
    local config = { module = "rat.blink" }
    package.loaded["blink.cmp.sources.lib"] = {
      get_enabled_providers = function()
        Source = Source or require(config.module).new({}, config)
        return Named and Source:enabled() and { rat = { config = config } } or {}
      end,
    }
    function Ask()
      Source = Source or require(config.module).new({}, config)
      Available = Source:enabled()
      return Source:get_completions({ bufnr = vim.api.nvim_get_current_buf() }, function(response)
        table.insert(Answers, response.items)
        Again = response.is_incomplete_forward and response.is_incomplete_backward
      end)
    end
  ]],
  cmp = [[
    package.loaded.cmp = {
      register_source = function(name, source)
        Registered = (Registered or 0) + 1
        Source = name == "rat" and source or Source
      end,
      get_config = function()
        return { enabled = function() return On end, sources = Named and { { name = "rat" } } or { { name = "path" } } }
      end,
    }
    function Ask()
      require("rat.complete.plugins").prepare()
      Available = Source:is_available()
      assert(Source:get_position_encoding_kind() == "utf-8")
      local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
      Keyword = vim.fn.matchstr(before, Source:get_keyword_pattern() .. [=[\m$]=])
      Source:complete({ offset = 1 }, function(response)
        table.insert(Answers, response.items)
        Again = response.isIncomplete
      end)
    end
  ]],
}

local function start(plugin)
  local nvim = check.start()
  nvim:files({ "alpha.txt", "sub/straße.txt", "sub/[id].txt", "@v/@x/y.txt" })
  nvim:lua("On, Named, Answers = true, true, {}")
  nvim:lua(plugins[plugin])
  nvim:open_chat()
  nvim:say("commands", {
    chat = 1,
    commands = {
      { name = "review", description = "Look at it.\nAll of it.", hint = "what" },
      { name = "rest now" },
    },
  })
  return nvim
end

--- What is offered where a line is typed so far.
local function offered(nvim, line, row)
  local before = nvim:lua("return #Answers")
  nvim:lua(
    [[
      local line, row = ...
      local lines = {}
      for one = 1, row do
        lines[one] = one == row and line or "…"
      end
      vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
      vim.wo.virtualedit = "onemore"
      vim.api.nvim_win_set_cursor(0, { row, #line })
      Ask()
    ]],
    line,
    row or 1
  )
  nvim:poll(("#Answers == %d"):format(before + 1))
  return nvim:lua("return Answers[#Answers]")
end

--- The line with each of what is offered in its place, the best first.
local function applied(nvim, line, row)
  return vim.tbl_map(function(item)
    local range = item.textEdit.range
    same({ range.start.line, range["end"].line }, { (row or 1) - 1, (row or 1) - 1 })
    same(range["end"].character, #line)
    -- What nvim-cmp takes for the word has to be what is replaced.
    local replaced = line:sub(range.start.character + 1)
    same(nvim:lua("return Keyword or ...", replaced), replaced)
    return line:sub(1, range.start.character) .. item.textEdit.newText
  end, offered(nvim, line, row))
end

for plugin in pairs(plugins) do
  case(plugin .. " offers /commands with what is known of them", function()
    local nvim = start(plugin)
    local items = offered(nvim, "/re")
    same(nvim:lua("return { Available, Again }"), { true, true })
    same(#items, 2)
    same(items[1].label, "/review")
    same(vim.trim(items[1].labelDetails.detail), "what")
    same(items[1].documentation.value, "Look at it.\nAll of it.")
    same(items[2].documentation, nil)
    same(applied(nvim, "/re"), { "/review", "/rest now" })
    same(applied(nvim, "/rest n"), { "/rest now" })
    same(applied(nvim, "say /re"), {})
    same(applied(nvim, "/re", 2), {})
    same(applied(nvim, "/review now"), {})
  end)

  case(plugin .. " offers @files and folders, whatever they are called", function()
    local nvim = start(plugin)
    same(applied(nvim, "@alp"), { "@alpha.txt" })
    same(applied(nvim, "größer (@sub/s", 2), { "größer (@sub/straße.txt" })
    same(applied(nvim, "größer @ß"), { "größer @sub/straße.txt" })
    same(applied(nvim, "@[id]"), { "@sub/[id].txt" })
    same(applied(nvim, "/x @@v/@x/"), { "/x @@v/@x/", "/x @@v/@x/y.txt" })
    same(applied(nvim, "a@alp"), {})
    local kinds = {}
    for _, item in ipairs(offered(nvim, "@sub")) do
      kinds[item.textEdit.newText] = item.kind
    end
    local kind = vim.lsp.protocol.CompletionItemKind
    same(kinds, {
      ["@sub/"] = kind.Folder,
      ["@sub/straße.txt"] = kind.File,
      ["@sub/[id].txt"] = kind.File,
    })
  end)

  case(plugin .. " is asked in the prompt only, and for what is completed there", function()
    local nvim = start(plugin)
    offered(nvim, "x @sub/")
    same(nvim:lua("return vim.list_contains(Source:get_trigger_characters(), '/')"), true)
    offered(nvim, "x and/")
    same(nvim:lua("return Source:get_trigger_characters()"), {})
    nvim:command("enew")
    same(offered(nvim, "@"), {})
    same(nvim:lua("return Available"), false)
  end)

  case("the menu stays away where " .. plugin .. " offers the same", function()
    local nvim = start(plugin)
    nvim:input("i/re")
    nvim:poll("vim.fn.getline('.') == '/re'")
    same(nvim:lua("return vim.fn.pumvisible()"), 0)
    for _, switch in ipairs({ "On", "Named" }) do
      nvim:lua(switch .. " = false")
      nvim:input("<Esc>S/re")
      nvim:poll("vim.fn.pumvisible() == 1")
      nvim:lua(switch .. " = true")
    end
    nvim:input("<Esc>S@al")
    nvim:poll("vim.fn.getline('.') == '@al'")
    same(nvim:lua("return vim.fn.pumvisible()"), 0)
  end)
end

case("files that are still being listed come later, where somebody still waits", function()
  local nvim = start("blink")
  nvim:lua([[
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { "@alpha " })
    vim.api.nvim_win_set_cursor(0, { 1, 6 })
    local cancel = Ask()
    cancel()
    Ask()
    Early = #Answers
  ]])
  nvim:poll("#Answers == 1")
  same(nvim:lua("return { Early, #Answers[1] }"), { 0, 1 })
  nvim:lua("Ask()")
  same(nvim:lua("return #Answers"), 2)
end)

case("what has the protocol of a plugin no more does not break typing", function()
  local nvim = start("blink")
  nvim:lua("package.loaded['blink.cmp.sources.lib'] = {}")
  nvim:input("i/re")
  nvim:poll("vim.fn.pumvisible() == 1")
end)

--- Holds (Other plugins): Commands and files are offered through blink.cmp and nvim-cmp, in their menu alone.
case("nvim-cmp is told of the source once", function()
  local nvim = start("cmp")
  nvim:input("i/re<Esc>S@<Esc>")
  nvim:poll("vim.api.nvim_get_mode().mode == 'n'")
  same(nvim:lua("return Registered"), 1)
end)

check.finish()
