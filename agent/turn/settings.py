"""The `[agent]` section: how the agent behaves in a turn."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from agent.config import ConfigSection
from agent.messages import Effect
from agent.security.policy import ActLimits, Autonomy, Policy, PolicyRule, Verdict

# Many more than a person asks for; a model in a loop is there soon. A rule of the owner's for every
# tool has limits of its own instead
USUAL_LIMITS = ActLimits(per_turn=50, per_hour=600, per_day=5000)
_EVERY_TOOL = "*"
_Count: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]


class RuleSettings(ConfigSection, frozen=True, kw_only=True):
    """An `[agent.rules.<name>]` table: the owner's word on some calls."""

    # `*` at the end stands for any rest, here and in `where`
    tool: Annotated[str, Meta(min_length=1, max_length=100)] = _EVERY_TOOL
    where: dict[str, str] = msgspec.field(default_factory=dict)
    verdict: Verdict | None = None
    per_turn: _Count | None = None
    per_hour: _Count | None = None
    per_day: _Count | None = None

    def __post_init__(self) -> None:
        if self.verdict is None and self.limits == ActLimits():
            raise ValueError("verdict or a limit (per_turn, per_hour, per_day) has to be given")

    @property
    def limits(self) -> ActLimits:
        return ActLimits(self.per_turn, self.per_hour, self.per_day)


HookName = Annotated[
    str,
    Meta(
        pattern=r"^[\w.]+:\w+\Z",
        max_length=200,
        description="a module and a class in it, such as my_hooks:Diary",
    ),
]


class HooksSettings(ConfigSection, frozen=True, kw_only=True):
    """Code of the owner's that has a say over messages, answers and tool calls."""

    # Each `package.module:Class`, a kind of agent.turn.hooks.Hook
    modules: tuple[HookName, ...] = ()


IdentityFile = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9][\w-]{0,60}(\.[\w-]{1,60}){0,4}\.json)?\Z",
        description="a file of the workspace that ends in .json, such as identity.json",
    ),
]


class AgentSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[agent]` section: name, limits and the time for a turn."""

    name: Annotated[str, Meta(min_length=1, max_length=60)] = "Barnacle"
    autonomy: Autonomy = Autonomy.SUPERVISED
    # Effects for which a typed yes is not enough: the button on the device has to be pressed
    presence_for: tuple[Effect, ...] = ()
    # The owner's own rules, by names of one's own
    rules: dict[str, RuleSettings] = msgspec.field(default_factory=dict)
    # Empty: the folder `workspace` in the state folder
    workspace: str = ""
    # File of the workspace with an AIEOS identity, which goes before IDENTITY.md; empty: none
    identity: IdentityFile = ""
    max_tool_iterations: Annotated[int, Meta(ge=1, le=50)] = 10
    turn_timeout_s: Annotated[int, Meta(ge=10, le=1200)] = 180
    # What a model sees again of a conversation; older turns leave a digest
    history_tokens: Annotated[int, Meta(ge=500, le=1_000_000)] = 12_000

    # Those turns are summed up by the model, once in an hour at most
    summaries: bool = True

    # A new message breaks off the turn on the one before it, unless that has begun to act; the next
    # turn answers both
    interrupt: bool = False
    # Each call of a tool is told in the conversation, as a message of its own
    show_tool_calls: bool = False
    # What a model thought before it answered is told as well, where the service gives it
    show_thoughts: bool = False

    @property
    def policy(self) -> Policy:
        """Return the policy of the gate."""
        rules = tuple(
            PolicyRule(name, rule.tool, _spelled(rule.where), rule.verdict, rule.limits)
            for name, rule in self.rules.items()
        )
        is_limited = any(
            rule.tool == _EVERY_TOOL and not rule.where and rule.limits != ActLimits()
            for rule in rules
        )
        return Policy(self.autonomy, rules, ActLimits() if is_limited else USUAL_LIMITS)


def _spelled(where: Mapping[str, str]) -> dict[str, str]:
    """Return a rule's arguments in the spelling that those of calls are brought into."""
    if not where:
        return {}
    # A rule for some arguments needs it, and no start
    from agent.security.spelling import spelled_argument  # noqa: PLC0415

    return {key: spelled_argument(key, told) for key, told in where.items()}
