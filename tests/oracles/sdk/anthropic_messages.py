"""The conversation as Anthropic's own client sends it."""

import json
from typing import Any

from anthropic import Anthropic
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from validation import problems

_CACHED = {"cache_control": {"type": "ephemeral"}}


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    client = Anthropic(api_key=talk["key"], base_url=talk["url"], max_retries=0)
    system, *messages = talk["messages"]
    said = _alternating(messages)
    said[-1]["content"][-1] |= _CACHED
    with client.messages.stream(
        model=talk["model"],
        max_tokens=talk["max_tokens"],
        system=[{"type": "text", "text": system["text"], **_CACHED}],
        messages=said,
        tools=[
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["parameters"],
            }
            for tool in talk["tools"]
        ],
    ) as stream:
        answer = stream.get_final_message()
    called = [block for block in answer.content if block.type == "tool_use"]
    return {
        "problems": problems(MessageCreateParamsStreaming, *talk["ours"]),
        "text": "".join(block.text for block in answer.content if block.type == "text"),
        "calls": [[call.id, call.name, json.dumps(call.input)] for call in called],
        "stop": answer.stop_reason,
        "input": answer.usage.input_tokens,
        "output": answer.usage.output_tokens,
    }


def _alternating(messages: list[dict[str, Any]]) -> list[Any]:
    said: list[Any] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not said or said[-1]["role"] != role:
            said.append({"role": role, "content": []})
        said[-1]["content"] += _blocks(message)
    return said


def _blocks(message: dict[str, Any]) -> list[Any]:
    if message["role"] == "tool":
        failed = {"is_error": True} if message["is_error"] else {}
        result = {"tool_use_id": message["id"], "content": message["text"]}
        return [{"type": "tool_result", **result, **failed}]
    pictures = [
        {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        for kind, data in message["images"]
    ]
    calls = [
        {"type": "tool_use", "id": call, "name": name, "input": json.loads(arguments)}
        for call, name, arguments in message["calls"]
    ]
    return [*pictures, {"type": "text", "text": message["text"]}, *calls]
