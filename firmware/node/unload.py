# Code that is needed for moments is loaded for them and goes again: a board has little memory.

import sys

# While the firmware runs: what is left over goes after so much, whatever happens, and a large piece
# stays free. A request takes about 200.
COLLECT_EVERY_BYTES = 4_096


def unload(name):
    # It is gone when the last who uses it has gone
    package = sys.modules["node"]
    if sys.modules.pop("node." + name, None) is not None and hasattr(package, name):
        delattr(package, name)
