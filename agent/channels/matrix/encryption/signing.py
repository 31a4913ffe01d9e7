"""Signatures over JSON, as Matrix makes them: who signed is named, what is unsigned is left out."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from vodozemac import Ed25519PublicKey, Ed25519Signature

_UNSIGNED = frozenset({"signatures", "unsigned"})
Sign = Callable[[bytes], Ed25519Signature]


def canonical(told: Mapping[str, Any]) -> bytes:
    """The one way in which all write the same JSON.

    Raises:
        ValueError: half a character is in it.
    """
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode()


def signed(told: Mapping[str, Any], user: str, key_id: str, sign: Sign) -> dict[str, Any]:
    """The same with one signature more.

    Args:
        key_id: without the algorithm: a device, or a public key.
    """
    signature = sign(canonical(_bare(told))).to_base64()
    before: dict[str, dict[str, str]] = told.get("signatures") or {}
    ours = {**before.get(user, {}), f"ed25519:{key_id}": signature}
    return {**told, "signatures": {**before, user: ours}}


def is_signed(told: Mapping[str, Any], user: str, key_id: str, public: str) -> bool:
    """Return true if that key's owner has signed it; nothing in it is trusted before."""
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
