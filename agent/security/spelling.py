"""Spelling of arguments that are paths or URLs: one for the owner's rules and for what they cover.

The agent's own tools refuse what is written in any other way; a tool of another program takes it.
"""

from posixpath import normpath

from agent.security.web_addresses import spelled_alike

# Arguments that are paths, as `agent.tools.files` has them
_PATHS = frozenset({"path", "folder", "repository"})
# How other programs' names of paths end, such as `repo_path`, `outputDir`, `destination`
_PATH_ENDS = (
    *("path", "paths", "file", "filename", "folder", "dir", "directory", "root", "cwd", "repo"),
    *("repository", "source", "destination", "src", "dst", "dest"),
)
# The same for URLs, such as `page_url`
_URL_ENDS = ("url", "uri", "href", "link")


def spelled_argument(name: str, told: str) -> str:
    """Return the argument of this name in the one spelling; what is neither stays as it is."""
    # A list of them is called so in the plural
    known = name.lower().removesuffix("s")
    is_named_path = known.endswith(_PATH_ENDS)
    if known.endswith(_URL_ENDS) or (is_named_path and "://" in told):
        return spelled_alike(told)
    if name in _PATHS or (is_named_path and "/" in told):
        plain = normpath(told)
        # Two slashes at the beginning are kept by POSIX, and are one to Linux
        return plain.removeprefix("/") if plain.startswith("//") else plain
    return told
