"""Tool that finds workspace files by their names."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from agent.errors import PathRefused
from agent.messages import Effect, ToolResult
from agent.passage import Passage, Provenance, own, read
from agent.security.paths import HERE, MAX_PARTS, walk_beneath
from agent.security.shares import Disclosure
from agent.tools.base import Tool, ToolContext
from agent.tools.files import (
    PathArguments,
    RelativePath,
    in_thread,
    is_result,
    plain,
    trust_of_paths,
)

# A model looks through no more than this
MAX_PATHS = 500
# A few seconds of a slow card
MAX_LOOKED_AT = 20_000
# At any depth, none included
_ANY_DEPTH = "**"
# A class of characters; a bracket that comes first in it is one of them
_CLASS = re.compile(r"\[(\^?)(!?\]?[^\]/]*)\]")

Pattern = Annotated[str, Meta(min_length=1, max_length=256)]


class GlobArguments(PathArguments, frozen=True):
    """Pattern for the paths, and the folder to search."""

    pattern: Annotated[Pattern, Meta(description="such as *.md, or **/*.md for every depth")]
    path: RelativePath = HERE


class GlobSearchTool(Tool[GlobArguments]):
    """Lists files whose path fits a pattern."""

    reads = Provenance.TOOL
    name = "glob_search"
    description = own("Find files in the workspace by a pattern of their names.")
    effect = Effect.READ
    arguments_type = GlobArguments

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def shows(self, arguments: GlobArguments) -> Disclosure:
        return Disclosure(trees=(plain(arguments.path) or HERE,))

    async def execute(self, arguments: GlobArguments, context: ToolContext) -> ToolResult:
        def find() -> Passage:
            folder = plain(arguments.path) or HERE
            pattern = parts_of_pattern(arguments.pattern)
            paths: list[str] = []
            looked_at = 0
            for found in walk_beneath(self._workspace, folder, MAX_LOOKED_AT):
                looked_at += 1
                is_ours = found.entry.is_folder or is_result(found.relative)
                if not is_ours and fits(pattern, beneath(found.relative, folder)):
                    paths.append(found.relative)
                if len(paths) > MAX_PATHS:
                    break
            more = len(paths) > MAX_PATHS or looked_at == MAX_LOOKED_AT
            return read({"paths": paths[:MAX_PATHS], "more": more}, trust_of_paths(paths))

        return await in_thread(find, self.reads)


def beneath(relative: str, folder: str) -> Sequence[str]:
    """Return the parts of a path relative to a folder above it."""
    return (relative if folder == HERE else relative[len(folder) + 1 :]).split("/")


def parts_of_pattern(pattern: str) -> tuple[str, ...]:
    """Return the pattern of each path component.

    Raises:
        PathRefused: no path can fit it.
    """
    parts = tuple(_CLASS.sub(_class_of, pattern.removeprefix("./")).split("/"))
    if len(parts) > MAX_PARTS or not all(parts) or ".." in parts:
        raise PathRefused(
            "this pattern matches no workspace path: write it like **/*.md, without .. and first /"
        )
    return parts


def _class_of(found: re.Match[str]) -> str:
    """Return a class as fnmatch knows it, which negates by ! alone."""
    return f"[!{found[2]}]" if found[1] else found[0]


def fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Return true if a path matches; the work is bounded by the product of both lengths."""
    # How much of the pattern may be behind us, in every way at once
    places = _passed(pattern, {0})
    for part in parts:
        ahead = {place for place in places if place < len(pattern)}
        stayed = {place for place in ahead if pattern[place] == _ANY_DEPTH}
        moved = {place + 1 for place in ahead - stayed if fnmatchcase(part, pattern[place])}
        places = _passed(pattern, stayed | moved)
    return len(pattern) in places


def _passed(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Return the places, and those reached by skipping an any-depth part."""
    reached = set(places)
    for place in range(len(pattern)):
        if place in reached and pattern[place] == _ANY_DEPTH:
            reached.add(place + 1)
    return reached
