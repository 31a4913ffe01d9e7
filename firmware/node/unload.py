# Code that is needed for moments is loaded for them and goes again: a board has little memory.

import sys


def unload(name):
    # It is gone when the last who uses it has gone
    package = sys.modules["node"]
    if sys.modules.pop("node." + name, None) is not None and hasattr(package, name):
        delattr(package, name)
