# What MicroPython freezes into a build of its own:
#   make -C ports/stm32 BOARD=NUCLEO_F411RE FROZEN_MANIFEST=<this file>
# boot.py, main.py, and board.py and description.py, which differ per board, stay in its file system.
package("node")  # noqa: F821  - freezing defines package and module
module("frame.py", base_path="../agent/link")  # noqa: F821  - as above
