"""Lines of an answer that tell what a job or a watch would have done, as its result has them."""

from collections.abc import Iterator, Mapping


def rehearsal_lines(result: Mapping[str, object]) -> Iterator[str]:
    """Yield the words, which are in the language of the order, and the marker of the drawing."""
    for key in ("rehearsal", "shown_by"):
        told = result.get(key)
        if isinstance(told, str) and told:
            yield told
