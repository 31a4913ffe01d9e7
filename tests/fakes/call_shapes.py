"""Tool calls as models write them in text, made from their vendors' published chat templates.

Each shape calls `gpio_write` with pin "led" and value "on", unless it says otherwise.
"""

from dataclasses import dataclass

OBJECT = '{"name": "gpio_write", "arguments": {"pin": "led", "value": "on"}}'
PARAMETERS = '{"name": "gpio_write", "parameters": {"pin": "led", "value": "on"}}'
ARGUMENTS = '{"pin": "led", "value": "on"}'
PYTHON = 'gpio_write(pin="led", value="on")'


@dataclass(frozen=True, slots=True)
class Shape:
    """One form of an answer; `text` is what a person may be shown of it."""

    name: str
    answer: str
    text: str = ""
    calls: int = 1

    @property
    def ends_turn(self) -> bool:
        """True if a token at the end says that nothing follows, whatever does."""
        return self.answer.endswith(("|>", "｜>", "</s>", "```", "-->"))


def _deepseek(*calls: str) -> str:
    return f"<｜tool▁calls▁begin｜>{''.join(calls)}<｜tool▁calls▁end｜>"


_DEEPSEEK_OLD = (
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>gpio_write\n```json\n"
    f"{ARGUMENTS}\n```<｜tool▁call▁end｜>"
)
_DEEPSEEK_NEW = f"<｜tool▁call▁begin｜>gpio_write<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>"
_KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.gpio_write:0"
    f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>"
)
_PARAMETER_MARKS = "<parameter=pin>\nled\n</parameter>\n<parameter=value>\non\n</parameter>\n"
_DSML = "｜DSML｜"
_CALL = f"<tool_call>\n{OBJECT}\n</tool_call>"

_MINIMAX = "]<]minimax[>["
MINIMAX_CALL = (
    f'{_MINIMAX}<invoke name="gpio_write">{_MINIMAX}<pin>led{_MINIMAX}</pin>'
    f"{_MINIMAX}<value>on{_MINIMAX}</value>{_MINIMAX}</invoke>\n"
)


def minimax(*calls: str) -> str:
    return f"{_MINIMAX}<tool_call>\n{''.join(calls)}{_MINIMAX}</tool_call>"


SHAPES = (
    Shape("hermes", _CALL),
    Shape("hermes after a sentence", f"I switch it on.\n{_CALL}", "I switch it on."),
    Shape("hermes with an end of turn", f"{_CALL}<|im_end|>"),
    Shape("hermes twice", f"{_CALL}\n{_CALL}", calls=2),
    Shape("hermes without its end", f"<tool_call>\n{OBJECT}\n"),
    Shape("hermes, single quotes", f"<tool_call>{OBJECT.replace(chr(34), chr(39))}</tool_call>"),
    Shape("hermes after a thought", f"<think>\nThe led.\n</think>\n\n{_CALL}"),
    Shape("hermes after a thought without a beginning", f"</think>\n{_CALL}"),
    Shape(
        "qwen coder",
        f"<tool_call>\n<function=gpio_write>\n{_PARAMETER_MARKS}</function>\n</tool_call>",
    ),
    Shape(
        "seed",
        f"<seed:tool_call>\n<function=gpio_write>\n{_PARAMETER_MARKS}</function>\n"
        "</seed:tool_call>",
    ),
    Shape(
        "glm",
        "<tool_call>gpio_write\n<arg_key>pin</arg_key>\n<arg_value>led</arg_value>\n"
        "<arg_key>value</arg_key>\n<arg_value>on</arg_value>\n</tool_call>",
    ),
    Shape(
        "minimax",
        '<minimax:tool_call>\n<invoke name="gpio_write">\n<parameter name="pin">led</parameter>\n'
        '<parameter name="value">on</parameter>\n</invoke>\n</minimax:tool_call>',
    ),
    Shape("minimax m3", minimax(MINIMAX_CALL)),
    Shape("minimax m3, two", minimax(MINIMAX_CALL, MINIMAX_CALL), calls=2),
    Shape("minimax m3 after a sentence", f"I do it.{minimax(MINIMAX_CALL)}[e~[", "I do it."),
    Shape("minimax m3 after a thought", f"<mm:think>The led.</mm:think>\n{minimax(MINIMAX_CALL)}"),
    Shape("minimax m3 without the group's end", minimax(MINIMAX_CALL).rsplit("\n", 1)[0]),
    Shape("nemotron", f"<TOOLCALL>[{OBJECT}]</TOOLCALL>"),
    Shape("jamba", f"<tool_calls>[{OBJECT}]</tool_calls>"),
    Shape("olmo", f"<function_calls>\n{PYTHON}\n</function_calls>"),
    Shape("function mark", f"<function=gpio_write>{ARGUMENTS}</function>"),
    Shape(
        "function mark with an end of message",
        f"<function=gpio_write>{ARGUMENTS}</function><|eom_id|>",
    ),
    Shape("llama object", PARAMETERS),
    Shape("llama object with an end of turn", f"{PARAMETERS}<|eot_id|>"),
    Shape(
        "llama typed object",
        f'{{"type": "function", "function": {PARAMETERS}}}',
    ),
    Shape(
        "llama named type",
        '{"type": "function", "name": "gpio_write", "parameters": {"pin": "led", "value": "on"}}',
    ),
    Shape("llama python tag", f"<|python_tag|>{PARAMETERS}"),
    Shape("llama python tag, two", f"<|python_tag|>{PARAMETERS}; {PARAMETERS}<|eom_id|>", calls=2),
    Shape(
        "llama python tag, call", '<|python_tag|>gpio_write.call(pin="led", value="on")<|eom_id|>'
    ),
    Shape("llama two objects", f"{PARAMETERS}\n\n{PARAMETERS}", calls=2),
    Shape("pythonic list", f"[{PYTHON}]"),
    Shape("pythonic list of two", f"[{PYTHON}, {PYTHON}]", calls=2),
    Shape("pythonic between marks", f"<|python_start|>[{PYTHON}]<|python_end|>"),
    Shape("lfm", f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>"),
    Shape("lfm with text", f"On.\n<|tool_call_start|>[{PYTHON}]<|tool_call_end|>", "On."),
    Shape("bare call", PYTHON),
    Shape("bare call with an object", f"gpio_write({ARGUMENTS})"),
    Shape("gemma tool code", f"```tool_code\n{PYTHON}\n```"),
    Shape("gemma tool code, printed", f"```tool_code\nprint({PYTHON})\n```"),
    Shape("gemma default api", f"```tool_code\nprint(default_api.{PYTHON})\n```"),
    Shape("gemma tool code after a sentence", f"I do it.\n```tool_code\n{PYTHON}\n```", "I do it."),
    Shape(
        "function gemma",
        "<start_function_call>call:gpio_write{pin:<escape>led<escape>,value:<escape>on<escape>}"
        "<end_function_call>",
    ),
    Shape(
        "gemma 4", '<|tool_call>call:gpio_write{pin:<|"|>led<|"|>,value:<|"|>on<|"|>}<tool_call|>'
    ),
    Shape("mistral", f"[TOOL_CALLS] [{OBJECT}]"),
    Shape("mistral with an end", f"[TOOL_CALLS][{OBJECT}]</s>"),
    Shape(
        "mistral, escaped",
        '[TOOL_CALLS] [{"name": "gpio\\_write", "arguments": {"pin": "led", "value": "on"}}]',
    ),
    Shape("mistral named", f"[TOOL_CALLS]gpio_write[ARGS]{ARGUMENTS}"),
    Shape(
        "mistral named with a number", f"[TOOL_CALLS]gpio_write[CALL_ID]a1b2c3d4e[ARGS]{ARGUMENTS}"
    ),
    Shape("mistral named twice", f"[TOOL_CALLS]gpio_write[ARGS]{ARGUMENTS}" * 2, calls=2),
    Shape("magistral", f"[THINK]The led.[/THINK][TOOL_CALLS]gpio_write[ARGS]{ARGUMENTS}"),
    Shape("deepseek v3", _deepseek(_DEEPSEEK_OLD)),
    Shape(
        "deepseek r1", f"<think>\nHm.\n</think>\n\n{_deepseek(_DEEPSEEK_OLD)}<｜end▁of▁sentence｜>"
    ),
    Shape("deepseek v3.1", _deepseek(_DEEPSEEK_NEW)),
    Shape("deepseek v3.1, two", _deepseek(_DEEPSEEK_NEW, _DEEPSEEK_NEW), calls=2),
    Shape(
        "deepseek v3.2",
        f'<{_DSML}function_calls>\n<{_DSML}invoke name="gpio_write">\n'
        f'<{_DSML}parameter name="pin" string="true">led</{_DSML}parameter>\n'
        f'<{_DSML}parameter name="value" string="true">on</{_DSML}parameter>\n'
        f"</{_DSML}invoke>\n</{_DSML}function_calls>",
    ),
    *(
        Shape(
            f"deepseek v4, {group.strip()}",
            f'<{_DSML}{group}>\n<{_DSML}{gap}invoke name="gpio_write">\n'
            f'<{_DSML}{gap}parameter name="pin" string="true">led</{_DSML}{gap}parameter>\n'
            f'<{_DSML}{gap}parameter name="value" string="true">on</{_DSML}{gap}parameter>\n'
            f"</{_DSML}{gap}invoke>\n</{_DSML}{group}>",
        )
        for gap, group in (("", "tool_calls"), (" ", " calls"))
    ),
    Shape("kimi", _KIMI),
    Shape("kimi with a section of one call", _KIMI.replace("calls_section", "call_section")),
    Shape(
        "hunyuan with a mark behind the name",
        "<tool_calls>\n<tool_call>gpio_write<tool_sep>\n<arg_key>pin</arg_key>\n"
        "<arg_value>led</arg_value>\n<arg_key>value</arg_key>\n<arg_value>on</arg_value>\n"
        "</tool_call>\n</tool_calls>",
    ),
    Shape(
        "minicpm with raw text",
        '<function name="gpio_write"><param name="pin"><![CDATA[led]]></param>'
        '<param name="value">on</param></function>',
    ),
    Shape(
        "gemma 4 after a thought",
        "<|channel>thought\nThe lamp is off.<channel|>"
        '<|tool_call>call:gpio_write{pin:<|"|>led<|"|>,value:<|"|>on<|"|>}<tool_call|>',
    ),
    Shape(
        "minicpm 4 in a block of code",
        f"<|tool_call_start|>\n```python\n{PYTHON}\n```\n<|tool_call_end|>",
    ),
    Shape("minicpm 4 after a thought", f"<|thought_start|>It is off.<|thought_end|>{_CALL}"),
    Shape("kimi after a sentence", f"I do it.{_KIMI}", "I do it."),
    Shape(
        "harmony",
        "<|channel|>analysis<|message|>The led.<|end|><|start|>assistant<|channel|>commentary "
        f"to=functions.gpio_write <|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    ),
    Shape(
        "harmony with a preamble",
        "<|channel|>commentary<|message|>I switch it on.<|end|><|start|>assistant"
        "<|channel|>commentary to=functions.gpio_write <|constrain|>json<|message|>"
        f"{ARGUMENTS}<|call|>",
        "I switch it on.",
    ),
    Shape(
        "harmony without tokens",
        f"analysisThe led.assistantcommentary to=functions.gpio_write json{ARGUMENTS}",
    ),
    Shape("functionary", f">>>gpio_write\n{ARGUMENTS}"),
    Shape("functionary with text", f">>>all\nI do it.\n>>>gpio_write\n{ARGUMENTS}", "I do it."),
    Shape("react", f"Action: gpio_write\nAction Input: {ARGUMENTS}"),
    Shape(
        "react with a thought",
        f"Thought: I switch the led on.\nAction: gpio_write\nAction Input: {ARGUMENTS}\n",
    ),
    Shape("phi", f"<|tool_call|>[{OBJECT}]<|/tool_call|>"),
    Shape("granite", f"<|tool_call|>[{OBJECT}]"),
    Shape("functools", f"functools[{OBJECT}]"),
    Shape(
        "command r",
        f'Action: ```json\n[{{"tool_name": "gpio_write", "parameters": {ARGUMENTS}}}]\n```',
    ),
    Shape(
        "command r7b",
        "<|START_THINKING|>The led.<|END_THINKING|><|START_ACTION|>\n"
        f'[{{"tool_call_id": "0", "tool_name": "gpio_write", "parameters": {ARGUMENTS}}}]\n'
        "<|END_ACTION|>",
    ),
    Shape("xlam", f'{{"tool_calls": [{OBJECT}]}}'),
    Shape("xlam list", f"[{OBJECT}]"),
    Shape("internlm", f"<|action_start|><|plugin|>{PARAMETERS}<|action_end|>"),
    Shape("apertus", f'<|tools_prefix|>[{{"gpio_write": {ARGUMENTS}}}]<|tools_suffix|>'),
    Shape(
        "functions prefix",
        '{"name": "functions.gpio_write", "arguments": {"pin": "led", "value": "on"}}',
    ),
    Shape("name and object", f"gpio_write\n{ARGUMENTS}"),
    Shape("block of json", f"```json\n{OBJECT}\n```"),
    Shape("block of json without its beginning", f"{PYTHON}\n```"),
)
