--- Texts broken into lines, and made one line.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function wrap(text, width)
  return check.start():lua("return require('rat.text').wrap(...)", text, width)
end

case("lines break between words", function()
  same(wrap("one two three", 7), { "one two", "three" })
  same(wrap("one\n\ntwo", 7), { "one", "", "two" })
  same(wrap("", 7), { "" })
end)

case("a word that is longer than a line breaks within itself", function()
  same(wrap("see https://example.com", 8), { "see", "https://", "example.", "com" })
  same(wrap("日本語です", 5), { "日本", "語で", "す" })
  same(wrap("日本", 1), { "日", "本" })
end)

case("control characters become spaces", function()
  local one =
    check.start():lua("return require('rat.text').one_line(...)", "a\r\nb\27c\194\155d é")
  same(one, "a b c d é")
end)

check.finish()
