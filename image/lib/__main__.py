"""Starts one of the pieces in this folder: `python image/lib NAME [ARGUMENT ...]`."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # The checkout, so that the pieces can import each other under their full name
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    piece = importlib.import_module(f"image.lib.{sys.argv.pop(1)}")
    sys.exit(piece.main(sys.argv[1:]))
