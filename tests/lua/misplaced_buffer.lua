--- What else is shown in a window of the chat: by a command, a picker or an explorer.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- What each window of the tab page shows, from left to right and from the top down.
local SHOWN = [[
  return vim.tbl_map(function(win)
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    return name:match("^rat://") and name or vim.fn.fnamemodify(name, ":t")
  end, vim.api.nvim_tabpage_list_wins(0))
]]

local CHAT, PROMPT = "rat://claude/1", "rat://claude/1/prompt"

--- A Neovim with a file and a chat, the user in a view of the chat.
local function start(view, options)
  local nvim = check.start(options or { columns = 120, lines = 30 })
  nvim:command("edit " .. check.root .. "/LICENSE")
  nvim:open_chat()
  nvim:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", view)
  return nvim
end

local function poll_shown(nvim, wanted)
  nvim:poll(
    ("vim.deep_equal((function() %s end)(), %s)"):format(SHOWN, vim.inspect(wanted):gsub("\n", " "))
  )
end

--- Holds (Windows and views): A buffer that is opened in a window of the chat moves to the user's window.
case("a file opened in any view lands in the user's window, the chat comes back", function()
  local ways = {
    "edit +5 %s",
    "badd %s | buffer +5 Cargo.toml",
    "lua vim.api.nvim_win_set_buf(0, vim.fn.bufadd('%s')); vim.api.nvim_win_set_cursor(0, { 5, 0 })",
    "argadd %s | argument +5 1",
  }
  for _, view in ipairs({ CHAT, PROMPT }) do
    for _, way in ipairs(ways) do
      local nvim = start(view)
      nvim:command(way:format(check.root .. "/Cargo.toml"))
      poll_shown(nvim, { "Cargo.toml", CHAT, PROMPT })
      same(nvim:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }"), { "Cargo.toml", 5 }, way)
      same(nvim:lua("return vim.api.nvim_win_get_width(vim.fn.bufwinid(...))", CHAT), 50, way)
      same(nvim:lua("return #Said"), 0)
    end
  end
end)

case("so does what an explorer shows, which is gone once no window shows it", function()
  local nvim = start(PROMPT)
  nvim:lua([[
    local buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buf, "/explorer")
    vim.bo[buf].buftype, vim.bo[buf].bufhidden = "acwrite", "wipe"
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, { "a", "b" })
    vim.api.nvim_win_set_buf(0, buf)
    vim.wo.number, vim.wo.wrap = true, false
  ]])
  poll_shown(nvim, { "explorer", CHAT, PROMPT })
  local wo = "return { vim.wo[vim.fn.bufwinid(...)].number, vim.wo[vim.fn.bufwinid(...)].wrap }"
  same(nvim:lua(wo, PROMPT), { false, true })
end)

case("a draft stays, and nothing of ours in the options of the user's window", function()
  local nvim = start(PROMPT)
  nvim:lua("vim.go.number, vim.go.list = true, true")
  nvim:input("ia draft<Esc>")
  nvim:poll("vim.fn.getline(1) == 'a draft'")
  nvim:command("edit " .. check.root .. "/Cargo.toml")
  poll_shown(nvim, { "Cargo.toml", CHAT, PROMPT })
  same(nvim:lua("return vim.fn.getbufline(vim.fn.bufnr(...), 1, '$')", PROMPT), { "a draft" })
  local options = { "winfixbuf", "winfixwidth", "winfixheight", "winbar", "conceallevel", "wrap" }
  for _, name in ipairs(options) do
    same(nvim:lua("return vim.wo[...]", name), nvim:lua("return vim.go[...]", name), name)
  end
  same(nvim:lua("return vim.wo.number"), true)
end)

case("with no window but the chat's, a new one is opened beside", function()
  for _, view in ipairs({ CHAT, PROMPT }) do
    local nvim = start(view)
    nvim:command("only")
    nvim:command("edit " .. check.root .. "/Cargo.toml")
    poll_shown(nvim, { "Cargo.toml", view })
    same(nvim:lua("return vim.fn.expand('%:t')"), "Cargo.toml")
    same(nvim:lua("return vim.api.nvim_win_get_width(vim.fn.bufwinid(...))", view), 50)
  end
end)

case("unsaved text that may not be hidden stays in sight", function()
  local nvim = start(CHAT)
  nvim:lua("vim.go.hidden = false; vim.fn.setbufline(vim.fn.bufnr('LICENSE'), 1, 'mine')")
  nvim:command("edit " .. check.root .. "/Cargo.toml")
  poll_shown(nvim, { "Cargo.toml", "LICENSE", CHAT, PROMPT })
end)

case("a view that was deleted leaves its window to the user", function()
  local nvim = start(PROMPT)
  nvim:command("bdelete")
  local found = "return vim.tbl_map(function(win) return vim.wo[win].winfixheight or vim.wo[win].winbar end,"
    .. " vim.fn.win_findbuf(vim.fn.bufnr('LICENSE')))"
  for _, value in ipairs(nvim:lua(found)) do
    same(value, "")
  end
  nvim:command("edit " .. check.root .. "/Cargo.toml")
  same(nvim:lua("return vim.fn.expand('%:t')"), "Cargo.toml")
  same(nvim:lua("return #Said"), 0)
end)

case("an explorer that shows itself again where it was stays in the one window", function()
  local nvim = start(CHAT)
  nvim:lua([[
    function Explore(win, name)
      local buf = vim.api.nvim_create_buf(false, true)
      vim.api.nvim_buf_set_name(buf, name)
      vim.bo[buf].buftype, vim.bo[buf].filetype = "nofile", "tree"
      vim.api.nvim_win_set_buf(win, buf)
    end
    Explore(0, "/first")
  ]])
  poll_shown(nvim, { "first", CHAT, PROMPT })
  nvim:lua("Explore(vim.fn.bufwinid(...), '/second')", CHAT)
  poll_shown(nvim, { "second", CHAT, PROMPT })
end)

check.finish()
