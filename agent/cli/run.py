"""`barnacle run`: every configured channel, until it is stopped."""

from argparse import Namespace

from agent import serving
from agent.cli import surroundings
from agent.cli.loop import run_in_loop


def run(arguments: Namespace) -> int:
    settings, paths = surroundings.of(arguments)
    return run_in_loop(serving.run(settings, paths))
