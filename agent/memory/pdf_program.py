"""Program that reads a PDF, in its own process because a PDF may attack its reader.

Takes the most pages and the most bytes, and reads the file; prints how many pages it has, and one
JSON string for each that is read.
Imports nothing of the agent: it is started by its path, under limits of memory and time.
"""

import json
import logging
import sys
import warnings
from collections.abc import Sequence

NOT_INSTALLED, UNREADABLE, TOO_LARGE = 3, 4, 5


def main(arguments: Sequence[str]) -> int:
    """Print the readable pages; return the exit status."""
    most_pages, most_bytes = int(arguments[0]), int(arguments[1])
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - an extra that may be missing
    except ImportError:
        return NOT_INSTALLED
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        left = most_bytes
        pages = PdfReader(sys.stdin.buffer).pages
        sys.stdout.write(f"{len(pages)}\n")
        for page in pages[:most_pages]:
            line = json.dumps(page.extract_text())
            left -= len(line)
            if left < 0:
                return TOO_LARGE
            sys.stdout.write(f"{line}\n")
    except MemoryError:
        return TOO_LARGE
    except Exception as err:  # noqa: BLE001 - a reader of hostile files raises whatever it likes
        sys.stderr.write(f"{type(err).__name__}: {err}"[:500])
        return UNREADABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
