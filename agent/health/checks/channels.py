"""Checks of the channels: connections, platforms, paired people, chat socket and gateway."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec

from agent.access.people import PeopleStore
from agent.access.roles import PersonRole
from agent.errors import ChannelError, ChannelUnavailable, ConfigRefused
from agent.health.base import Check, Finding, Patient, Probe
from agent.health.daemon_thread import in_daemon_thread
from agent.health.status import read_status
from agent.system.clock import SystemClock
from agent.text.config_hints import install_hint

_LIBRARIES = ("starlette", "uvicorn")


async def check_gateway(patient: Patient) -> Finding:
    """Nobody has to have it: without [gateway] nothing listens."""
    if patient.probe_gateway is None:
        return Finding.ok("not configured: [gateway] opens HTTP for platforms that push messages")
    if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
        return Finding.failed(f"{' and '.join(missing)} not installed: {install_hint('gateway')}")
    try:
        return Finding.ok(patient.probe_gateway())
    except ConfigRefused as err:
        return Finding.failed(str(err))


async def check_people(patient: Patient) -> Finding:
    path = patient.state_dir / "people.json"
    if path.exists() and not os.access(path, os.R_OK):
        return Finding.failed(f"cannot read {path}, so nobody has access: make the agent its owner")
    people = PeopleStore(path, SystemClock())
    everyone = await in_daemon_thread(people.everyone)
    if people.unread:
        return Finding.failed(
            f"cannot read {path} or set it aside, so nobody has access: {people.unread}"
        )
    has_platform = bool(patient.platforms)
    if has_platform and not any(one.rank is PersonRole.OWNER for one in everyone):
        return Finding.warning("no owner on any platform: `barnacle pair` makes a code")
    if not everyone:
        return Finding.ok("no people paired; only users of this machine have access")
    roles = Counter(one.role for one in everyone)
    return Finding.ok(", ".join(f"{count} {role}" for role, count in roles.items()))


# Within what a check is given, so that it is this sentence that is read
ANSWER_TIMEOUT_S = 8.0


def platform_checks(patient: Patient) -> Mapping[str, Check]:
    """By the names of the configured platforms."""
    return {name: _looking(probe) for name, probe in patient.platforms.items()}


def _looking(probe: Probe) -> Check:
    async def look(_patient: Patient) -> Finding:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return Finding.ok(await probe())
        except TimeoutError:
            return Finding.warning(
                f"no answer within {ANSWER_TIMEOUT_S:g} s: is the network up, and does a "
                "firewall block it? Messages are kept until the platform answers"
            )
        except ChannelUnavailable as err:
            return Finding.warning(f"{err}; messages are kept until the platform answers")
        except (ChannelError, ConfigRefused) as err:
            return Finding.failed(str(err))

    return look


async def check_chat(patient: Patient) -> Finding:
    if await in_daemon_thread(patient.takes_terminals):
        return Finding.ok("an agent is running; `barnacle chat` attaches to it")
    return Finding.ok("no agent is running; `barnacle chat` starts one for as long as it is open")


# Three polls of the longest kind: the agent itself begins anew then
DEAF_S = 90.0
_REMEDY = "run `sudo systemctl restart barnacle`, or stop the agent and start it"


async def check_channels(patient: Patient) -> Finding:
    if patient.hear is None:
        return Finding.ok(
            "no platform configured: `barnacle channel add NAME` adds one, `barnacle "
            "channel list` lists the names"
        )
    try:
        heard_s = await patient.hear()
    except ChannelUnavailable:
        return Finding.ok("no agent is running, so no platform is connected")
    except TimeoutError:
        return Finding.failed(f"the agent is running but does not answer: {_REMEDY}")
    status = read_status(patient.status_file)
    channels = () if status is None or not status.is_running else status.channels
    if troubles := [f"{one.name}: {one.trouble}" for one in channels if one.trouble]:
        return Finding.warning("; ".join(troubles))
    if deaf := [name for name, age_s in heard_s.items() if age_s > DEAF_S]:
        ages = ", ".join(f"{name} for {heard_s[name]:.0f} s" for name in deaf)
        return Finding.failed(f"no sign of life from {ages}: {_REMEDY}")
    told = ", ".join(f"{name} {age_s:.0f} s ago" for name, age_s in heard_s.items())
    return Finding.ok(f"connected: {told}" if told else _only_posted(patient))


def _only_posted(patient: Patient) -> str:
    """Return why nobody is connected though an agent is running."""
    names = ", ".join(patient.platforms)
    if not names:
        return "the agent is running, with no platform"
    return f"the agent is running; {names} posts to its gateway, so no connection is kept open"
