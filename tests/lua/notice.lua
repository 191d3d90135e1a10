--- Being told of what happens where the user does not look.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

--- A Neovim with a chat in a folder, and what its terminal is sent in `Sent`.
local function start(options)
  local nvim = check.start()
  nvim:lua("require('rat').setup({ notify = ... })", options or vim.empty_dict())
  nvim:lua(
    "Sent = {}; require('rat.chat.alert').send = function(bytes) table.insert(Sent, bytes) end"
  )
  nvim:open_chat()
  return nvim
end

local function end_turn(nvim, reason, next)
  local data = { chat = 1, stop_reason = reason, next = next }
  nvim:say("event", { name = "RatTurnEnd", data = data })
end

local function ask(nvim)
  nvim:status({ state = "waiting", permissions = { check.permission(1) } })
end

local function said(nvim)
  -- Messages are scheduled.
  nvim:lua("Settled = false; vim.schedule(function() Settled = true end)")
  nvim:poll("Settled")
  return nvim:lua("return vim.tbl_map(function(one) return one[1] end, Said)")
end

case("what the tab page shows is not told", function()
  local nvim = start({ terminal = "bell" })
  end_turn(nvim, "end_turn")
  ask(nvim)
  same({ said(nvim), nvim:lua("return Sent") }, { {}, {} })
end)

--- Holds (Windows and views): The end of a turn out of sight is announced once.
case("what it does not show is told once, a cancelled or failed turn not", function()
  local nvim = start()
  nvim:command("RatToggle")
  end_turn(nvim, "cancelled")
  end_turn(nvim, "error")
  end_turn(nvim, "end_turn")
  ask(nvim)
  ask(nvim)
  nvim:told("Edit main.rs")
  local texts = said(nvim)
  same(#texts, 2, vim.inspect(texts))
  check.contains(texts[1], "has finished")
  same(nvim:lua("return Sent"), {})
end)

case("a turn is not told that a queued prompt follows, one that stopped early is", function()
  local nvim = start()
  nvim:command("RatToggle")
  nvim:status({ state = "running", queued = { "next" } })
  end_turn(nvim, "end_turn")
  nvim:status({ state = "ready" })
  end_turn(nvim, "max_tokens")
  nvim:told("has stopped: max tokens")
  same(#said(nvim), 1)
end)

case("two turns of which one follows the other at once are told once", function()
  local nvim = start()
  nvim:command("RatToggle")
  -- The prompt, such as a reason that was given with a rejection, is on its way already.
  nvim:status({ state = "running", queued = {} })
  end_turn(nvim, "end_turn", true)
  nvim:status({ state = "ready" })
  end_turn(nvim, "end_turn", false)
  nvim:told("has finished")
  same(#said(nvim), 1)
end)

case("a turn after which the queue waits for the user is told", function()
  local nvim = start()
  nvim:command("RatToggle")
  nvim:status({ state = "ready", queued = { "next" }, queue_paused = true })
  end_turn(nvim, "refusal", false)
  nvim:told("has stopped: refusal")
end)

case("the terminal is told, too, where that is chosen: also without the focus", function()
  for terminal, wanted in pairs({ bell = "\a", osc9 = "\27]9;rat.nvim: claude\27\\" }) do
    local nvim = start({ terminal = terminal })
    nvim:command("doautocmd FocusLost")
    end_turn(nvim, "end_turn")
    same(nvim:lua("return Sent"), { wanted })
    same(said(nvim), {}, "it is in sight")
    nvim:command("doautocmd FocusGained")
    end_turn(nvim, "end_turn")
    same(nvim:lua("return Sent"), { wanted })
    nvim:command("RatToggle")
    ask(nvim)
    same(nvim:lua("return Sent"), { wanted, wanted })
  end
end)

case("nothing is told to who wants nothing", function()
  local nvim = start({ when = "never", terminal = "bell" })
  nvim:command("RatToggle")
  end_turn(nvim, "end_turn")
  ask(nvim)
  same({ said(nvim), nvim:lua("return Sent") }, { {}, {} })
end)

check.finish()
