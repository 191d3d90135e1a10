"""An agent that answers a prompt with one load, as often as it says: `chunks 1000`, `permissions 500` .. Then it says how
many of its requests were answered, and that it is done."""

import json
import os
import sys

# So many messages go to the pipe at once.
BATCH = 500

SESSION = f"session-{os.getpid()}"


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n"


def update(session=SESSION, **fields):
    return line(method="session/update", params={"sessionId": session, "update": fields})


def chunk(text, **fields):
    return update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **fields)


def call(number):
    return {"toolCallId": f"call-{number}", "title": f"Look at {number}", "kind": "execute"}


def words(number):
    """Ten bytes of text, of which ten make a paragraph."""
    return f"{number:08d}" + ("\n\n" if number % 10 == 9 else ", ")


def changed(number):
    if number == 0:
        return update(sessionUpdate="tool_call", status="in_progress", **call(0))
    output = {"type": "content", "content": {"type": "text", "text": f"line {number}"}}
    return update(sessionUpdate="tool_call_update", toolCallId="call-0", content=[output])


def permission(number):
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": SESSION, "toolCall": call(number), "options": options}
    return line(id=number, method="session/request_permission", params=params)


def terminal(number):
    """The command writes a megabyte, and does not end by itself."""
    script = f"head -c 1000000 /dev/zero | tr '\\0' 'x' | fold -w 99; : >written-{number}; exec sleep 1000"
    params = {"sessionId": SESSION, "command": "sh", "args": ["-c", script]}
    return line(id=number, method="terminal/create", params=params)


LOADS = {
    "chunks": lambda number: chunk(words(number)),
    "messages": lambda number: chunk(words(number), messageId=f"message-{number}"),
    "changes": changed,
    "strangers": lambda number: update(f"nobody-{number}", sessionUpdate="agent_message_chunk",
                                       content={"type": "text", "text": words(number)}),
    "calls": lambda number: update(sessionUpdate="tool_call", status="completed", **call(number)),
    "permissions": permission,
    "terminals": terminal,
}
REQUESTS = ("permissions", "terminals")


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def flood(load, count):
    for first in range(0, count, BATCH):
        write("".join(map(LOADS[load], range(first, min(first + BATCH, count)))))
    return count if load in REQUESTS else 0


def main():
    prompt, load, count, unanswered, refused = None, None, None, 0, 0
    for text in sys.stdin:
        message = json.loads(text)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            write(line(id=number, result={"protocolVersion": 1}))
        elif method == "session/new":
            write(line(id=number, result={"sessionId": SESSION}))
        elif method == "session/prompt":
            prompt, refused = number, 0
            load, count = message["params"]["prompt"][0]["text"].split()
            unanswered = flood(load, int(count))
        elif method is None:
            unanswered -= 1
            refused += "error" in message
        if prompt is not None and unanswered == 0:
            write(chunk(f"\n\nDone with {load} {count}, {refused} refused.\n"))
            write(line(id=prompt, result={"stopReason": "end_turn"}))
            prompt = None


main()
