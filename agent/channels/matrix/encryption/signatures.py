"""Signatures over JSON, as Matrix makes them."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from vodozemac import Ed25519PublicKey, Ed25519Signature


def unpadded(content: bytes) -> str:
    return base64.b64encode(content).decode().rstrip("=")


def unpadded_url(content: bytes) -> str:
    """Encode with the URL-safe alphabet."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def unpadded_bytes(text: str) -> bytes:
    """Decode either alphabet, with or without padding.

    Raises:
        ValueError: it is none.
    """
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as err:
        raise ValueError("no base64") from err


_UNSIGNED = frozenset({"signatures", "unsigned"})
Sign = Callable[[bytes], Ed25519Signature]


def canonical(told: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON.

    Raises:
        ValueError: half a character is in it.
    """
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode()


def signed(told: Mapping[str, Any], user: str, key_id: str, sign: Sign) -> dict[str, Any]:
    """Return the object with one more signature.

    Args:
        key_id: without the algorithm: a device, or a public key.
    """
    signature = sign(canonical(_bare(told))).to_base64()
    before: dict[str, dict[str, str]] = told.get("signatures") or {}
    ours = {**before.get(user, {}), f"ed25519:{key_id}": signature}
    return {**told, "signatures": {**before, user: ours}}


def is_signed(told: Mapping[str, Any], user: str, key_id: str, public: str) -> bool:
    """Return true if that key's owner signed it; nothing in it is trusted before."""
    by_user = told.get("signatures")
    by_key = by_user.get(user) if isinstance(by_user, dict) else None
    signature = by_key.get(f"ed25519:{key_id}") if isinstance(by_key, dict) else None
    if not isinstance(signature, str):
        return False
    try:
        key = Ed25519PublicKey.from_base64(public)
        key.verify_signature(canonical(_bare(told)), Ed25519Signature.from_base64(signature))
    except (ValueError, RecursionError):
        return False
    return True


def _bare(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name not in _UNSIGNED}
