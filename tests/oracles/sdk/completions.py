"""The conversation as OpenAI's own client sends it to chat completions."""

from typing import Any

from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from validation import problems


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    client = OpenAI(api_key=talk["key"], base_url=f"{talk['url']}/v1", max_retries=0)
    state: Any = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(
        model=talk["model"],
        messages=[_message(message) for message in talk["messages"]],
        tools=[{"type": "function", "function": tool} for tool in talk["tools"]],
        max_tokens=talk["max_tokens"],
        temperature=talk["temperature"],
        stream=True,
        stream_options={"include_usage": True},
    ):
        state.handle_chunk(chunk)
    answer = state.get_final_completion()
    [choice] = answer.choices
    return {
        "problems": problems(CompletionCreateParamsStreaming, *talk["ours"]),
        "text": choice.message.content,
        "calls": [
            [call.id, call.function.name, call.function.arguments]
            for call in choice.message.tool_calls
        ],
        "stop": choice.finish_reason,
        "input": answer.usage.prompt_tokens,
        "output": answer.usage.completion_tokens,
    }


def _message(message: dict[str, Any]) -> Any:
    said: Any = message["text"]
    if message["role"] == "tool":
        return {"role": "tool", "content": said, "tool_call_id": message["id"]}
    if message["images"]:
        urls = [f"data:{kind};base64,{data}" for kind, data in message["images"]]
        said = [{"type": "text", "text": said}]
        said += [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    calls = [
        {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call, name, arguments in message["calls"]
    ]
    more = {"tool_calls": calls} if calls else {}
    return {"role": message["role"], "content": said, **more}
