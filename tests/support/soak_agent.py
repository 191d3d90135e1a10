"""An agent that answers every prompt at once: a tool call with some output, and a text of 1 KB in ten pieces."""

import json
import os
import sys

FILE = os.path.join(os.getcwd(), "a.txt")
WORDS = "the quick brown fox jumps over a lazy dog and writes some code".split()


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}))


def update(session, **fields):
    send(method="session/update", params={"sessionId": session, "update": fields})


def answer(session, number):
    call = f"call-{number}"
    update(session, sessionUpdate="tool_call", toolCallId=call, title="Read a.txt", kind="read",
           status="pending", locations=[{"path": FILE}])
    output = {"type": "content", "content": {"type": "text", "text": "x" * 300}}
    update(session, sessionUpdate="tool_call_update", toolCallId=call, status="completed",
           content=[output])
    for piece in range(10):
        words = (WORDS[(number + piece + word) % len(WORDS)] for word in range(20))
        update(session, sessionUpdate="agent_message_chunk",
               content={"type": "text", "text": " ".join(words) + "\n"})


prompts = 0
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "agentInfo": {"name": "soak", "version": "1"}})
    elif method == "session/new":
        send(id=message["id"], result={"sessionId": f"session-{os.getpid()}"})
    elif method == "session/prompt":
        prompts += 1
        answer(params["sessionId"], prompts)
        send(id=message["id"], result={"stopReason": "end_turn"})
    elif method and "id" in message:
        send(id=message["id"], error={"code": -32601, "message": "not here"})
    sys.stdout.flush()
