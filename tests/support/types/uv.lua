--- What the type checker has to know of `vim.uv`: the part of luv that the plugin uses. Neovim's runtime does not say.
---@meta _

---@class uv.time
---@field sec integer
---@field nsec integer

---@class uv.fs_stat.result
---@field type string
---@field size integer
---@field ino integer
---@field mtime uv.time
---@field mode integer

---@class uv.uv_timer_t
---@field start fun(self: uv.uv_timer_t, timeout: integer, repeats: integer, callback: fun())
---@field stop fun(self: uv.uv_timer_t)
---@field close fun(self: uv.uv_timer_t)
---@field is_active fun(self: uv.uv_timer_t): boolean
---@field is_closing fun(self: uv.uv_timer_t): boolean

---@class uv.uv_fs_t

---@class uv
---@field fs_access fun(path: string, mode: string): boolean?
---@field fs_stat (fun(path: string): uv.fs_stat.result?, string?, string?)|(fun(path: string, callback: fun(problem: string?, stat: uv.fs_stat.result?)))
---@field fs_realpath fun(path: string): string?, string?
---@field fs_unlink fun(path: string): boolean?
---@field fs_rename fun(path: string, new: string): boolean?, string?
---@field fs_utime fun(path: string, accessed: number, modified: number): boolean?
---@field fs_scandir fun(path: string): uv.uv_fs_t?
---@field fs_scandir_next fun(entries: uv.uv_fs_t): string?, string?
---@field fs_open fun(path: string, flags: string, mode: integer, callback?: fun(problem: string?, file: integer?)): integer?, string?
---@field fs_read fun(file: integer, size: integer, offset: integer?, callback?: fun(problem: string?, data: string?)): string?
---@field fs_write fun(file: integer, data: string, offset?: integer): integer?, string?
---@field fs_close fun(file: integer): boolean?
---@field hrtime fun(): integer
---@field kill fun(pid: integer, signal: integer|string): integer?, string?
---@field new_timer fun(): uv.uv_timer_t?
---@field now fun(): integer

---@type uv
vim.uv = nil
