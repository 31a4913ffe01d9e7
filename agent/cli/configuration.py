"""Settings and paths of one command line."""

import os
from argparse import Namespace

from agent import settings
from agent.settings import Paths, Settings


def load(arguments: Namespace) -> tuple[Settings, Paths]:
    """Return the settings and paths that options and environment choose.

    Raises:
        ConfigRefused: the file is wrong; one line for each thing.
    """
    # The options are absent from the namespace unless they were given
    return settings.surroundings(
        os.environ, getattr(arguments, "config", None), getattr(arguments, "state_dir", None)
    )
