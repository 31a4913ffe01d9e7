# What MicroPython freezes into a build of its own:
#   make -C ports/stm32 BOARD=NUCLEO_F411RE FROZEN_MANIFEST=<this file>
# boot.py and main.py stay in the file system, and so do those that are made: board.py and
# description.py, which differ from board to board, and kinds.py.
package("node")  # noqa: F821  - freezing defines package and module
module("slots.py")  # noqa: F821  - as above
module("frame.py", base_path="../agent/link")  # noqa: F821  - as above
