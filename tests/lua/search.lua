--- `:RatSearch`: what is asked of the binary, and how what it finds is shown and opened.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function item(nvim, fields)
  return vim.tbl_extend("force", {
    agent = "claude",
    session = "s1",
    cwd = nvim.home,
    title = "Fix the parser",
    title_marks = { 8, 14 },
    used_at = os.time() - 7200,
    line = "the parser needs größe",
    marks = { 4, 10, 17, 24 },
  }, fields or {})
end

local function lines(nvim)
  return nvim:lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('rat://search'), 0, -1, true)")
end

local function searched(nvim, words)
  nvim:command("RatSearch " .. words)
  return nvim:heard("search")
end

--- Holds (Searching): What was found is listed with the words highlighted, the session used last first.
case("the words are highlighted in the title and the line", function()
  local nvim = check.start({ columns = 100 })
  same(searched(nvim, "parser  größe"), { request = 1, words = "parser  größe" })
  same(lines(nvim), { "Searching .." })
  local items = { item(nvim), item(nvim, { session = "s2", line = vim.NIL, marks = {} }) }
  items[2].line = nil
  nvim:say("found", { request = 1, items = items, count = 2, searched = 340 })
  local head = "Fix the parser · claude · ~ · 2 h ago"
  same(lines(nvim), { head, "    the parser needs größe", head })
  local marked = nvim:lua([[
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do
      if mark[4].hl_group == "Search" then
        local text = vim.api.nvim_buf_get_text(0, mark[2], mark[3], mark[2], mark[4].end_col, {})
        found[#found + 1] = text[1]
      end
    end
    return found
  ]])
  same(marked, { "parser", "parser", "größe", "parser" })
  check.contains(nvim:screen(), "Search: parser  größe (2 of 340 sessions)")
end)

case("keys lead from session to session and open one in its folder", function()
  local nvim = check.start()
  local other = nvim.home .. "/other"
  vim.fn.mkdir(other, "p")
  searched(nvim, "parser")
  nvim:say("found", {
    request = 1,
    items = {
      item(nvim),
      item(nvim, { session = "s2", cwd = other, agent = "gemini" }),
      item(nvim, { session = "s3", cwd = nvim.home .. "/gone" }),
    },
    count = 731,
    searched = 900,
  })
  check.contains(nvim:screen(), "the last 3 of 731 in 900 sessions")
  local function line()
    return nvim:lua("return vim.fn.line('.')")
  end
  for _, one in ipairs({
    { "]]", 3 },
    { "]]", 5 },
    { "]]", 5 },
    { "[[", 3 },
    { "2[[", 1 },
    { "j]]", 3 },
  }) do
    nvim:input(one[1])
    nvim:poll(("vim.fn.line('.') == %d"):format(one[2]))
  end
  same(line(), 3)
  nvim:input("j<CR>")
  local start = nvim:heard("start")
  same({ start.session, start.wish, start.cwd }, { "s2", "session", vim.uv.fs_realpath(other) })
  nvim:command("call win_gotoid(bufwinid('rat://search')) | 5")
  nvim:input("<CR>")
  nvim:told("The folder of this session does not exist any more: ~/gone")
end)

--- Holds (Searching): A search ends the one before it.
case("only the answer to the last search is shown", function()
  local nvim = check.start()
  searched(nvim, "one")
  nvim:command("RatSearch two")
  same(nvim:heard("search", 2), { request = 2, words = "two" })
  nvim:say("found", { request = 1, items = { item(nvim) }, count = 1, searched = 1 })
  same(lines(nvim), { "Searching .." })
  nvim:say("found", { request = 2, items = {}, count = 0, searched = 5 })
  same(lines(nvim), { "No session has all these words." })
  nvim:input("q")
  nvim:poll("vim.fn.bufnr('rat://search') == -1")
  nvim:say("found", { request = 2, items = { item(nvim) }, count = 1, searched = 1 })
  same(nvim:lua("return vim.fn.bufnr('rat://search')"), -1)
end)

case("without words the last ones are searched again, or some are asked for", function()
  local nvim = check.start()
  nvim:command("RatSearch")
  nvim:poll("vim.bo.filetype == 'ratinput'")
  nvim:input("<CR>")
  nvim:poll("vim.bo.filetype ~= 'ratinput'")
  same(nvim:has_heard("search"), false)
  nvim:command("RatSearch")
  nvim:poll("vim.bo.filetype == 'ratinput'")
  nvim:input("what was it<CR>")
  same(nvim:heard("search").words, "what was it")
  nvim:command("RatSearch")
  same(nvim:heard("search", 2), { request = 2, words = "what was it" })
  nvim:say("found", { request = 2, items = {}, count = 0, searched = 0 })
  same(lines(nvim), { "No session is saved yet." })
end)

case(":edit searches again", function()
  local nvim = check.start()
  searched(nvim, "parser")
  nvim:say("found", { request = 1, items = { item(nvim) }, count = 1, searched = 1 })
  nvim:command("edit")
  same(nvim:heard("search", 2), { request = 2, words = "parser" })
  nvim:say("found", { request = 2, items = { item(nvim) }, count = 1, searched = 1 })
  check.contains(lines(nvim)[1], "Fix the parser")
end)

case("what is too much is not searched for, in one line", function()
  local nvim = check.start()
  nvim:command("RatSearch " .. ("a"):rep(251))
  nvim:told(":RatSearch takes at most 250 bytes")
  same(nvim:has_heard("search"), false)
end)

check.finish()
