"""Spelling of arguments that are paths or URLs: one for the owner's rules and for what they cover.

The agent's own tools refuse what is written in any other way; a tool of another program takes it.
"""

from posixpath import normpath

from agent.security.web_addresses import spelled_alike

# Arguments that are paths, as `agent.tools.files` has them
_PATHS = frozenset({"path", "folder", "repository"})
_URL = "url"


def spelled_argument(name: str, told: str) -> str:
    """Return the argument of this name in the one spelling; what is neither stays as it is."""
    if name in _PATHS:
        plain = normpath(told)
        # Two slashes at the beginning are kept by POSIX, and are one to Linux
        return plain.removeprefix("/") if plain.startswith("//") else plain
    return spelled_alike(told) if name == _URL else told
