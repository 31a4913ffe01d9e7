"""A pretended model that does what a few plain phrases say, with the tools that it is offered.

English and Chinese. It believes everything, which is what a test of the gate wants of a model.
"""

import json
import re
from collections.abc import Callable

from tests.fakes.llm_server import Call, Json, Reply, streamed, whole

Arguments = Callable[[re.Match[str]], Json]

_ON = {"on", "打开", "开", "开启"}


def _switch(found: re.Match[str]) -> Json:
    value = "on" if found["value"].lower() in _ON else "off"
    return {"pin": found["pin"].lower(), "value": value}


def _watch(found: re.Match[str]) -> Json:
    part = found["pin"].rpartition(".")[2]
    return {"name": f"high_{part}", "pin": found["pin"], "above": float(found["limit"])}


def _reflex(found: re.Match[str]) -> Json:
    condition = {
        "reading": found["pin"],
        "comparison": "above",
        "value": float(found["limit"]),
        "hysteresis": 2,
    }
    return {
        "name": "moist_air",
        "when": [condition],
        "output": found["output"],
        "value": "on",
        "for_s": float(found["span"]),
        "every_s": 60,
    }


def _job(found: re.Match[str]) -> Json:
    what = "message" if found["what"].lower() == "say" else "prompt"
    return {"name": f"the_{what}", "at": found["at"], what: found["text"]}


def _whole_text(name: str) -> Arguments:
    return lambda found: {name: found["text"].strip()}


# The first rule that fits decides: what is said, the tool for it, and its arguments
_RULES: tuple[tuple[str, str, Arguments], ...] = (
    (r"turn (?P<value>on|off) the (?P<pin>\w+)", "board_gpio_write", _switch),
    (r"turn the (?P<pin>\w+) (?P<value>on|off)", "board_gpio_write", _switch),
    (r"(?P<value>打开|关闭|关掉|开启)\s*(?P<pin>[a-z0-9_]+)\s*灯?", "board_gpio_write", _switch),
    (r"tell me when (?:the )?(?P<pin>[\w.]+) goes above (?P<limit>\d+)", "watch_add", _watch),
    (
        r"when (?P<pin>[\w.]+) is above (?P<limit>\d+).*the (?P<output>\w+) on for (?P<span>\d+) s",
        "reflex_add",
        _reflex,
    ),
    (r"at (?P<at>\d{4}-\S+) (?P<what>say|do): (?P<text>.+)", "cron_add", _job),
    (r".*humidity of the (?P<pin>\w+)", "board_climate_read", lambda found: {"pin": found["pin"]}),
    (r"remember (?:that )?(?P<text>.+)", "memory_store", _whole_text("content")),
    (r"(?:请)?记住[,,::]?(?P<text>.+)", "memory_store", _whole_text("content")),
    (r"(?P<text>.*(?:called|name)\b.*\?)", "memory_recall", _whole_text("query")),
    (r"(?P<text>.*(?:叫什么|名字).*)", "memory_recall", _whole_text("query")),
    (r".*temperature|.*温度", "board_mcu_temperature", lambda _: {}),
    (r".*what time|.*几点", "time_now", lambda _: {}),
    (r".*system|.*系统", "system_info", lambda _: {}),
)


def obey(request: Json) -> Reply:
    """The answer to a request of chat completions, as a stream if one was asked for."""
    messages = [message for message in _list(request, "messages") if isinstance(message, dict)]
    last = messages[-1] if messages else {}
    asked = next((m for m in reversed(messages) if m.get("role") == "user"), {})
    is_chinese = re.search("[\u4e00-\u9fff]", str(asked.get("content"))) is not None
    make = streamed if request.get("stream") else whole
    has_searched = str(last.get("content")).startswith('{"tools":')
    if last.get("role") == "tool" and not has_searched:
        return make(_told(str(last.get("content")), is_chinese=is_chinese))
    call = _wanted(str(asked.get("content")), len(messages))
    if call is None:
        return make("我只会几件事。" if is_chinese else "I only obey a few phrases.")
    if call.name in _offered(request):
        return make("", call)
    if "tool_search" in _offered(request) and not has_searched:
        query = json.dumps({"query": call.name.replace("_", " ")})
        return make("", Call("tool_search", query, f"call_{len(messages)}"))
    return make(f"没有工具 {call.name}。" if is_chinese else f"No tool {call.name}.")


def _wanted(text: str, number: int) -> Call | None:
    for pattern, tool, arguments in _RULES:
        if found := re.match(pattern, text.strip(), re.IGNORECASE | re.DOTALL):
            written = json.dumps(arguments(found), ensure_ascii=False)
            return Call(tool, written, f"call_{number}")
    return None


def _offered(request: Json) -> set[str]:
    tools = [tool for tool in _list(request, "tools") if isinstance(tool, dict)]
    return {tool["function"]["name"] for tool in tools}


def _told(result: str, *, is_chinese: bool) -> str:
    """A tool's result as a sentence."""
    try:
        fields = json.loads(result)
    except ValueError:
        return f"没有成功:{result}" if is_chinese else f"That did not work: {result}"
    if "humidity" in fields:
        return f"The humidity is {fields['humidity']} %."
    if "pin" in fields and "unit" not in fields:
        value = {"on": "打开", "off": "关闭"}.get(fields["value"], fields["value"])
        english = f"The {fields['pin']} is {fields['value']} now."
        return f"{fields['pin']} 现在已{value}。" if is_chinese else english
    if "unit" in fields:
        reading = f"{fields['value']} {fields['unit']}"
        return f"现在是 {reading}。" if is_chinese else f"It is {reading}."
    if "memories" in fields:
        return _remembered(fields["memories"], is_chinese=is_chinese)
    return _done(fields, is_chinese=is_chinese) or result


def _done(fields: dict[str, object], *, is_chinese: bool) -> str:
    """What was arranged for later; empty for anything else."""
    if "stored" in fields:
        return "我记住了。" if is_chinese else "I will remember that."
    if "reflex" in fields:
        return f"The board does that by itself now. {fields['rule']}"
    if "job" in fields:
        return f"{fields['job']} runs at {fields['first']}."
    if "watching" in fields:
        return f"I will tell you ({fields['watching']})."
    return ""


def _remembered(memories: list[dict[str, str]], *, is_chinese: bool) -> str:
    if not memories:
        return "我不知道。" if is_chinese else "I do not know that."
    content = memories[0]["content"]
    return f"你告诉过我:{content}" if is_chinese else f"You told me: {content}"


def _list(request: Json, name: str) -> list[object]:
    value = request.get(name)
    return value if isinstance(value, list) else []
