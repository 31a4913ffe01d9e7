"""Agents and accounts of one installation of OpenClaw: the one that answers where nothing is bound.

This agent is one, with one account on each platform; the others are named.
"""

from collections.abc import Mapping
from typing import Any

from agent.provision.foreign_jobs import Left, table_in

# Names that it gives to whatever has none
_USUAL_AGENT, _USUAL_ACCOUNT = "main", "default"


def settings_of_agent(config: Mapping[str, Any], left: list[Left]) -> dict[str, Any]:
    """Return `workspace` and `model` of its first agent; note the others."""
    usual = table_in(table_in(config, "agents"), "defaults") or table_in(config, "agent")
    listed = table_in(config, "agents").get("list")
    agents = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if not agents:
        return usual
    chosen = min(agents, key=_order)
    others = (one for one in agents if one is not chosen)
    left += [Left(f"agent {one.get('id')}", "there is one agent here") for one in others]
    own = {key: chosen[key] for key in ("workspace", "model") if chosen.get(key)}
    return {**usual, **own}


def _order(agent: Mapping[str, Any]) -> tuple[bool, bool]:
    return not agent.get("default"), agent.get("id") != _USUAL_AGENT


def settings_of_account(name: str, table: object, left: list[Left]) -> object:
    """Return a platform's settings with those of its usual account; note the other accounts."""
    accounts = table_in(table, "accounts") if isinstance(table, dict) else {}
    accounts = {key: one for key, one in accounts.items() if isinstance(one, dict)}
    if not isinstance(table, dict) or not accounts:
        return table
    first = str(table.get("defaultAccount") or _USUAL_ACCOUNT)
    chosen = first if first in accounts else next(iter(accounts))
    why = "there is one account of a platform here"
    left += [Left(f"account {key} of {name}", why) for key in accounts if key != chosen]
    return {**table, **accounts[chosen]}
