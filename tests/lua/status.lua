--- How a chat stands: its mode and model, and how long its turn has run, in the bars and for users' own code.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function option(category, current, choices)
  return {
    id = category .. "-id",
    name = category,
    category = category,
    type = "select",
    current = current,
    choices = choices,
  }
end

local MODES =
  { { value = "ask", name = "Always Ask" }, { value = "yolo", name = "100% %{execute('x')}" } }
local MODELS =
  { { value = "m1", name = "Small" }, { value = "m2", name = "A model with a very long name" } }

local function say_options(nvim, mode, model)
  nvim:say("options", {
    chat = 1,
    options = { option("mode", mode, MODES), option("model", model, MODELS) },
  })
end

--- Holds (Windows and views): Mode, model and elapsed time are on the screen.
case("mode and model are on the screen, and a change of them", function()
  local nvim = check.start({ columns = 160 })
  nvim:open_chat()
  say_options(nvim, "ask", "m1")
  check.contains(nvim:screen(), "Always Ask · Small")
  same(nvim:lua("return require('rat').statusline()"), "claude ready · Always Ask · Small")
  same(nvim:lua("return require('rat').status().model"), "Small")
  say_options(nvim, "yolo", "m2")
  check.contains(nvim:screen(), "100% %{execute('x… · A model with a ve…")
  check.contains(nvim:lua("return require('rat').statusline()"), "100%% %%{execute('x…")
end)

--- Holds (Windows and views): The cost of a session is in the bars, with what is a currency and nothing else that the agent says.
case("the cost is shown, and no long text in place of a currency", function()
  local nvim = check.start({ columns = 160 })
  nvim:open_chat()
  local function shown(cost, unit)
    nvim:status({ usage = { used = 50, size = 200, cost = cost, unit = unit } })
    return nvim:lua("return require('rat').statusline()"):match("25%%%% ?(.*)$") or "?"
  end
  same(shown(0.1234, "USD"), "· $0.12")
  same(shown(12, "CHF"), "· 12.00 CHF")
  same(shown(0, "USD"), "")
  same(shown(1, ("x"):rep(500)), "")
  same(shown(nil, nil), "")
end)

case("what a starting agent can be set to is not known yet", function()
  local nvim = check.start()
  nvim:open_chat({ state = "starting" })
  nvim:command("RatMode plan")
  nvim:told("is still starting. Try again soon.")
end)

case("what waits comes before them where there is little room", function()
  local nvim = check.start({ columns = 80 })
  nvim:open_chat({ state = "waiting", permissions = { check.permission(1) } })
  say_options(nvim, "ask", "m2")
  check.contains(nvim:screen(), ":RatAllow")
end)

case("what waits is whole however narrow the chat and however long the turn", function()
  local nvim = check.start({ columns = 160 })
  nvim:lua("Now = 0; vim.uv.now = function() return Now end")
  nvim:open_chat({ state = "waiting", permissions = { check.permission(1) } })
  nvim:lua("Now = 3725000")
  local shown = [[
    local win = vim.fn.bufwinid("rat://claude/1")
    vim.api.nvim_win_set_width(win, ...)
    local registry = require("rat.chat.registry")
    require("rat.view.window").refresh(registry.get(1))
    local bar = vim.wo[win].winbar
    return vim.api.nvim_eval_statusline(bar, { winid = win, use_winbar = true }).str
  ]]
  for width = 12, 80 do
    local bar = nvim:lua(shown, width)
    if width >= 28 then
      check.contains(bar, "waiting ")
    end
    assert(bar:find(width >= 20 and ":RatAllow :RatDeny $" or ":RatAllow $"), width .. bar)
    same(bar:find("<", 1, true), nil, width .. bar)
  end
  check.contains(nvim:lua(shown, 60), "waiting 1h 02m")
end)

--- Holds (Windows and views): The bars of a chat cut no command in the middle, however narrow it is.
case("no bar cuts a word however narrow the chat", function()
  local nvim = check.start({ columns = 60 })
  nvim:open_chat({ state = "waiting", permissions = { check.permission(1) } })
  check.contains(nvim:screen(), ":RatAllow :RatDeny")
  local shown = [[
    local name, width = ...
    local win = vim.fn.bufwinid(name)
    vim.api.nvim_win_set_width(win, width)
    require("rat.view.window").refresh(require("rat.chat.registry").get(1))
    return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str
  ]]
  local whole = { "", "waiting", "ready", ":RatAllow", ":RatDeny" }
  local all = { "ga allow once", "gr reject", "<C-c> cancel" }
  for width = 14, 58 do
    for word in nvim:lua(shown, "rat://claude/1", width):gmatch("%S+") do
      local is_title = word:find("^[Cc]laude") or word:find("…$") or word == "Code"
      assert(is_title or vim.list_contains(whole, word), width .. word)
    end
    local bar = nvim:lua(shown, "rat://claude/1/prompt", width)
    for i, part in ipairs(vim.split(vim.trim(bar), " · ", { plain = true })) do
      assert(part == all[i] or part == all[i]:match("^%S+"), width .. bar)
    end
    check.contains(bar, width >= 41 and "<C-c> cancel" or width >= 34 and "<C-c>" or "ga")
  end
  nvim:status({ state = "ready" })
  say_options(nvim, "ask", "m1")
  for width = 8, 58 do
    local bar = nvim:lua(shown, "rat://claude/1", width)
    check.contains(bar, "ready")
    same(bar:find("<", 1, true), nil, width .. bar)
  end
end)

--- Holds (Windows and views): Mode, model and elapsed time are on the screen.
case("a turn shows how long it has been running, and that it lives", function()
  local nvim = check.start({ columns = 160 })
  nvim:lua("Now = 0; vim.uv.now = function() return Now end")
  nvim:open_chat({ state = "running" })
  nvim:lua("Now = 9999; require('rat.view.window').refresh(require('rat.chat.registry').get(1))")
  same(nvim:screen():find("running %d") == nil, true)
  for _, one in ipairs({ { 10000, "10s" }, { 65000, "1m 05s" }, { 3725000, "1h 02m" } }) do
    nvim:lua("Now = ...", one[1])
    nvim:poll_screen("running " .. one[2])
    check.contains(nvim:lua("return require('rat').statusline()"), one[2])
  end
  nvim:status({ state = "ready" })
  same(nvim:screen():find("1h 02m", 1, true) == nil, true)
  nvim:status({ state = "running" })
  same(nvim:screen():find("running %d") == nil, true, "the next turn begins anew")
end)

case(
  "a question about this chat is not counted as elsewhere, and keys for requests name it",
  function()
    local nvim = check.start({ columns = 160 })
    nvim:lua("require('rat').setup({ permission = { open = 'never' } })")
    nvim:open_chat({ state = "cancelling" })
    nvim:say("ask", {
      id = 9,
      chat = 1,
      title = "Claude has not stopped yet",
      items = { "End the agent", "Wait" },
      by_user = false,
      lasting = true,
    })
    same(nvim:lua("return require('rat').statusline()"), "claude cancelling · 1 to answer")
    check.contains(nvim:screen(), ":RatPermission answer · :RatStop stop agent")
    nvim:input("g1")
    nvim:told("A question is waiting: :RatPermission shows it")
  end
)

check.finish()
