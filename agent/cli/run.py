"""`barnacle run`: every configured channel, until it is stopped."""

import os
import resource
from argparse import Namespace

from agent.app import run as app_run
from agent.cli import configuration
from agent.cli.loop import run_in_loop
from agent.cli.service import take_key


def run(arguments: Namespace) -> int:
    take_key(os.environ)
    # Also where no unit says so: keys and conversations would lie in it, whoever starts what
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    settings, paths = configuration.load_own(arguments)
    return run_in_loop(app_run.run(settings, paths))
