"""Text that a board sent, made fit to be shown, logged and told to a model."""


def safe_label(raw: str, limit: int) -> str:
    """Only what can be printed, on one line, and at most `limit` characters of it."""
    spaced = " ".join(raw[: 4 * limit].split())
    return "".join(filter(str.isprintable, spaced))[:limit].strip()
