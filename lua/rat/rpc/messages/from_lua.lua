--- What Lua tells the binary, by the fields of each message. Written from the types in `src/nvim/messages` by `make messages`.
---@meta _

--- Starts an agent, or shows the existing chat with it.
---@class (exact) rat.notify.Start
---@field agent string The name of the agent.
---@field options? rat.notify.AgentOptions The options that `setup()` sets for this agent.
---@field mcp_servers? table<string, rat.notify.McpServerOptions> The MCP servers that `setup()` sets for all agents, by name.
---@field settings_file? string The absolute path of the user's settings file.
---@field environment? table<string, string> Neovim's environment.
---@field cwd string The absolute path of the session's working directory.
---@field directories? string[] The absolute paths of additional folders the agent may use.
---@field unsaved? rat.notify.Unsaved The option of the same name.
---@field write_dirty? rat.notify.WriteDirty The option of the same name.
---@field review? rat.notify.ReviewMode The option of the same name.
---@field rules? string[] The option `permission.rules`.
---@field project_rules? string[] The lines of the project's file of rules, if the user trusts it.
---@field project_settings? string[] What the project's settings file changes, a line each.
---@field permission_mode? rat.notify.PermissionMode The option `permission.mode`.
---@field permission_default? table<string, string> The option `permission.default`.
---@field keys? table<string, string> What the user has in place of keys of the chat: other keys, or an empty text.
---@field ascii? boolean Whether signs are written in ASCII.
---@field wish? rat.notify.Wish The session to open; without it, the one that is open, else a new one.
---@field session? string For `session` and `fork`: the id that the agent gave the session.
---@field focus? boolean Whether to put the cursor into the prompt.
---@field worktree? rat.notify.Worktree The worktree that `cwd` is in, if it is one of ours.
---@field edit? rat.notify.InPlaceEdit `:RatEdit`: what to ask for in a new session, whose chat is not shown.
---@field renew? integer Nothing is started: the chat whose agent is started like this the next time.

--- How an agent is started, and what its sessions begin with.
---@class (exact) rat.notify.AgentOptions
---@field command? string The program: a path, or a name on PATH.
---@field args? string[] Its arguments. Without them those of the preset, if `command` is its program.
---@field url? string Where it is reached, if it runs elsewhere: a URL in place of `command`.
---@field headers? table<string, string> Headers to send to `url` with each request; `${NAME}` in them is a variable of the environment.
---@field ca_file? string A file with the certificates of authorities that `url` may have, besides those of the system.
---@field env? table<string, string> Variables to set in its environment.
---@field cwd? string The folder its sessions work in. Neovim chooses by it, because it knows the current window's folder.
---@field editor_tools? boolean Whether it is offered the editor's own tools; unset counts as true.
---@field mcp_servers? table<string, rat.notify.McpServerOptions> MCP servers by name, in addition to those of all agents.
---@field options? table<string, string> What new sessions are set to, by an option's id, category or name.
---@field auth_method? string The authentication method to use without asking.
---@field install_hint? string How to install the program, shown where it is not found.
---@field paths? table<string, string> Folders that the agent knows by other paths, by our paths.
---@field shared? boolean Whether it has the same files as we; unset counts as true.
---@field dialect? string The protocol it speaks, if that does not follow from its answers: `1`, `2`, `0.1.1`, `go` or `openoxide`.
---@field reconnect? string When to get it back after it was lost: `now` or with the next `prompt`.
---@field on_cancel_timeout? string What to do when it has not stopped after a cancel: `ask` or `restart`.
---@field confine? boolean|string|table Whether and how it is confined: `false`, `"write"` or a table with `write`, `hide` and `net`.
---@field capabilities? rat.notify.CapabilityOptions What it may ask of us.
---@field timeouts? rat.notify.TimeoutOptions How long to wait for answers.

--- An MCP server: one with `url` is reached over HTTP, any other is a program.
---@class (exact) rat.notify.McpServerOptions
---@field type? string `sse` for server-sent events; otherwise the other keys decide.
---@field command? string The program.
---@field args? string[] Its arguments.
---@field env? table<string, string> Variables to set in its environment.
---@field url? string The URL of the server.
---@field headers? table<string, string> Headers to send with each request.

--- What an agent may ask of us; unset counts as true.
---@class (exact) rat.notify.CapabilityOptions
---@field read? boolean Reading files.
---@field write? boolean Writing files.
---@field terminal? boolean Running commands.
---@field elicitation? boolean Forms to fill in and URLs to open.

--- How long to wait, in milliseconds; 0 waits for ever.
---@class (exact) rat.notify.TimeoutOptions
---@field initialize? integer For the first request, in milliseconds.
---@field authenticate? integer For a login, in milliseconds.
---@field session? integer For a session to start or load, in milliseconds.
---@field request? integer For anything else that is answered at once, in milliseconds.
---@field prompt? integer For a turn, in milliseconds.
---@field permission? integer For the user's answer to a permission request, in milliseconds.
---@field cancel? integer From a cancel until `on_cancel_timeout`, in milliseconds.

--- What to do about unsaved text when a prompt is sent.
---@alias rat.notify.Unsaved "note"|"embed"|"save"|"ask"|"ignore"

--- How an agent writes to a file whose buffer has unsaved changes.
---@alias rat.notify.WriteDirty "separate"|"save"|"ask"

--- How much the user wants to see of what agents have changed.
---@alias rat.notify.ReviewMode "after"|"before"|"off"

--- What happens to what no rule decides on.
---@alias rat.notify.PermissionMode "agent"|"ask"|"read-only"

--- The session to open.
---@alias rat.notify.Wish "last"|"never"|"new"|"session"|"fork"

--- A worktree of ours.
---@class (exact) rat.notify.Worktree
---@field top string The absolute path of its top.
---@field git_dir string The absolute path of git's folder for it.
---@field project string The absolute path of the user's folder that it was created for.

--- A change of lines in place that the user wants.
---@class (exact) rat.notify.InPlaceEdit
---@field edit integer The number by which Lua knows it.
---@field text string What the user wants.
---@field path string The real path of the file.
---@field first integer The first line, from 1.
---@field last integer The last line, inclusive.
---@field lines string[] All lines of the buffer.

--- Lists sessions to choose from.
---@class (exact) rat.notify.Sessions
---@field act rat.notify.SessionAct What to do with the chosen session.
---@field cwd string The folder of the sessions.

--- What to do with a session that the user chooses.
---@alias rat.notify.SessionAct rat.msg.SessionAct

--- Gets the next pages of the session list.
---@class (exact) rat.notify.SessionsMore

--- Searches the saved sessions of all folders. A search that is still going on ends without an answer.
---@class (exact) rat.notify.Search
---@field request integer The number of the search, which comes back with what it finds.
---@field words string Words that a session must all have.

--- Closes a session.
---@class (exact) rat.notify.SessionClose
---@field agent string The agent's name in the configuration.
---@field session string The id that the agent gave the session.

--- Deletes a session.
---@class (exact) rat.notify.SessionDelete
---@field agent string The agent's name in the configuration.
---@field session string The id that the agent gave the session.
---@field cwd string The session's working directory.

--- Sends a prompt.
---@class (exact) rat.notify.Prompt
---@field chat? integer The chat; without it, the one used last.
---@field text? string The text.
---@field attachments? rat.notify.Attachment[] The attachments.
---@field now? boolean Whether to cancel the running turn instead of waiting for its end.

--- An attachment of a prompt. It may come from a draft that another version has saved, so unknown fields are ignored.
---@alias rat.notify.Attachment rat.msg.Attachment

--- Asks for a change of lines in place in the session of a chat.
---@class (exact) rat.notify.Edit
---@field chat integer The chat.
---@field edit rat.notify.InPlaceEdit The change.

--- Cancels the running turn.
---@class (exact) rat.notify.Cancel
---@field chat? integer The chat; without it, the one used last.

--- Closes the chat's session.
---@class (exact) rat.notify.Stop
---@field chat? integer The chat; without it, the one used last.

--- Closes the chat.
---@class (exact) rat.notify.Close
---@field chat? integer The chat; without it, the one used last.

--- Restarts the agent of a chat.
---@class (exact) rat.notify.Restart
---@field chat? integer The chat; without it, the one used last.
---@field force? boolean Whether turns that the same agent runs in other chats may be ended.

--- Forks the session of a chat.
---@class (exact) rat.notify.Fork
---@field chat? integer The chat; without it, the one used last.

--- Sets an option of the session.
---@class (exact) rat.notify.SetOption
---@field chat? integer The chat; without it, the one used last.
---@field option string The option's id, category or name.
---@field value string The value or name of a choice; for a boolean, `on` or `off`.

--- Logs in.
---@class (exact) rat.notify.Login
---@field chat? integer The chat; without it, the one used last.
---@field method? string The id of the authentication method; without it, the configured or only one, or else the user chooses.

--- The login program that ran in a terminal has ended.
---@class (exact) rat.notify.LoginEnded
---@field chat integer The chat.
---@field status? integer The exit status; missing if the program could not be started.

--- Logs out.
---@class (exact) rat.notify.Logout
---@field chat? integer The chat; without it, the one used last.

--- Takes a prompt out of the queue.
---@class (exact) rat.notify.QueueTake
---@field chat? integer The chat; without it, the one used last.
---@field number integer The number of the prompt.

--- Removes a prompt from the queue.
---@class (exact) rat.notify.QueueDrop
---@field chat? integer The chat; without it, the one used last.
---@field number integer The number of the prompt.

--- Sends a queued prompt before all others.
---@class (exact) rat.notify.QueueSend
---@field chat? integer The chat; without it, the one used last.
---@field number integer The number of the prompt.

--- Gives the queue another order and other texts.
---@class (exact) rat.notify.QueueArrange
---@field chat? integer The chat; without it, the one used last.
---@field prompts? rat.notify.ArrangedPrompt[] The prompts, in the order in which they are sent.
---@field known? integer[] The numbers of the prompts that the user has seen. Those of them that are not among `prompts` are removed.

--- A prompt of an edited queue.
---@class (exact) rat.notify.ArrangedPrompt
---@field number? integer Its number; missing if it is new.
---@field text string Its text.
---@field changed? boolean Whether the user has changed the text.

--- Resumes a paused queue.
---@class (exact) rat.notify.QueueGo
---@field chat? integer The chat; without it, the one used last.

--- Answers a permission request: with `option` if it is set, otherwise according to `allow`.
---@class (exact) rat.notify.Permission
---@field chat? integer The chat; without it, the one with the oldest request.
---@field id? integer The number of the request; without it, the oldest.
---@field revision? integer The revision of the request that the user has seen; without it, any.
---@field option? string The id of the chosen option.
---@field allow? boolean Whether to allow it once instead of rejecting it once.
---@field reason? string The reason for rejecting it, for the agent.
---@field automatic? boolean Whether the permission provider answers, in place of the user. Then `chat`, `id` and `revision` are there.

--- Answers an elicitation or validates its form.
---@class (exact) rat.notify.Elicitation
---@field chat integer The chat.
---@field id integer The number of the elicitation.
---@field action rat.notify.Action What the user does.
---@field entered? rat.notify.Entered[] For `check` and `accept`: the values of the fields that have one.

--- What the user does with a form or a URL.
---@alias rat.notify.Action "check"|"accept"|"decline"|"cancel"

--- The value of a field.
---@class (exact) rat.notify.Entered
---@field key string The field's key.
---@field value string|boolean|string[] The value as it was entered.

--- Answers one of our own questions.
---@class (exact) rat.notify.Answer
---@field id integer The number of the question.
---@field index? integer The chosen item, from 1; missing if the user closed the question.

--- Decides on what agents have changed, in one file or in all.
---@class (exact) rat.notify.Review
---@field chat? integer The chat.
---@field keep boolean Whether to keep the changes instead of rejecting them.
---@field path? string The name of the file's buffer; without it, all files.
---@field from? string The path that the file had before, if it was moved.
---@field part? rat.notify.Part Which kind of changes; without it, all.
---@field first? integer The first line, from 1; without it, the whole file.
---@field last? integer The last line, inclusive; the line before `first` means the place between the two.
---@field hunks? integer[] Only these hunks, if they are still pending.
---@field selected? rat.notify.SelectedRows Of the only hunk just some lines.
---@field scope rat.notify.DecisionScope Which changes there.
---@field unknown? boolean Whether it is about what is not known to be an agent's, or about the rest; without it, about all, but of a turn about the rest.
---@field decision? integer For a decision that the user can take back in the review: its number, which all of its parts have.
---@field more? boolean Whether another part of the decision follows.

--- Which kind of changes of a file a decision is about.
---@alias rat.notify.Part "lines"|"state"

--- Selected lines of a hunk.
---@class (exact) rat.notify.SelectedRows
---@field removed integer The first selected row that the hunk has removed, counted from its first one in the base, from 0.
---@field removed_count integer How many are selected.
---@field added integer The first selected row that it has added, counted from its first one in the file, from 0.
---@field added_count integer How many are selected.

--- Which changes a decision is about.
---@alias rat.notify.DecisionScope "all"|"turn"|"listed"

--- Lets a confined agent write a path that it was kept from writing.
---@class (exact) rat.notify.Widen
---@field chat integer The chat.
---@field path string The path; absolute.

--- Shows the rules that hold in a chat.
---@class (exact) rat.notify.Rules
---@field chat? integer The chat; without it, the one used last.

--- The user wants to make a rule of a permission request.
---@class (exact) rat.notify.SuggestRule
---@field chat integer The chat.
---@field request integer Our number of the request.

--- The user keeps rules made of a permission request.
---@class (exact) rat.notify.KeepRules
---@field chat integer The chat.
---@field request integer Our number of the request.
---@field extent rat.notify.Extent Where they hold.
---@field lines string[] The rules.

--- Where rules hold.
---@alias rat.notify.Extent "session"|"project"|"everywhere"

--- The user has written lists of rules.
---@class (exact) rat.notify.SetRules
---@field chat integer The chat.
---@field cwd string The folder of its session.
---@field lists rat.notify.RuleList[] The lists.

--- The rules of one extent.
---@class (exact) rat.notify.RuleList
---@field extent rat.notify.Extent Where they hold.
---@field lines string[] The lines.

--- Takes the last decision on pending changes back.
---@class (exact) rat.notify.TakeBack

--- Lists the turns whose changes are kept.
---@class (exact) rat.notify.Turns
---@field chat? integer The chat.
---@field request? integer The number of the call of `require("rat").turns()` that wants them; without it, the user chooses.
---@field entry? integer The index of a prompt's entry in the transcript: only the turns of that prompt.

--- Shows what a turn has changed.
---@class (exact) rat.notify.ShowTurn
---@field chat? integer The chat.
---@field root string The folder of the turn.
---@field id string The id of the turn.

--- Undoes or redoes a turn.
---@class (exact) rat.notify.Undo
---@field chat? integer The chat.
---@field redo? boolean Whether to redo the turn that was undone last.
---@field force? boolean Whether to take back what somebody else may have changed, too.
---@field root? string The folder of the turn to undo; without it, the last turn.
---@field id? string The id of that turn.

--- Creates a worktree of the repository that a folder is in.
---@class (exact) rat.notify.CreateWorktree
---@field request integer The number of the request, which comes back with the worktree.
---@field cwd string The absolute path of the folder.
---@field below string The absolute path of the folder that worktrees are in.
---@field agent string The name of the agent it is for.

--- Merges the worktree of a chat into the user's folder.
---@class (exact) rat.notify.Merge
---@field chat? integer The chat.
---@field all? boolean Whether to merge everything since the worktree was created, and not only what has not been merged yet.

--- Removes the worktree of a chat.
---@class (exact) rat.notify.RemoveWorktree
---@field chat? integer The chat; without it, the one used last.

--- Shows what is pending in all files.
---@class (exact) rat.notify.ListChanges
---@field chat? integer The chat.
---@field scope rat.notify.Scope Which changes.
---@field update? boolean Whether to update a review that is open.
---@field count? boolean Whether only to count their lines. The answer is `pending_counts`.
---@field request? integer The number of the call of `require("rat").changes()` that wants them.

--- Which changes a review shows.
---@alias rat.notify.Scope "all"|"session"|"turn"|"tool"

--- Compares a file with its base.
---@class (exact) rat.notify.Compare
---@field path string The file.
---@field from? string The path that it had before, if it was moved.
---@field update? boolean Whether it is shown already, and only to be updated.

--- Keeps what is pending in a file where it agrees with another base.
---@class (exact) rat.notify.KeepAsBase
---@field path string The file.
---@field lines string[] The lines of the base.

--- Shows the write that a question is about.
---@class (exact) rat.notify.ShowWrite
---@field id integer The number of the question.

--- Decides on a write that was shown.
---@class (exact) rat.notify.DecideWrite
---@field id integer The number of the question.
---@field lines? string[] The lines the file is to have; without them, the write is rejected.
---@field reason? string Why it is rejected, for the agent.

--- Tells of an edited change that the user is about to allow.
---@class (exact) rat.notify.DiffEdited
---@field chat integer The chat.
---@field path string The file, as the agent named it.
---@field old string[] The lines without the change.
---@field new string[] The lines with the agent's change.
---@field edited string[] The lines the user wants.

--- Shows changes in diff mode.
---@class (exact) rat.notify.ShowDiff
---@field chat? integer The chat; without it, the one used last.
---@field id? integer The number of the permission request; without it, the oldest.
---@field tool_call? string The tool call; takes precedence over `id`.

--- Shows the complete output of a tool call.
---@class (exact) rat.notify.ShowOutput
---@field chat? integer The chat; without it, the one used last.
---@field tool_call string The tool call.

--- Starts or stops showing a terminal in a terminal buffer.
---@class (exact) rat.notify.ShowTerminal
---@field chat? integer The chat; without it, the one used last.
---@field terminal string The terminal.
---@field show? boolean Whether it has a buffer from now on.

--- Does something with a piece of content.
---@class (exact) rat.notify.Content
---@field chat? integer The chat; without it, the one used last.
---@field id string The id of the content, from a row or a message.
---@field act rat.notify.Act What to do.
---@field path? string For `write`: the absolute path of the file.
---@field replace? boolean For `write`: whether to overwrite an existing file.
---@field use? string For `write`: what Lua will do with the file; returned in `exported`.

--- What to do with a piece of content.
---@alias rat.notify.Act "offer"|"show"|"write"

--- Shows what is known of an agent: its name, version, capabilities and state.
---@class (exact) rat.notify.Show
---@field chat? integer The chat; without it, the one used last.

--- Is about the page of the traffic with an agent.
---@class (exact) rat.notify.Trace
---@field chat? integer The chat; without it, the one used last.
---@field act rat.notify.TraceAct What about it.
---@field filter? string For `open`: the filter, as the user has typed it.

--- What happens with a page of traffic.
---@alias rat.notify.TraceAct "open"|"more"|"close"

--- Saves the traffic with an agent.
---@class (exact) rat.notify.SaveTrace
---@field chat? integer The chat; without it, the one used last.
---@field path string The absolute path of the file.
---@field replace? boolean Whether to overwrite an existing file.

--- Writes the conversation to a file.
---@class (exact) rat.notify.ExportChat
---@field chat? integer The chat; without it, the one used last.
---@field path string The absolute path of the file.
---@field replace? boolean Whether to overwrite an existing file.

--- Redraws a view completely.
---@class (exact) rat.notify.Redraw
---@field chat integer The chat.
---@field view rat.notify.View The view.

--- The views of a chat.
---@alias rat.notify.View "chat"|"plan"|"tools"

--- Options that apply from now on.
---@class (exact) rat.notify.Configure
---@field log_level? string The log level, as in the option of the same name.
---@field keep_sessions? integer How many sessions of a folder are kept, as in the option of the same name.
---@field reads_files? boolean Whether `files.read_provider` is set.
---@field writes_files? boolean Whether `files.write_provider` is set.

--- What the user's provider of files has answered. Without a text and not written, the file is used as usual.
---@class (exact) rat.notify.Provided
---@field id integer The number of the question.
---@field text? string The text of the file, or of the lines that were asked for.
---@field written? boolean Whether it has written the file.

--- Asks for the files that match what the user types. The answer is the call `rat.complete.files.found`.
---@class (exact) rat.notify.Files
---@field folder string The folder of the session.
---@field typed string What they have typed behind the `@`.

--- What was found for a question (`rat.tools.ask`).
---@class (exact) rat.notify.Found
---@field id integer The number of the question.
---@field error? string Why there is no answer, in one line for an agent's model.
---@field places? rat.notify.FoundPlace[] Places in files.
---@field total? integer How many places there are, if not all of them are sent.
---@field edits? rat.notify.FoundEdits[] The edits that a change needs, by file.
---@field notes? string[] What to tell the model besides, a line or text each.

--- A place in a file.
---@class (exact) rat.notify.FoundPlace
---@field path string The path of the file.
---@field line integer The line, from 1; 0 if it is about the whole file.
---@field text? string What is there, in one line. Missing: the line of the file.

--- Edits of a file.
---@class (exact) rat.notify.FoundEdits
---@field path string The path of the file.
---@field encoding rat.notify.PositionUnit How their positions count.
---@field edits rat.notify.FoundEdit[] The edits.

--- How the positions of a language server count.
---@alias rat.notify.PositionUnit "utf-8"|"utf-16"|"utf-32"

--- A replacement of a range (LSP `TextEdit`).
---@class (exact) rat.notify.FoundEdit
---@field line integer The line in which the range begins, from 0.
---@field character integer The character at which it begins, from 0.
---@field end_line integer The line in which it ends, from 0.
---@field end_character integer The character at which it ends, from 0.
---@field text string What replaces it.

--- Tells which tools the user has added.
---@class (exact) rat.notify.OfferTools
---@field tools rat.notify.OwnTool[] All of them.

--- A tool that the user has added.
---@class (exact) rat.notify.OwnTool
---@field name string Its name.
---@field description string What it does.
---@field input_schema string The JSON schema of its arguments, as JSON text.
---@field read_only? boolean Whether it changes nothing.

--- Tells which events are listened to. No others are sent.
---@class (exact) rat.notify.Listen
---@field events rat.notify.EventName[] All events that have a listener.

--- The name of an event.
---@alias rat.notify.EventName "chunk"|"message"|"tool_call"|"tool_content"|"terminal"|"plan"|"commands"|"mode"|"options"|"session_info"|"usage"|"notice"|"compaction"|"compaction_chunk"|"meta"|"activity"|"unknown"|"permission"|"turn_start"|"turn_end"

--- An error in Lua.
---@class (exact) rat.notify.Problem
---@field text string The error message.

--- Something that has happened to a buffer.
---@class (exact) rat.notify.Buffer
---@field kind rat.notify.Fact What has happened.
---@field path string The buffer's file name.

--- What has happened to a buffer.
---@alias rat.notify.Fact "read"|"saved"|"clean"|"changed"

--- Each message with its fields.
---@class (exact) rat.notify.Payloads
---@field start rat.notify.Start `:RatStart`: the user wants a chat with an agent.
---@field sessions rat.notify.Sessions `:RatSessions`: the user wants to choose from the sessions of a folder.
---@field sessions_more rat.notify.SessionsMore The user wants to see more sessions.
---@field search rat.notify.Search `:RatSearch`: the user searches the saved sessions.
---@field session_close rat.notify.SessionClose The user closes a session.
---@field session_delete rat.notify.SessionDelete The user deletes a session.
---@field prompt rat.notify.Prompt The user sends a prompt.
---@field edit rat.notify.Edit `:RatEdit`: the user wants lines changed in place, by an agent that has changed them before.
---@field cancel rat.notify.Cancel `:RatCancel`: cancels the running turn.
---@field stop rat.notify.Stop `:RatStop`: closes the chat's session.
---@field close rat.notify.Close `:RatStop!`: closes the chat.
---@field restart rat.notify.Restart `:RatRestart`: restarts the agent of a chat.
---@field fork rat.notify.Fork `:RatFork`: forks the session of a chat.
---@field option rat.notify.SetOption The user sets an option of the session, its mode or its model.
---@field login rat.notify.Login `:RatLogin`: logs in.
---@field login_ended rat.notify.LoginEnded The login program that ran in a terminal has ended.
---@field logout rat.notify.Logout `:RatLogout`: logs out.
---@field queue_take rat.notify.QueueTake The user takes a prompt out of the queue in order to edit it.
---@field queue_drop rat.notify.QueueDrop The user removes a prompt from the queue.
---@field queue_send rat.notify.QueueSend The user has a queued prompt sent at once, for which a running turn is cancelled.
---@field queue_arrange rat.notify.QueueArrange The user has edited the queue.
---@field queue_go rat.notify.QueueGo The user resumes a paused queue.
---@field permission rat.notify.Permission The user answers a permission request.
---@field elicitation rat.notify.Elicitation The user answers an elicitation or has its form validated.
---@field answer rat.notify.Answer The user answers one of our own questions.
---@field review rat.notify.Review `:RatAccept`, `:RatReject`: the user decides on what agents have changed.
---@field widen rat.notify.Widen The user wants to let a confined agent write a path.
---@field rules rat.notify.Rules `:RatRules`: the user wants to see the rules.
---@field suggest_rule rat.notify.SuggestRule The user wants to make a rule of a permission request.
---@field keep_rules rat.notify.KeepRules The user keeps rules made of a permission request.
---@field set_rules rat.notify.SetRules The user has written lists of rules.
---@field take_back rat.notify.TakeBack The user takes the last decision on pending changes back.
---@field turns rat.notify.Turns `:RatTurns`: the user wants to choose from the turns whose changes are kept.
---@field show_turn rat.notify.ShowTurn The user wants to see what a turn has changed.
---@field undo rat.notify.Undo `:RatUndo`, `:RatRedo`: undoes or redoes a turn.
---@field create_worktree rat.notify.CreateWorktree `:RatStart! AGENT worktree`: the user wants a worktree.
---@field merge rat.notify.Merge `:RatWorktree merge`: merges the worktree of a chat.
---@field remove_worktree rat.notify.RemoveWorktree `:RatWorktree remove`: removes the worktree of a chat.
---@field list_changes rat.notify.ListChanges `:RatReview`: the user wants to see what is pending.
---@field compare rat.notify.Compare The user wants to compare a file with its base.
---@field keep_as_base rat.notify.KeepAsBase The user has changed the base in a comparison, which keeps what agrees with it.
---@field show_write rat.notify.ShowWrite The user wants to see the write that a question is about.
---@field decide_write rat.notify.DecideWrite The user has decided on a write that was shown.
---@field diff_edited rat.notify.DiffEdited The user has edited a change that they are about to allow.
---@field diff rat.notify.ShowDiff The user wants to see the changes of a permission request or of a tool call in diff mode.
---@field output rat.notify.ShowOutput The user wants to see the complete output of a tool call.
---@field terminal rat.notify.ShowTerminal The user wants to see a terminal in a terminal buffer, or has wiped out that buffer.
---@field content rat.notify.Content The user does something with a piece of content.
---@field show rat.notify.Show `:RatInfo`: shows what is known of the agent.
---@field trace rat.notify.Trace `:RatTrace`: the user wants to see the traffic with the agent, or its page wants more or is closed.
---@field save_trace rat.notify.SaveTrace `:RatTrace save`: saves the traffic with the agent.
---@field export_chat rat.notify.ExportChat `:RatExport`: writes the conversation to a file.
---@field redraw rat.notify.Redraw The buffer of a view was created again, so the view has to be redrawn completely.
---@field configure rat.notify.Configure The connection was established, or the options have changed.
---@field provided rat.notify.Provided The user's provider of files has answered.
---@field files rat.notify.Files The user types the name of a file in a prompt.
---@field found rat.notify.Found Something was found for the editor's own tools, or not.
---@field offer_tools rat.notify.OfferTools The user has added tools.
---@field listen rat.notify.Listen Which events scripts listen to, after that has changed.
---@field problem rat.notify.Problem There was an error in Lua, which is to be logged.
---@field buffer rat.notify.Buffer Something has happened to the buffer of a file.
