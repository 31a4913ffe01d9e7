"""A server that speaks an older protocol and, when it is called, asks its client for everything.

Written by hand: the SDK's own servers do not ask a client for what it has not offered.
"""

import json
import sys

ASKS = {
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        "maxTokens": 10,
    },
    "roots/list": {},
    "elicitation/create": {
        "message": "your password?",
        "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
TOOLS = [
    {"name": name, "description": "Ask.", "inputSchema": {"type": "object", "properties": {}}}
    for name in ("ask", "refuse")
]


def say(**fields: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, object]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    heard = json.loads(line)
    assert isinstance(heard, dict)
    return heard


def asked() -> str:
    """What the client said to each question."""
    told = {}
    for number, (method, params) in enumerate(ASKS.items(), start=1000):
        say(id=number, method=method, params=params)
        while (heard := hear()).get("id") != number:
            pass
        told[method] = "refused" if "error" in heard else f"got {heard.get('result')}"
    return json.dumps(told)


while True:
    message = hear()
    match message.get("method"):
        case "initialize":
            about = {"name": "asking", "version": "1"}
            capable = {"tools": {}}
            said = {"protocolVersion": "2025-06-18", "capabilities": capable, "serverInfo": about}
            say(id=message["id"], result=said)
        case "tools/list":
            say(id=message["id"], result={"tools": TOOLS})
        case "tools/call" if "refuse" in str(message.get("params")):
            say(id=message["id"], error={"code": -32000, "message": "no\x1b[1m water"})
        case "tools/call":
            content = [{"type": "text", "text": asked()}]
            say(id=message["id"], result={"content": content})
        case _ if "id" in message:
            say(id=message["id"], error={"code": -32601, "message": "unknown"})
