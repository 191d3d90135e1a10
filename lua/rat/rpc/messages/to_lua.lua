--- What the binary tells Lua, by the fields of each message. Written from the types in `src/nvim/messages` by `make messages`.
---@meta _

--- A chat that exists.
---@class (exact) rat.msg.Opened
---@field chat integer The chat.
---@field agent string The agent's name in the configuration.
---@field title string The agent's display name.
---@field cwd string The session's working directory.
---@field show boolean Whether to open its windows.
---@field focus boolean Whether to put the cursor into the prompt.
---@field edit? integer The number of the change in place that it was opened for. Such a chat is in the background until it is shown.

--- The status of a chat.
---@class (exact) rat.msg.Status
---@field chat integer The chat.
---@field agent string The agent's name in the configuration.
---@field title string The agent's display name.
---@field session_id? string The session's id; missing before it is open.
---@field session_title? string The session's title, else the beginning of the first prompt.
---@field state rat.msg.State The state.
---@field detail? string What the agent is doing or why it failed, in one line.
---@field stop_reason? string Why the last turn ended, in the protocol's word or `error`; missing before the first and while one is running.
---@field is_between_turns boolean Whether no turn is running: what is open came after the end of one, and a prompt is sent at once.
---@field prompt? string The prompt that the agent is working on, unless it is very long or cancelled.
---@field queued string[] Queued prompts, in the order they will be sent.
---@field queue_numbers integer[] Their numbers, in the same order.
---@field queue_paused boolean Whether the queue waits for the user to resume it.
---@field permissions rat.msg.WaitingPermission[] Unanswered permission requests, oldest first.
---@field elicitations rat.msg.WaitingElicitation[] Unanswered elicitations, oldest first.
---@field usage? rat.msg.Usage Context window usage.
---@field mode? string The name of the session's mode.
---@field plan? rat.msg.Plan Progress of the plan.

--- The state of a chat.
---@alias rat.msg.State "stopped"|"starting"|"ready"|"running"|"waiting"|"cancelling"|"failed"

--- An unanswered permission request.
---@class (exact) rat.msg.WaitingPermission
---@field id integer Our number of the request.
---@field tool_call string The tool call's id.
---@field title string The tool call's title.
---@field kind string The kind of tool, in one word.
---@field tool rat.msg.ToolKind What the tool does, in the protocol's word.
---@field paths string[] The absolute paths of the files that the tool call names, as the agent wrote them: with `..` and links.
---@field command? string The complete command, if it runs one.
---@field asks string Everything the user has to decide about, in several lines.
---@field revision integer Incremented whenever what the user has to decide about changes.
---@field options rat.msg.PermissionOption[] The options to choose from.
---@field diffs integer Number of diffs in the tool call.
---@field for_user boolean Whether a rule wants the user to decide, not their permission provider.

--- What a tool does, in the protocol's words.
---@alias rat.msg.ToolKind "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"switch_mode"|"other"

--- An option to answer a permission request with.
---@class (exact) rat.msg.PermissionOption
---@field id string The id to return.
---@field name string What the user sees.
---@field kind rat.msg.OptionKind What it means.

--- What choosing an option means.
---@alias rat.msg.OptionKind "allow_once"|"allow_always"|"reject_once"|"reject_always"|"unknown"

--- An unanswered elicitation.
---@class (exact) rat.msg.WaitingElicitation
---@field id integer Our number of the elicitation.
---@field mode string `form` or `url`.
---@field message string Why the agent asks.

--- Context window usage.
---@class (exact) rat.msg.Usage
---@field used integer Number of tokens used.
---@field size integer Number of tokens that fit.
---@field cost? number The cost of the session.
---@field unit? string The currency of the cost.

--- Progress of the plan.
---@class (exact) rat.msg.Plan
---@field done integer Number of completed entries.
---@field total integer Number of entries.

--- Changes to a view.
---@class (exact) rat.msg.Draw
---@field chat integer The chat.
---@field view rat.msg.Buffer The view.
---@field ops (["r"]|["l", integer, integer, string[], string[], (integer|string)[]]|["t", integer, integer, string[], string[]]|["s", integer, string[]]|["f", integer, integer])[] The changes, in order. Rows count from 0 and refer to the state after the preceding changes.

--- The views of a chat.
---@alias rat.msg.Buffer "chat"|"plan"|"tools"

--- What has become of a change in place.
---@class (exact) rat.msg.Edited
---@field chat integer The chat that was asked for it.
---@field edit integer The number of the change.
---@field outcome rat.msg.EditOutcome What has become of it.

--- What has become of a change in place.
---@alias rat.msg.EditOutcome "changed"|"unchanged"|"cancelled"|"failed"

--- One line for the user.
---@class (exact) rat.msg.Notify
---@field level rat.msg.Level The urgency.
---@field text string The text.

--- The urgency of a notification.
---@alias rat.msg.Level "info"|"warn"|"error"

--- A `User` autocommand.
---@class (exact) rat.msg.Event
---@field name string The pattern.
---@field data rat.msg.EventData The data.

--- The data of an autocommand, depending on its name (`:help rat-events`).
---@class (exact) rat.msg.EventData
---@field chat? integer The chat; missing for `RatReviewChanged`.
---@field stop_reason? string For `RatTurnEnd`: why the turn ended.
---@field next? boolean For `RatTurnEnd`: whether a queued prompt starts another turn at once.
---@field id? integer For `RatPermission` and `RatElicitation`: our number of the request.
---@field title? string For `RatPermission`: the tool call's title.
---@field mode? string For `RatElicitation`: `form` or `url`.
---@field path? string For `RatFileChanged`: the file.
---@field hunks? integer For `RatFileChanged`: the number of hunks.
---@field conflicts? integer For `RatFileChanged`: the number of hunks where the buffer keeps the user's lines although the file has others.
---@field created? boolean For `RatFileChanged`: whether the file did not exist before.
---@field deleted? boolean For `RatFileChanged`: whether the file was deleted.
---@field via? string For `RatFileChanged`: `protocol` or `disk`.
---@field message? string For `RatError`: what failed.
---@field origin? string For `RatError`: `transport` (on the way to the agent), `agent`, or `client` (here).
---@field code? integer For `RatError`: the code of the agent's error.
---@field retryable? boolean For `RatError`: whether the same may succeed if it is tried again.
---@field last_messages? string[] For `RatError`: short descriptions of the last messages before a connection ended, oldest first.

--- How an event stands in a message.
---@class (exact) rat.msg.Happened
---@field name string The name of the event.
---@field data table The event, with the fields that its class `rat.event` has.

--- A form or a URL that waits for the user.
---@class (exact) rat.msg.ElicitationRequest
---@field chat integer The chat.
---@field id integer Our number of the elicitation.
---@field mode string `form` or `url`.
---@field message string Why the agent asks.
---@field title? string For a form: its title.
---@field description? string For a form: its description.
---@field fields? rat.msg.Field[] For a form: its fields, in the agent's order.
---@field url? string For a URL: the complete URL.
---@field host? string For a URL: the host.
---@field warnings? string[] For a URL: warnings, one line each.

--- A field of a form.
---@class (exact) rat.msg.Field
---@field key string The key of its value.
---@field title string The title.
---@field description? string The description.
---@field required boolean Whether a value is required.
---@field kind rat.msg.EntryKind The kind of value.
---@field allows string A description of the valid values.
---@field choices rat.msg.FieldChoice[] The choices.
---@field value? string|boolean|string[] The initial value.

--- The kind of value of a field.
---@alias rat.msg.EntryKind "text"|"number"|"choice"|"boolean"|"several"|"unknown"

--- A choice of a field.
---@class (exact) rat.msg.FieldChoice
---@field value string The value to return.
---@field name string What the user sees.
---@field description? string A description.

--- The problems with the entered values; an empty list if they are valid.
---@class (exact) rat.msg.FormProblems
---@field chat integer The chat.
---@field id integer Our number of the form.
---@field problems rat.msg.Problem[] The problems, one for each field that has one.

--- What is wrong with the value of a field.
---@class (exact) rat.msg.Problem
---@field key string The field's key.
---@field line string The problem in one line.

--- A URL that the user has agreed to open.
---@class (exact) rat.msg.Browse
---@field chat integer The chat.
---@field id integer Our number of the elicitation.
---@field url string The URL in ASCII, to be opened unchanged.

--- One of our own questions.
---@class (exact) rat.msg.Ask
---@field id integer The number of the question, to answer it with.
---@field chat integer The chat it is about.
---@field title string The question.
---@field items string[] The possible answers.
---@field by_user boolean Whether it is a direct consequence of something the user did.
---@field lasting boolean Whether it still waits for an answer after the user has closed its window.
---@field peek? integer The item that answers nothing but shows what the question is about, from 1.
---@field is_write boolean Whether it is about a write, whose change may be shown in place of the question.

--- All rules that hold in a chat.
---@class (exact) rat.msg.Rules
---@field chat integer The chat.
---@field agent string The agent's display name.
---@field cwd string The folder of its session.
---@field lists rat.msg.RuleList[] The lists that the user can change.
---@field configured string[] What is wrong with the rules of the option `permission.rules`, and those that hold.

--- The rules of one extent.
---@class (exact) rat.msg.RuleList
---@field extent string Where they hold: `session`, `project` or `everywhere`.
---@field rules rat.msg.KeptRule[] The rules.

--- A rule that the user has made.
---@class (exact) rat.msg.KeptRule
---@field line string The rule.
---@field since? integer When it was made, in seconds since 1970; missing for a rule of the session.
---@field from? string The title of the request that it was made from; missing if it was written by hand.
---@field decided integer How many requests it has decided.

--- Rules made of a request, for the user to edit.
---@class (exact) rat.msg.Suggestion
---@field chat integer The chat.
---@field request integer Our number of the request.
---@field cwd string The folder of its session.
---@field lines string[] The rules.

--- What is wrong with the lists of rules that the user has written; nothing if they hold now.
---@class (exact) rat.msg.RuleProblems
---@field problems rat.msg.RuleProblem[] What is wrong, in the order of the lists.

--- What is wrong with a line.
---@class (exact) rat.msg.RuleProblem
---@field extent string The list.
---@field index integer The index of the line in it, from 1.
---@field why string What is wrong, in one line.

--- A question that is withdrawn.
---@class (exact) rat.msg.Unask
---@field id integer The number of the question.

--- A chat that was closed.
---@class (exact) rat.msg.Closed
---@field chat integer The chat.

--- Sessions to choose from.
---@class (exact) rat.msg.Sessions
---@field act rat.msg.SessionAct What to do with the chosen session.
---@field cwd string The folder of the sessions.
---@field items rat.msg.ListedSession[] The sessions, most recently used first.
---@field more boolean Whether agents have further pages.

--- What to do with a session that the user chooses.
---@alias rat.msg.SessionAct "open"|"fork"|"close"|"delete"

--- A session.
---@class (exact) rat.msg.ListedSession
---@field agent string The agent's name in the configuration.
---@field session string The id that the agent gave the session.
---@field title string The title; the id if there is no title.
---@field used_at? integer When it was last used here, in seconds since 1970.
---@field updated_at? string When it last changed, as reported by the agent (ISO 8601).
---@field chat? integer The chat that has it open.
---@field elsewhere boolean Whether another Neovim has it open.

--- What a search has found.
---@class (exact) rat.msg.Found
---@field request integer The number of the search.
---@field items rat.msg.FoundSession[] The sessions that have all words, most recently used first.
---@field count integer How many sessions have all words. There may be more than are listed.
---@field searched integer How many sessions were searched.

--- A session that has all words.
---@class (exact) rat.msg.FoundSession
---@field agent string The agent's name in the configuration.
---@field session string The id that the agent gave the session.
---@field cwd string The session's working directory.
---@field title string The title; the id if there is no title.
---@field title_marks integer[] The places of the words in the title: for each the first byte and the end, from 0.
---@field used_at integer When it was last used here, in seconds since 1970.
---@field line? string A line with most of the words; missing if all of them are in the title.
---@field marks integer[] The places of the words in that line.

--- A worktree that was requested.
---@class (exact) rat.msg.Worktree
---@field request integer The number of the request.
---@field cwd? string The folder in it that stands for the one it was created for; missing if it was not created.
---@field commit? string The commit it begins with, and the first line of its message.
---@field uncommitted integer How many of the user's files have changes that are not committed, and so are not in it.
---@field problem? string Why it was not created.

--- A text for a scratch buffer.
---@class (exact) rat.msg.Scratch
---@field chat integer The chat.
---@field kind rat.msg.PageKind What the text is.
---@field id? string For `output` and `content`: the tool call or the content.
---@field title string The title above the text.
---@field filetype string 'filetype'; empty if `like` decides.
---@field like? string A file name to detect 'filetype' from.
---@field more boolean Whether to append the lines to the text shown already.
---@field at_end boolean Whether to put the cursor at the end.
---@field lines string[] The lines.
---@field focus boolean Whether to focus the window.

--- What a text is.
---@alias rat.msg.PageKind "info"|"output"|"content"|"turn"|"preview"

--- A piece of the page of the traffic with an agent. The page asks for the next one with `trace`.
---@class (exact) rat.msg.Trace
---@field chat integer The chat.
---@field title string The title above the text.
---@field reset boolean Whether it replaces what the page has shown.
---@field focus boolean Whether to focus the window.
---@field more boolean Whether more of what was recorded when the page was opened follows.
---@field items rat.msg.Item[] The messages of the protocol, oldest first.

--- A message of the protocol.
---@class (exact) rat.msg.Item
---@field number integer Its number; 0 for a note.
---@field request? integer For an answer to a shown request: the number of that.
---@field answered? string What the line of that request ends with from now on.
---@field line string What it is, in one line.
---@field body string[] The message.

--- Output for a terminal buffer.
---@class (exact) rat.msg.TerminalOutput
---@field chat integer The chat.
---@field terminal string The terminal.
---@field title string The command and its state.
---@field open boolean Whether to show the buffer, creating it if necessary.
---@field bytes string The bytes to send to the terminal.
---@field over boolean Whether the command has ended and this is the last of its output.

--- A prompt that was not sent, or that the user takes out of the queue.
---@class (exact) rat.msg.Draft
---@field chat integer The chat.
---@field taken boolean Whether the user took it out of the queue in order to edit it.
---@field text string The text.
---@field attachments rat.msg.Attachment[] The attachments.

--- An attachment of a prompt.
---@class (exact) rat.msg.Attachment
---@field uri string The `file://` URI of the whole file.
---@field label string What the user sees.
---@field first? integer The first line, from 1; missing for the whole file.
---@field last? integer The last line, inclusive.
---@field part? string A description of the part, if it is not exactly these lines.
---@field mime? string The MIME type, if known.
---@field text? string The text, including unsaved changes.
---@field path? string Instead of a text: the path of a file that is read when the prompt is sent.

--- A login with a program in a terminal of the editor.
---@class (exact) rat.msg.Login
---@field chat integer The chat.
---@field title string The name of the authentication method.
---@field command string[] The program and its arguments.
---@field env table<string, string> The complete environment, by name.
---@field cwd string The working directory.
---@field by_user boolean Whether the user has just asked for it, so that its window may open at once.

--- Data that an agent sent in `_meta` (`:help rat-meta`).
---@class (exact) rat.msg.Meta
---@field chat integer The chat.
---@field session_id? string The session, if the data is about one.
---@field kind string The kind of message it came with.
---@field id? string The id of what the message was about.
---@field json? string The data as JSON; missing if it is too large.
---@field size integer The size of the JSON in bytes.

--- What can be done with a piece of content.
---@class (exact) rat.msg.Offer
---@field chat integer The chat.
---@field id string The content.
---@field title string A description in one line.
---@field name string A suggested file name, without a folder.
---@field can rat.msg.Can[] What can be done with the content itself.
---@field path? string The file that its URI points to, if it is one.
---@field line? integer The line in that file, from 1.
---@field url? string The web page that its URI points to, if it is one.
---@field host? string The host of that page.
---@field warnings string[] Warnings about that page, one line each.

--- Something that can be done with the content itself.
---@alias rat.msg.Can "show"|"picture"|"open"|"save"

--- Content that was written to a file.
---@class (exact) rat.msg.Exported
---@field chat integer The chat.
---@field id string The content.
---@field path string The file.
---@field exists boolean Whether nothing was written because the file exists.
---@field use? string What Lua will do with the file, as it said in `content`.

--- What can be set in a session.
---@class (exact) rat.msg.Options
---@field chat integer The chat.
---@field options rat.msg.ConfigOption[] The options, in the agent's order.

--- An option of a session.
---@class (exact) rat.msg.ConfigOption
---@field id string The id.
---@field name string What the user sees.
---@field description? string A description.
---@field category? string The category, such as `mode`.
---@field type rat.msg.OptionType How it is set.
---@field current string The current value; for a boolean, `on` or `off`.
---@field choices rat.msg.OptionChoice[] The choices.

--- How an option is set.
---@alias rat.msg.OptionType "boolean"|"select"

--- A choice of an option.
---@class (exact) rat.msg.OptionChoice
---@field value string The value to return.
---@field name string What the user sees.
---@field description? string A description.
---@field group? string The group it belongs to.

--- The agent's slash commands.
---@class (exact) rat.msg.Commands
---@field chat integer The chat.
---@field commands rat.msg.Command[] The commands that can be typed.

--- A slash command.
---@class (exact) rat.msg.Command
---@field name string The name, without the slash.
---@field description string What it does.
---@field hint? string A hint for its argument.

--- What is pending in a loaded file.
---@class (exact) rat.msg.Pending
---@field path string The real path.
---@field tick integer 'changedtick' of the buffer that the lines refer to.
---@field hunks integer[] The hunks in the order of the text, four numbers for each: its first row, or the row after removed ones, from 0; how many rows it has; how many lines it replaces; and which one it is.

--- Turns whose changes are kept, the newest first.
---@class (exact) rat.msg.Turns
---@field chat integer The chat it was asked for in.
---@field request? integer The number of the call of `require("rat").turns()` that wants them; missing to let the user choose.
---@field prompt boolean Whether they are those of one prompt.
---@field items rat.msg.ListedTurn[] The turns.

--- A turn whose changes are kept.
---@class (exact) rat.msg.ListedTurn
---@field root string The folder whose files it changed.
---@field id string Its id among the turns of that folder.
---@field chat? integer The chat whose turn it was, if that was opened in this Neovim.
---@field turn? integer The turn of that chat, from 1, as the pending hunks have it.
---@field time integer When it ended, in seconds since 1970.
---@field agent string The agent's name in the configuration.
---@field prompt string The beginning of the prompt.
---@field undone boolean Whether it has been undone.
---@field files integer How many files it changed.
---@field added integer How many lines it added.
---@field removed integer How many lines it removed.

--- The pending hunks of all files.
---@class (exact) rat.msg.Changes
---@field request integer The number of the call that wants them.
---@field items rat.msg.Change[] The hunks.

--- A pending hunk.
---@class (exact) rat.msg.Change
---@field path string The real path of the file.
---@field lnum integer Its first line in the file, from 1, or the line after removed ones.
---@field removed string[] The lines it has removed.
---@field added string[] The lines it has added.
---@field chat? integer The chat whose agent made it.
---@field turn? integer The turn of that chat, from 1.
---@field tool? string The tool call that made it, if that is known.
---@field title string The title of the tool call.

--- How many lines are pending, by chat. Chats without any are missing.
---@class (exact) rat.msg.PendingCounts
---@field items rat.msg.PendingCount[] The counts.

--- How many lines are pending that the agent of a chat has changed.
---@class (exact) rat.msg.PendingCount
---@field chat integer The chat.
---@field added integer How many lines were added.
---@field removed integer How many were removed.

--- Files that may have changed on disk.
---@class (exact) rat.msg.Rewritten
---@field paths string[] Their real paths.

--- What is pending in all files, as a unified diff. It comes in pieces, one after the other.
---@class (exact) rat.msg.Review
---@field chat? integer The chat it was asked for in; missing for the one used last.
---@field scope string Which changes it shows.
---@field title string The title above the lines.
---@field row integer The row of the first line, from 0.
---@field replaces? integer How many rows from there on the lines replace; missing for all rows there are.
---@field update boolean Whether this only updates a review that is open.
---@field page integer The number of the page, which is the same in all pieces of it.
---@field last boolean Whether this is the last piece.
---@field lines string[] The lines.
---@field heads rat.msg.ReviewHead[] The lines among them that name a file.
---@field hunks integer[] The hunks among them, five numbers for each: the row in the whole review, from 0; the first row in the file, from 0; how many rows it has there; which one it is; and a number that is the same as that of the hunk before it in the file if the same tool calls made both.

--- A line of a review that names a file.
---@class (exact) rat.msg.ReviewHead
---@field row integer Its row in the whole review, from 0.
---@field path string The path of the file.
---@field from? string The path that it had before, if it was moved: both are decided on together.
---@field kind string What it is about: `file` for lines of a file, `state` for a file as a whole, `group` for everything after it.
---@field unknown boolean Whether it is not known that an agent made these changes.

--- A file and its base, to be compared in diff mode.
---@class (exact) rat.msg.Compare
---@field path string The real path.
---@field update boolean Whether a comparison that is shown is only to be updated.
---@field from? string The path that it had before, if it was moved.
---@field name string The name of the base, as the review shows it.
---@field base? string[] The lines without what is pending; missing if nothing is.
---@field hunks integer[] The hunks, five numbers for each: the first row, from 0, and how many rows there are, in the base and then in the file; and which one it is.
---@field too_large boolean Whether it has become too large for diff mode, so that its lines and hunks are missing.

--- A write that waits for the user's consent.
---@class (exact) rat.msg.Proposal
---@field id integer The number of the question about it.
---@field chat integer The chat.
---@field path string The real path.
---@field before string[] The present lines.
---@field after string[] The lines it would have.

--- Changes to show in diff mode.
---@class (exact) rat.msg.Diff
---@field chat integer The chat.
---@field id? integer The number of the permission request, if one is waiting.
---@field tool_call string The tool call that makes the changes.
---@field title string The tool call's title.
---@field files rat.msg.File[] The changed files.
---@field editable boolean Whether the user may edit the change before allowing it.

--- A file before and after a change.
---@class (exact) rat.msg.File
---@field path string The path for display.
---@field old string The text before the change; empty for a new file.
---@field new string The text after the change.

--- Each message with its fields.
---@class (exact) rat.msg.Payloads
---@field chat rat.msg.Opened A chat exists, or is to be shown.
---@field status rat.msg.Status The status of a chat has changed.
---@field draw rat.msg.Draw The content of a view has changed. Encoded by hand, because most of the data is in these messages.
---@field edited rat.msg.Edited A change in place is over.
---@field notify rat.msg.Notify Notify the user.
---@field event rat.msg.Event Trigger a `User` autocommand.
---@field update rat.msg.Happened Something that scripts listen to has happened in a conversation. Sent only if there is a listener.
---@field elicitation rat.msg.ElicitationRequest An agent asks the user to fill in a form or to open a URL.
---@field problems rat.msg.FormProblems The result of validating a form.
---@field browse rat.msg.Browse The user has agreed to open a URL.
---@field ask rat.msg.Ask Ask the user one of our own questions.
---@field rules rat.msg.Rules Show the rules.
---@field rule rat.msg.Suggestion Let the user edit rules made of a request.
---@field rule_problems rat.msg.RuleProblems What is wrong with the rules that the user has written.
---@field unask rat.msg.Unask Withdraw a question.
---@field closed rat.msg.Closed Remove a chat that was closed.
---@field sessions rat.msg.Sessions The session list that was requested.
---@field found rat.msg.Found What a search through the saved sessions has found.
---@field worktree rat.msg.Worktree The worktree that was requested.
---@field scratch rat.msg.Scratch Show a text in a scratch buffer.
---@field trace rat.msg.Trace Show a piece of the traffic with an agent.
---@field terminal rat.msg.TerminalOutput Output for a terminal buffer.
---@field draft rat.msg.Draft Return a prompt to the user.
---@field login rat.msg.Login Log in with a program in a terminal of the editor.
---@field meta rat.msg.Meta Data that an agent sent in `_meta`.
---@field offer rat.msg.Offer What can be done with the content that the user has chosen.
---@field exported rat.msg.Exported Content was written to a file, or the file exists already.
---@field options rat.msg.Options The options of a session have changed.
---@field commands rat.msg.Commands The agent's slash commands have changed.
---@field pending rat.msg.Pending What is pending in a loaded file.
---@field turns rat.msg.Turns Turns to choose from.
---@field changes rat.msg.Changes The answer to `require("rat").changes()`.
---@field pending_counts rat.msg.PendingCounts How many lines are pending that the agent of each chat has changed.
---@field rewritten rat.msg.Rewritten Files that the user has put back or merged may have changed on disk.
---@field review rat.msg.Review Show what is pending in all files.
---@field compare rat.msg.Compare Compare a file with its base.
---@field proposal rat.msg.Proposal Show a write that waits for the user's consent, or one that they wanted and that could not be made.
---@field diff rat.msg.Diff Show changes in diff mode.
