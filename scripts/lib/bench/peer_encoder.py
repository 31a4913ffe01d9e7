"""Runs under an interpreter that has sentence-transformers: encodes when told to, on one thread.

A line with a number of tokens comes in, the milliseconds of one `encode` of them go out. It
imports nothing of this project, whose packages that interpreter need not have.
"""

import os
import sys
import time

# The weights come from a folder; nothing is looked up anywhere
os.environ["HF_HUB_OFFLINE"] = "1"


def main(model: str) -> None:
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415 - of the other interpreter
    from sentence_transformers import (  # type: ignore[import-not-found]  # noqa: PLC0415 - as above
        SentenceTransformer,
    )

    torch.set_num_threads(1)
    encoder = SentenceTransformer(model, device="cpu")
    print("ready", flush=True)
    for line in sys.stdin:
        # Two of them are the marks around the words
        text = "lamp " * (int(line) - 2)
        began_s = time.perf_counter()
        encoder.encode([text], show_progress_bar=False)
        print((time.perf_counter() - began_s) * 1e3, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
