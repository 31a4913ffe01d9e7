"""Base64 as Matrix writes it: without padding."""

import base64
import binascii


def unpadded(content: bytes) -> str:
    return base64.b64encode(content).decode().rstrip("=")


def unpadded_url(content: bytes) -> str:
    """With the signs that an address may hold."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def unpadded_bytes(text: str) -> bytes:
    """Either form, with or without padding.

    Raises:
        ValueError: it is none.
    """
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as err:
        raise ValueError("no base64") from err
