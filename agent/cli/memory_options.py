"""Options of `barnacle memory`."""

import argparse

from agent.cli.options import Commands, add, day, limit, provenance, text

# Names only: nothing of the agent is loaded for its help
_BACKENDS = ("sqlite", "document", "markdown", "lucid", "postgres", "none")


def add_memory(commands: Commands) -> None:
    memory = add(
        commands,
        "memory",
        "Search, edit, export and migrate memories",
        examples="  barnacle memory list --category core\n"
        "  barnacle memory search 'my sister' --provenance owner\n"
        "  barnacle memory show sister\n  barnacle memory timeline boiler\n"
        "  barnacle memory pin allergy\n  barnacle memory forget --about boiler --dry-run\n"
        "  barnacle memory export --output memories.md\n"
        "  barnacle memory migrate --from sqlite --to postgres\n",
    )
    actions = memory.add_subparsers(dest="action", metavar="action", required=True)
    _filters(listed := add(actions, "list", "List memories, the newest first", json=True))
    _everyone(listed)
    limit(listed, 100)
    _filters(search := add(actions, "search", "Find memories by meaning and words", json=True))
    search.add_argument("query", type=text, help="what to look for, in any language")
    limit(search, 5)
    _person(
        show := add(
            actions, "show", "Show one memory with its story: since when, in which words", json=True
        )
    )
    show.add_argument("key", type=text, help="key; `barnacle memory list` shows the keys")
    _person(
        story := add(actions, "timeline", "Show everything about a thing, oldest first", json=True)
    )
    story.add_argument("thing", type=text, help="its name, such as boiler")
    _filters(export := add(actions, "export", "Write every memory as Markdown", json=True))
    _everyone(export)
    export.add_argument(
        "--output", metavar="FILE", help="write to this file instead of the terminal"
    )
    add(actions, "stats", "Show the number, kinds and size of the memories", json=True)
    _add_memory_changes(actions)
    add(actions, "rules", "Explain how memories are ranked", json=True)


def _add_memory_changes(actions: Commands) -> None:
    _add_forget(actions)
    for name, about in (
        ("pin", "Put memories into every prompt of their person"),
        ("unpin", "Recall pinned memories like all others again"),
    ):
        _person(pins := add(actions, name, about))
        pins.add_argument("keys", nargs="+", type=text, metavar="key", help="keys of memories")
    brought = add(
        actions,
        "import",
        "Import a snapshot of Barnacle or ZeroClaw, or OpenClaw's MEMORY.md",
        examples="  barnacle memory import MEMORY_SNAPSHOT.md\n"
        "  barnacle memory import notes/ --person owner --provenance owner --yes\n",
    )
    _person(brought)
    brought.add_argument("file", help="file, or folder with MEMORY.md and memory/")
    provenance(brought, "highest trust of what is imported, whatever the file says (default: web)")
    brought.add_argument(
        "--yes", action="store_true", help="do not ask for confirmation of owner and user"
    )
    add(
        actions,
        "check",
        "Compare texts, word index, vectors and snapshot, and mend what differs",
        json=True,
    )
    add(actions, "rebuild", "Rebuild the word index and the vectors from the memories")
    add(actions, "snapshot", "Write all memories to MEMORY_SNAPSHOT.md now")
    migrate = add(
        actions,
        "migrate",
        "Copy all memories from one backend to another; the old one stays as it is",
        examples="  barnacle memory migrate --from sqlite --to postgres\n",
        json=True,
    )
    for option, name, about in (
        ("--from", "source", "backend to read"),
        ("--to", "target", "backend to write"),
    ):
        migrate.add_argument(
            option, dest=name, choices=_BACKENDS, required=True, metavar="BACKEND",
            help=f"{about}: {', '.join(_BACKENDS)}",
        )  # fmt: skip


def _add_forget(actions: Commands) -> None:
    forget = add(
        actions,
        "forget",
        "Delete memories with all that says the same, and erase their words from the store",
        examples="  barnacle memory forget sister\n"
        "  barnacle memory forget --about boiler --dry-run\n"
        "  barnacle memory forget --since 2026-11-01 --until 2026-11-07\n"
        "  barnacle memory forget --person ben --everything\n"
        "  barnacle memory forget --source https://example.org/page --yes\n"
        "\nThe words go from the store, its word index, its log and its snapshots (sqlite and "
        "lucid;\nelsewhere the last three snapshots still have them). Conversations keep what was "
        "said in\nthem until `/new`, and backups keep everything.\n",
    )
    _person(forget)
    forget.add_argument("keys", nargs="*", type=text, metavar="key", help="keys to delete")
    forget.add_argument("--source", type=text, help="only what came from this page or file")
    forget.add_argument("--about", type=text, metavar="THING", help="only what names this thing")
    forget.add_argument("--topic", type=text, help="only what a search for this topic finds")
    forget.add_argument("--since", type=day, metavar="DAY", help="only what is from then or later")
    forget.add_argument("--until", type=day, metavar="DAY", help="only what is from then or before")
    forget.add_argument("--everything", action="store_true", help="all memories of the person")
    forget.add_argument(
        "--dry-run", action="store_true", help="show what would be deleted, and delete nothing"
    )
    forget.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _person(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--person",
        type=text,
        default="owner",
        help="person whose memories are used, by name or id (default: owner)",
    )


def _everyone(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--everyone", action="store_true", help="memories of all people, groups and devices"
    )


def _filters(command: argparse.ArgumentParser) -> None:
    _person(command)
    command.add_argument(
        "--category", type=text, help="only this category: core, daily, conversation"
    )
    provenance(command, "only memories from this source")
