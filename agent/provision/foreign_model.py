"""Model service of another agent as a table of ours: its name, model, address and key."""

import re
from typing import Any

from msgspec import Struct

from agent.providers import catalog
from agent.providers.catalog import WireName
from agent.provision.foreign_jobs import Left

# ZeroClaw's mark of a secret that only its own key opens
_ENCRYPTED = ("enc2:", "enc:")
# OpenClaw's and nanobot's name of a variable that has the value
VARIABLE = re.compile(r"\$\{([^}]*)\}")
_ELSEWHERE = "it is kept elsewhere: write it with setup"
# Of OpenClaw, what an address speaks; the others leave that to the service's name
_WIRES = {
    "openai-completions": WireName.COMPLETIONS,
    "openai-responses": WireName.RESPONSES,
    "anthropic-messages": WireName.ANTHROPIC,
    "google-generative-ai": WireName.GEMINI,
    "ollama": WireName.OLLAMA,
}
# Of ours, what speaks so at any address that is named beside it
_ANYWHERE = {
    WireName.COMPLETIONS: "custom:",
    WireName.RESPONSES: "openai-responses",
    WireName.ANTHROPIC: "anthropic-custom:",
    WireName.GEMINI: "gemini",
    WireName.OLLAMA: "ollama",
}


class AskedModel(Struct, frozen=True):
    """A model service as the other agent asks it.

    Args:
        url: its address, where that is not the usual one.
        api: OpenClaw's name of what is spoken there.
    """

    kind: str
    model: str
    url: str = ""
    api: str = ""


def provider_table(asked: AskedModel, key: object, left: list[Left]) -> dict[str, Any]:
    """Return our table, with the key if it can be read; note what is left."""
    if not asked.kind:
        return {}
    if VARIABLE.search(asked.url):
        # Its key is not for the maker's own address
        left.append(Left("model", f"its address {_ELSEWHERE.removeprefix('it ')}"))
        return {}
    kind, url = _place(asked)
    found: dict[str, Any] = {"kind": kind}
    if asked.model:
        found["model"] = asked.model
    if url:
        found["base_url"] = url
    if not key:
        left.append(Left("key of the model service", "it is not in this file"))
    elif value := readable(key, "key of the model service", left):
        found["api_key"] = value
    return found


def _place(asked: AskedModel) -> tuple[str, str]:
    """Return our name of the service, and its address where that is not in the name."""
    kind, url = asked.kind, asked.url.rstrip("/")
    if kind.startswith(_ANYWHERE[WireName.ANTHROPIC]):
        return _with_version(kind), url
    if not url:
        return kind, url
    try:
        known = catalog.find(kind).wire
    except ValueError:
        known = None
    # Ollama's own interface is beside the one that is named, and knows more of the machine
    wire = known if known is WireName.OLLAMA else _WIRES.get(asked.api, known)
    if wire is WireName.OLLAMA:
        url = url.removesuffix("/v1")
    elif wire is WireName.ANTHROPIC:
        url = _with_version(url)
    if wire is known and known is not None:
        return kind, url
    anywhere = _ANYWHERE[wire or WireName.COMPLETIONS]
    return (f"{anywhere}{url}", "") if anywhere.endswith(":") else (anywhere, url)


def _with_version(url: str) -> str:
    """Return the address with the version, which the others add by themselves to Anthropic's."""
    return url if url.rstrip("/").endswith("/v1") else f"{url.rstrip('/')}/v1"


def readable(told: object, what: str, left: list[Left]) -> str:
    """Return a value that stands in the file; note one that is not readable there."""
    # Of OpenClaw, a table may say where a secret is
    if isinstance(told, dict) or (isinstance(told, str) and VARIABLE.search(told)):
        left.append(Left(what, _ELSEWHERE))
    elif isinstance(told, str) and told.startswith(_ENCRYPTED):
        left.append(Left(what, "it is encrypted: write it with setup"))
    elif isinstance(told, str):
        return told
    return ""
