"""`barnacle memory`: what the agent remembers, looked at and put in order by hand."""

import asyncio
import importlib
from argparse import Namespace

# Which module has which action; each is loaded when it is chosen
_MODULES = {
    "list": "memory_look",
    "search": "memory_look",
    "show": "memory_story",
    "timeline": "memory_story",
    "export": "memory_look",
    "stats": "memory_look",
    "forget": "memory_forget",
    "pin": "memory_change",
    "unpin": "memory_change",
    "import": "memory_change",
    "check": "memory_check",
    "rebuild": "memory_change",
    "snapshot": "memory_change",
    "migrate": "memory_migrate",
    "rules": "memory_rules",
}


def run(arguments: Namespace) -> int:
    module = importlib.import_module(f"agent.cli.{_MODULES[arguments.action]}")
    return int(asyncio.run(module.run(arguments)))
