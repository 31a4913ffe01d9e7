"""Calls of Command R: between marks, or in a block of code behind `Action:`."""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall
from agent.providers.prompted.templates.base import Template, json_calls

_END_OF_ACTION = re.compile(r"\s*+<\|END_ACTION\|>")
_END_OF_BLOCK = re.compile(r"\s*+```")
# The model's word for an answer without a tool
_NO_TOOL = frozenset({"directly-answer", "directly_answer"})


def _take_action(text: str, place: int) -> TakenCalls:
    return json_calls(text, place, _END_OF_ACTION)


def _take_block(text: str, place: int) -> TakenCalls:
    taken = json_calls(text, place, _END_OF_BLOCK)
    return TakenCalls(_without_answers(taken.wanted), taken.end, taken.problem, taken.is_cut)


def _without_answers(wanted: tuple[WantedCall, ...]) -> tuple[WantedCall, ...]:
    return tuple(one for one in wanted if one.name not in _NO_TOOL)


TEMPLATE = Template("command-r7b", _take_action, openings=("<|START_ACTION|>",))
BLOCK = Template("command-r", _take_block, line_openings=("Action: ```json\n", "Action:```json\n"))
