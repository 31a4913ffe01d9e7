"""The conversation as Google's own client sends it."""

import base64
import json
from typing import Any

from google import genai
from google.genai import types
from validation import problems

# What the documentation says to send with a call that no model of theirs made
_NO_SIGNATURE = base64.urlsafe_b64decode("skip_thought_signature_validator")


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    options = types.HttpOptions(base_url=talk["url"], api_version="v1beta")
    client = genai.Client(api_key=talk["key"], http_options=options)
    system, *messages = talk["messages"]
    chunks = client.models.generate_content_stream(
        model=talk["model"],
        contents=_contents(messages),
        config=types.GenerateContentConfig(
            system_instruction=types.Content(parts=[types.Part(text=system["text"])]),
            temperature=talk["temperature"],
            max_output_tokens=talk["max_tokens"],
            tools=[types.Tool(function_declarations=[_declared(tool) for tool in talk["tools"]])],
        ),
    )
    text, calls, last = "", [], None
    for last in chunks:
        parts = (last.candidates[0].content.parts or []) if last.candidates else []
        text += "".join(part.text for part in parts if part.text and not part.thought)
        calls += [part.function_call for part in parts if part.function_call]
    usage = last.usage_metadata
    return {
        "problems": [problem for body in talk["ours"] for problem in _problems(body)],
        "text": text,
        "calls": [[call.id, call.name, json.dumps(call.args or {})] for call in calls],
        "stop": last.candidates[0].finish_reason.value,
        "input": usage.prompt_token_count,
        "output": (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
    }


def _problems(body: dict[str, Any]) -> list[str]:
    # Its own models take no unknown fields
    return [
        *problems(types.Content, *body["contents"], body["systemInstruction"]),
        *problems(types.FunctionDeclaration, *body["tools"][0]["functionDeclarations"]),
        *problems(types.GenerationConfig, body["generationConfig"]),
    ]


def _declared(tool: dict[str, Any]) -> types.FunctionDeclaration:
    return types.FunctionDeclaration(
        name=tool["name"],
        description=tool["description"],
        parameters_json_schema=tool["parameters"],
    )


def _contents(messages: list[dict[str, Any]]) -> list[types.Content]:
    contents: list[types.Content] = []
    for message in messages:
        role = "model" if message["role"] == "assistant" else "user"
        if not contents or contents[-1].role != role:
            contents.append(types.Content(role=role, parts=[]))
        contents[-1].parts += _parts(message)
    return contents


def _parts(message: dict[str, Any]) -> list[types.Part]:
    if message["role"] == "tool":
        response = {"error" if message["is_error"] else "output": message["text"]}
        result = types.FunctionResponse(id=message["id"], name=message["name"], response=response)
        return [types.Part(function_response=result)]
    pictures = [
        types.Part.from_bytes(data=base64.b64decode(data), mime_type=kind)
        for kind, data in message["images"]
    ]
    calls = [
        types.Part(function_call=types.FunctionCall(id=call, name=name, args=json.loads(arguments)))
        for call, name, arguments in message["calls"]
    ]
    if calls:
        calls[0].thought_signature = _NO_SIGNATURE
    return [*pictures, types.Part(text=message["text"]), *calls]
