--- Gets the binary after an install or an update: downloads it if these sources are exactly those of a release, else
--- builds it with cargo. Writes only to its own `target/` and the tags of the help. lazy.nvim runs this file by itself; by
--- hand it is run with `nvim -l build.lua`.
--- `RAT_RELEASE` names another folder or https URL with releases; if it is set but empty, the binary is always built.

local script = debug.getinfo(1, "S").source:sub(2)
local root = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(script, ":p")))
local folder = root .. "/target/release"
local binary = folder .. "/rat-nvim"

--- The binary is written here and then renamed. The process id keeps this apart from other Neovims that install it at
--- the same time.
local part = ("%s.%d.part"):format(binary, vim.uv.os_getpid())
local downloads = ("%s/target/download.%d"):format(root, vim.uv.os_getpid())

--- Rust targets that releases are built for, by system and machine as `uv.os_uname()` names them.
local TARGETS = {
  ["linux-x86_64"] = "x86_64-unknown-linux-gnu",
  ["linux-aarch64"] = "aarch64-unknown-linux-gnu",
  ["darwin-x86_64"] = "x86_64-apple-darwin",
  ["darwin-arm64"] = "aarch64-apple-darwin",
}

--- Whether this file runs in a coroutine. Its caller, such as lazy.nvim, then does other work whenever it yields.
---@return boolean
local function in_coroutine()
  local thread, is_main = coroutine.running()
  return thread ~= nil and not is_main
end

--- Shows progress.
---@param text string one line
local function report(text)
  if in_coroutine() then
    coroutine.yield(text)
  else
    vim.api.nvim_echo({ { text .. "\n" } }, true, {})
  end
end

--- Raises an error without a position in this file.
---@param what string what happened
---@param remedy string what to do about it
local function fail(what, remedy)
  error(("rat.nvim: %s: %s"):format(what, remedy), 0)
end

---@param path string
---@return string?
local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

--- Returns a value of Cargo.toml, which states the version, the oldest Rust compiler and the repository.
---@param name string
---@return string
local function manifest(name)
  local text = "\n" .. (read(root .. "/Cargo.toml") or "")
  local value = text:match("\n" .. vim.pesc(name) .. ' = "([^"]*)"')
  return value or fail("Cargo.toml names no " .. name, "install the plugin again")
end

--- Runs a program in the plugin's folder and waits for it. In a coroutine the last line on stderr is reported meanwhile.
---@param command string[]
---@param label? string reported before the program writes a line; by default the command
---@return vim.SystemCompleted # with all of `stderr`
local function run(command, label)
  local written, line, result = {}, label or table.concat(command, " "), nil
  local ok, process = pcall(vim.system, command, {
    cwd = root,
    stderr = function(_, data)
      written[#written + 1] = data
      line = data and vim.trim(data):match("[^\n]*$") or line
    end,
  }, function(completed)
    result = completed
  end)
  if not ok then
    return { code = 1, signal = 0, stderr = tostring(process), stdout = "" }
  end
  if in_coroutine() then
    while not result do
      coroutine.yield(line)
    end
  else
    report(line)
    result = process:wait()
  end
  result.stderr = table.concat(written)
  return result
end

--- Runs a program and raises an error if it fails.
---@param command string[]
---@param remedy string what the user can do about a failure
---@return string stdout
local function run_checked(command, remedy)
  local result = run(command)
  if result.code ~= 0 then
    fail(("%s failed:\n%s\n"):format(table.concat(command, " "), vim.trim(result.stderr)), remedy)
  end
  return result.stdout
end

---@param result vim.SystemCompleted
---@return string # the last line of stderr
local function last_error_line(result)
  return vim.trim(result.stderr):match("[^\n]*$") or ""
end

---@param program string
---@return boolean
local function has(program)
  return vim.fn.executable(program) == 1
end

--- Returns where releases are: `RAT_RELEASE` if it is set, else the project's releases, but only if HEAD is the tag of
--- this version. Sources after a release have the same version, but its binary may not fit them.
---@return string? base a folder or an https URL
---@return string? reason why no release is used
local function release_base()
  -- `vim.env` cannot tell an empty variable from an unset one.
  local named = os.getenv("RAT_RELEASE")
  if named and vim.fn.isdirectory(named) == 1 then
    return vim.fs.normalize(vim.fn.fnamemodify(named, ":p"))
  elseif named then
    return named ~= "" and named:gsub("/+$", "") or nil, "RAT_RELEASE is empty"
  end
  local tag = "v" .. manifest("version")
  if vim.uv.fs_stat(root .. "/.git") == nil or not has("git") then
    return nil, "this is no clone of a release"
  end
  local label = "looking for the tag " .. tag
  local function commit(name)
    local result = run({ "git", "rev-parse", "--verify", "--quiet", name .. "^{commit}" }, label)
    return result.code == 0 and vim.trim(result.stdout) or nil
  end
  local released = commit("refs/tags/" .. tag)
  if not released or released ~= commit("HEAD") then
    return nil, "these sources are not those of " .. tag
  end
  return manifest("repository") .. "/releases/download/" .. tag
end

--- Downloads a file of a release, or finds it in the folder of releases.
---@param base string see `release_base`
---@param name string
---@return string? path
---@return string? reason
local function fetch(base, name)
  if vim.fn.isdirectory(base) == 1 then
    local path = vim.fs.joinpath(base, name)
    return vim.uv.fs_stat(path) and path, path .. " is missing"
  elseif not base:match("^https://") then
    return nil, base .. " is neither a folder nor an https URL"
  elseif not has("curl") then
    return nil, "curl is not on PATH"
  end
  vim.fn.mkdir(downloads, "p")
  local path = downloads .. "/" .. name
  local command = { "curl", "--fail", "--silent", "--show-error", "--location" }
  vim.list_extend(command, { "--proto", "=https", "--connect-timeout", "20", "--max-time", "600" })
  vim.list_extend(command, { "--output", path, base .. "/" .. name })
  local result = run(command, "downloading " .. name)
  return result.code == 0 and path or nil, last_error_line(result)
end

---@param path string
---@return string? # in hexadecimal digits
---@return string? reason
local function sha256(path)
  local command = has("sha256sum") and { "sha256sum", path } or { "shasum", "-a", "256", path }
  if not has(command[1]) then
    return nil, "neither sha256sum nor shasum is on PATH"
  end
  local result = run(command, "checking " .. vim.fs.basename(path))
  return result.stdout:match("^\\?(%x+)"), last_error_line(result)
end

--- Extracts one member of an archive to `part`. It is read from tar's stdout, so nothing else in the archive is written.
---@param archive string
---@param member string
local function unpack_binary(archive, member)
  local result = run({ "tar", "-xzOf", archive, member }, "unpacking " .. member)
  if result.code ~= 0 or result.stdout == "" then
    fail(archive .. " cannot be unpacked", last_error_line(result))
  end
  vim.fn.mkdir(folder, "p")
  local file, problem = io.open(part, "wb")
  if not file then
    fail("the binary cannot be written", problem)
  end
  local written = file:write(result.stdout)
  local closed = file:close()
  if not written or not closed or not vim.uv.fs_chmod(part, 493) then -- 0755
    fail(part .. " cannot be written", "see how much room the disk has")
  end
end

--- Installs the binary of a release if there is one that runs on this machine. A wrong checksum raises an error.
---@return boolean installed
---@return string? reason why not
local function install_release()
  local uname = vim.uv.os_uname()
  local machine = ("%s-%s"):format(uname.sysname, uname.machine):lower()
  local target = TARGETS[machine]
  local base, reason = release_base()
  if not base then
    return false, reason
  elseif not target then
    return false, "there are none for " .. machine
  elseif not has("tar") then
    return false, "tar is not on PATH"
  end
  local version = manifest("version")
  local name = ("rat-nvim-%s-%s"):format(version, target)
  local checksum, no_checksum = fetch(base, name .. ".tar.gz.sha256")
  if not checksum then
    return false, no_checksum
  end
  local archive, no_archive = fetch(base, name .. ".tar.gz")
  if not archive then
    return false, no_archive
  end
  local sum, no_sum = sha256(archive)
  if not sum then
    return false, no_sum
  elseif sum:lower() ~= ((read(checksum) or ""):match("^(%x+)%s") or ""):lower() then
    fail(("%s.tar.gz has a wrong checksum"):format(name), "nothing was unpacked; do not use it")
  end
  unpack_binary(archive, name .. "/rat-nvim")
  local trial = run({ part, "--version" }, "trying " .. name)
  if trial.code ~= 0 or trial.stdout:match("^rat%-nvim (%S+)") ~= version then
    return false, ("the binary of %s does not run here %s"):format(name, last_error_line(trial))
  end
  assert(vim.uv.fs_rename(part, binary))
  return true
end

--- Builds the binary with cargo.
---@param no_release string why no release is used
local function compile(no_release)
  local minimum = manifest("rust-version")
  local remedy = "install Rust " .. minimum .. " or newer from https://rustup.rs"
  for _, program in ipairs({ "cargo", "rustc" }) do
    if not has(program) then
      fail(
        ("there is no release to use (%s), and %s is not on PATH"):format(no_release, program),
        remedy
      )
    end
  end
  local version = run_checked({ "rustc", "--version" }, remedy):match("%d+%.%d+%.%d+")
  if not version or vim.version.lt(version, minimum) then
    fail("Rust " .. (version or "of an unknown version") .. " is too old", remedy)
  end
  -- The plugin looks for the binary in its own folder, so a target directory from the user's cargo configuration is overridden.
  local command = { "cargo", "build", "--release", "--locked", "--target-dir", root .. "/target" }
  run_checked(command, "see the lines above")
end

local function install()
  if vim.fn.has("win32") == 1 then
    fail("Windows is not supported", "use Neovim inside WSL")
  end
  local ok, downloaded, reason = pcall(install_release)
  os.remove(part)
  vim.fn.delete(downloads, "rf")
  if not ok then
    error(downloaded, 0)
  elseif not downloaded then
    reason = vim.trim(reason or "")
    report("rat.nvim: building with cargo, no release is used: " .. reason)
    compile(reason)
  end
  if vim.fn.isdirectory(root .. "/doc") == 1 then
    pcall(vim.cmd.helptags, vim.fn.fnameescape(root .. "/doc"))
  end
  report(("rat.nvim: %s %s"):format(downloaded and "installed" or "built", binary))
end

local ok, problem = pcall(install)
if not ok and arg and arg[0] and vim.uv.fs_realpath(arg[0]) == vim.uv.fs_realpath(script) then
  -- Run by hand: print the message without the traceback that Neovim would add.
  io.stderr:write(problem, "\n")
  os.exit(1)
elseif not ok then
  error(problem, 0)
end
