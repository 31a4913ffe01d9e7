"""Modules of a turn, loaded in a thread when the first message has come.

A start loads none of them. In the loop each would hold up everything: a Pi Zero needs tenths of
a second for some, and a board that hears nothing for half a second lets its outputs go.
"""

from importlib import import_module

from agent.security.redact import Redactor
from agent.tools.registry import Registry

_MODULES = (
    "agent.approvals.reach",
    "agent.channels.render.html",
    "agent.channels.render.splitter",
    "agent.memory.contradiction",
    "agent.messaging.growing_answers",
    "agent.security.key_shapes",
    "agent.tools.inquiry",
    "agent.tools.result_names",
    "agent.tools.results",
    "agent.text.links",
    "agent.tools.selection",
    "agent.turn.answer_files",
    "agent.turn.delegation",
    "agent.turn.guidance",
    "agent.turn.outcome",
    "agent.turn.output_filter",
    "agent.turn.untrusted_links",
    "agent.turn.window",
)


def load(registry: Registry) -> None:
    """Load what a turn needs and try it once; in a thread."""
    for name in _MODULES:
        import_module(name)
    from agent.channels.render.parser import read  # noqa: PLC0415 - no start needs it

    # What is compiled by its first use
    read("**ready**")
    Redactor().redact("ready")
    registry.specs()
