"""The conversation as OpenAI's own client sends it to Responses."""

from collections.abc import Iterator
from typing import Any

from openai import OpenAI
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from validation import problems


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    client = OpenAI(api_key=talk["key"], base_url=f"{talk['url']}/v1", max_retries=0)
    system, *messages = talk["messages"]
    stream = client.responses.create(
        model=talk["model"],
        instructions=system["text"],
        input=[item for message in messages for item in _items(message)],
        tools=[{"type": "function", "strict": False, **tool} for tool in talk["tools"]],
        max_output_tokens=talk["max_tokens"],
        temperature=talk["temperature"],
        include=["reasoning.encrypted_content"],
        store=False,
        stream=True,
    )
    *others, last = stream
    answer = last.response
    shown = [event.delta for event in others if event.type == "response.output_text.delta"]
    assert "".join(shown) == answer.output_text
    called = [item for item in answer.output if item.type == "function_call"]
    return {
        "problems": problems(ResponseCreateParamsStreaming, *talk["ours"]),
        "text": answer.output_text,
        "calls": [[call.call_id, call.name, call.arguments] for call in called],
        "stop": answer.status,
        "input": answer.usage.input_tokens,
        "output": answer.usage.output_tokens,
    }


def _items(message: dict[str, Any]) -> list[Any]:
    if message["role"] == "tool":
        output = {"call_id": message["id"], "output": message["text"]}
        return [{"type": "function_call_output", **output}]
    if message["role"] == "user":
        said = {"role": "user", "content": list(_parts(message))}
    else:
        said = {"role": "assistant", "content": message["text"]}
    calls = [
        {"type": "function_call", "call_id": call, "name": name, "arguments": arguments}
        for call, name, arguments in message["calls"]
    ]
    return [said, *calls]


def _parts(message: dict[str, Any]) -> Iterator[Any]:
    yield {"type": "input_text", "text": message["text"]}
    for media_type, data in message["images"]:
        url = f"data:{media_type};base64,{data}"
        yield {"type": "input_image", "detail": "auto", "image_url": url}
