"""The conversation as Ollama's own client sends it."""

import json
from typing import Any

import ollama
from ollama._types import ChatRequest


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    client = ollama.Client(talk["url"])
    lines = list(
        client.chat(
            talk["model"],
            [_message(message) for message in talk["messages"]],
            tools=[{"type": "function", "function": tool} for tool in talk["tools"]],
            think=False,
            keep_alive="30m",
            stream=True,
            options={
                "num_ctx": talk["context_tokens"],
                "num_predict": talk["max_tokens"],
                "temperature": talk["temperature"],
            },
        )
    )
    called = [call.function for line in lines for call in line.message.tool_calls or ()]
    return {
        "problems": [problem for body in talk["ours"] for problem in _problems(body)],
        "text": "".join(line.message.content or "" for line in lines),
        "calls": [["", call.name, json.dumps(dict(call.arguments))] for call in called],
        "stop": lines[-1].done_reason,
        "input": lines[-1].prompt_eval_count,
        "output": lines[-1].eval_count,
    }


def _problems(body: dict[str, Any]) -> list[str]:
    """Its own models leave out what they do not know."""
    said = [_validated(message) for message in body["messages"]]
    kept = ChatRequest.model_validate({**body, "messages": said}).model_dump(exclude_none=True)
    lost = [f"('{name}',): Extra inputs are not permitted" for name in body if name not in kept]
    pairs = zip(body["messages"], kept["messages"], strict=True)
    return lost + [f"{ours} became {theirs}" for ours, theirs in pairs if ours != theirs]


def _validated(message: dict[str, Any]) -> ollama.Message:
    # Only its own pictures are taken, which are written as they came
    pictures = [ollama.Image(value=data) for data in message.get("images", ())]
    return ollama.Message.model_validate({**message, "images": pictures or None})


def _message(message: dict[str, Any]) -> ollama.Message:
    if message["role"] == "tool":
        # There is no field for it
        text = f"error: {message['text']}" if message["is_error"] else message["text"]
        return ollama.Message(role="tool", content=text, tool_name=message["name"])
    made = ollama.Message.ToolCall
    calls = [
        made(function=made.Function(name=name, arguments=json.loads(arguments)))
        for _, name, arguments in message["calls"]
    ]
    pictures = [ollama.Image(value=data) for _, data in message["images"]]
    return ollama.Message(
        role=message["role"],
        content=message["text"],
        images=pictures or None,
        tool_calls=calls or None,
    )
