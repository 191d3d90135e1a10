--- Sessions to choose from: their times read and told.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

case("times of agents are read, whatever zone they are in", function()
  for _, zone in ipairs({ "UTC", "Europe/Berlin", "America/St_Johns" }) do
    local nvim = check.start({ env = { TZ = zone } })
    local function time(text)
      return nvim:lua("return require('rat.chat.sessions').time(...)", text)
    end
    same(time("2026-11-21T14:05:06Z"), 1795269906)
    same(time("2026-11-21T14:05:06.123456Z"), 1795269906)
    same(time("2026-11-21T15:05:06+01:00"), 1795269906)
    same(time("2026-11-21T10:35:06-0330"), 1795269906)
    same(time("2026-07-01T00:00Z"), 1782864000)
    same(time("yesterday"), vim.NIL)
    same(nvim:lua("return require('rat.chat.sessions').time(nil)"), vim.NIL)
  end
end)

case("an age is told in words", function()
  local nvim = check.start({ env = { TZ = "UTC" } })
  local function age(seconds)
    return nvim:lua(
      "return require('rat.chat.sessions').age(...)",
      1795269906 - seconds,
      1795269906
    )
  end
  same(age(-5), "now")
  same(age(59), "now")
  same(age(3599), "59 min ago")
  same(age(7200), "2 h ago")
  same(age(86400 * 6), "6 d ago")
  same(age(86400 * 8), "2026-11-13")
end)

case("a prompt that is too long for the list of turns is cut with an ellipsis", function()
  local nvim = check.start({ columns = 120 })
  nvim:open_chat()
  local function turn(id, prompt)
    local lines = { files = 1, added = 1, removed = 0, time = os.time(), undone = false }
    return vim.tbl_extend("error", { root = "/", id = id, prompt = prompt }, lines)
  end
  local long = "rename the function in all of these files, please"
  nvim:say("turns", { chat = 1, items = { turn("1", long), turn("2", "short") } })
  nvim:poll_screen("rename the function in all of these… · 1 file")
  nvim:poll_screen("short · 1 file")
end)

check.finish()
