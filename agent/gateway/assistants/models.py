"""Names of models: one for what a caller says, one for what they pass on from elsewhere."""

import re

from agent.access.roles import PersonRole
from agent.gateway.assistants.refusals import RequestRefused
from agent.text.printable import printable_line

PATH = "/v1/models"
# Words that the caller says are somebody else's: a letter, a page, a file
RELAY = "-relay"
_OWNER = "barnacle"
_STRANGE = re.compile(r"[^a-z0-9]+")


def names_for(agent: str, rank: PersonRole) -> tuple[str, str]:
    """Return the two models of a caller: for their own words, and for others'."""
    slug = _STRANGE.sub("-", agent.lower()).strip("-") or _OWNER
    own = f"{slug}-{min(rank, PersonRole.USER).role}"
    return own, own + RELAY


def described(name: str) -> dict[str, object]:
    """Return a model as it is listed; it has no date of making."""
    return {"id": name, "object": "model", "created": 0, "owned_by": _OWNER}


def listed(agent: str, rank: PersonRole) -> dict[str, object]:
    """Return the list of models."""
    return {"object": "list", "data": [described(one) for one in names_for(agent, rank)]}


def is_relay(model: str, agent: str, rank: PersonRole) -> bool:
    """Return true if the model stands for words of somebody else.

    Raises:
        RequestRefused: the caller has no such model.
    """
    known = names_for(agent, rank)
    if model not in known:
        told = printable_line(model, 60)
        raise RequestRefused(
            404,
            f"there is no model {told!r} for you; yours: {', '.join(known)}",
            param="model",
            code="model_not_found",
        )
    return model.endswith(RELAY)
