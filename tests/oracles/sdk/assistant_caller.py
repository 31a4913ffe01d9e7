"""What OpenAI's own client makes of an endpoint: one step after the other, each result told."""

import json
from collections.abc import Callable
from typing import Any

import openai
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter, ValidationError

Step = dict[str, Any]
_EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return {"results": [_done(talk, step) for step in talk["steps"]]}


def _done(talk: dict[str, Any], step: Step) -> dict[str, Any]:
    client = OpenAI(
        api_key=step.pop("key", talk["key"]),
        base_url=f"{talk['url']}/v1",
        max_retries=step.pop("max_retries", 0),
        timeout=step.pop("timeout_s", 60.0),
    )
    try:
        return _STEPS[step.pop("do")](client, step)
    except openai.APIStatusError as err:
        return {
            "raised": type(err).__name__,
            "code": err.code,
            "param": err.param,
            "said": str(err),
        }
    except openai.OpenAIError as err:
        return {"raised": type(err).__name__, "said": str(err)}


def _models(client: OpenAI, _step: Step) -> dict[str, Any]:
    found = client.models.list()
    return {"names": [one.id for one in found.data], "problems": _problems(Model, *_plain(found))}


def _model(client: OpenAI, step: Step) -> dict[str, Any]:
    return {"name": client.models.retrieve(step["model"]).id}


def _complete(client: OpenAI, step: Step) -> dict[str, Any]:
    raw = client.chat.completions.with_raw_response.create(**step)
    made = raw.parse()
    body = json.loads(raw.text)
    return {
        "text": made.choices[0].message.content,
        "id": made.id,
        "problems": _problems(ChatCompletion, body),
    }


def _stream(client: OpenAI, step: Step) -> dict[str, Any]:
    state: Any = ChatCompletionStreamState()
    wrong: list[str] = []
    count = 0
    leaves_after = step.pop("leaves_after", 0)
    with client.chat.completions.create(stream=True, **step) as chunks:
        for chunk in chunks:
            count += bool(chunk.choices and chunk.choices[0].delta.content)
            wrong += _problems(ChatCompletionChunk, chunk.to_dict())
            state.handle_chunk(chunk)
            if leaves_after and count >= leaves_after:
                return {"left": True, "pieces": count}
    said = state.get_final_completion().choices[0]
    return {
        "text": said.message.content,
        "stop": said.finish_reason,
        "pieces": count,
        "problems": wrong,
    }


def _respond(client: OpenAI, step: Step) -> dict[str, Any]:
    raw = client.responses.with_raw_response.create(**step)
    made = raw.parse()
    return {
        "text": made.output_text,
        "id": made.id,
        "problems": _problems(Response, json.loads(raw.text)),
    }


def _events(client: OpenAI, step: Step) -> dict[str, Any]:
    kinds, wrong, text = [], [], ""
    for event in client.responses.create(stream=True, **step):
        kinds.append(event.type)
        text += event.delta if event.type == "response.output_text.delta" else ""
        try:
            _EVENTS.validate_python(event.to_dict())
        except ValidationError as err:
            wrong.append(str(err))
        if event.type == "response.completed":
            return {
                "kinds": kinds,
                "text": text,
                "whole": event.response.output_text,
                "problems": wrong,
            }
    return {"kinds": kinds, "problems": ["no end", *wrong]}


def _plain(found: Any) -> list[Any]:
    return [one.to_dict() for one in found.data]


def _problems(shape: Any, *bodies: Any) -> list[str]:
    """What the client's own types, read strictly, find wrong."""
    wrong = []
    for body in bodies:
        try:
            shape.model_validate(body)
        except ValidationError as err:
            wrong.append(str(err))
    return wrong


_STEPS: dict[str, Callable[[OpenAI, Step], dict[str, Any]]] = {
    "models": _models,
    "model": _model,
    "complete": _complete,
    "stream": _stream,
    "respond": _respond,
    "events": _events,
}
