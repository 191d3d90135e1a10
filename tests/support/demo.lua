--- The configuration of `make demo`: the plugin alone, and the tour started once the screen is there. It must show
--- the plugin as it comes, without an option set.
local this = debug.getinfo(1, "S").source:sub(2)
vim.opt.runtimepath:prepend(vim.fn.fnamemodify(this, ":p:h:h:h"))
vim.g.rat_binary = vim.env.RAT_DEMO_BINARY
vim.env.RAT_DEMO_BINARY = nil
vim.o.number = true

vim.api.nvim_create_autocmd("VimEnter", {
  once = true,
  callback = function()
    -- Something that only the editor knows, for the tour to find.
    vim.api.nvim_buf_set_lines(0, 0, 0, true, { "# This line is not saved." })
    -- Where the change will come.
    vim.fn.search("if seconds")
    vim.cmd.normal({ args = { "zz" }, bang = true })
    vim.cmd.RatStart("tour")
    require("rat").send("Please show me around.")
  end,
})
