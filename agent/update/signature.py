"""Signature of an update: Ed25519, verified by the system's openssl against keys of the image.

Debian's `ca-certificates` brings the program, so that no library is loaded for it. Without a key,
and without the program, nothing is believed.
"""

import subprocess
import tempfile
from pathlib import Path

from agent.errors import UpdateRefused
from agent.programs import run_program

# Some milliseconds of work; a card that is being written may keep it from being loaded
_OPENSSL_TIMEOUT_S = 60.0


def check_signature(signed: bytes, signature: bytes, keys: Path) -> None:
    """Come back only if one of the keys in the folder has signed it.

    Raises:
        UpdateRefused: none has.
    """
    known = sorted(keys.glob("*.pem"))
    if not known:
        raise UpdateRefused(
            "this system was built without a key and takes no updates: "
            "build an image with --sign-key and write it to the card"
        )
    with tempfile.TemporaryDirectory(prefix="barnacle-update-") as folder:
        content, proof = Path(folder, "signed"), Path(folder, "signature")
        content.write_bytes(signed)
        proof.write_bytes(signature)
        if not any(_verifies(key, content, proof) for key in known):
            raise UpdateRefused("the update is not signed by a key that this system knows")


def _verifies(key: Path, content: Path, proof: Path) -> bool:
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(key), "-rawin"]
    command += ["-in", str(content), "-sigfile", str(proof)]
    try:
        done = run_program(command, _OPENSSL_TIMEOUT_S)
    except FileNotFoundError as err:
        raise UpdateRefused(
            "openssl is not installed, so that no signature can be checked: apt-get install openssl"
        ) from err
    except subprocess.TimeoutExpired as err:
        raise UpdateRefused("openssl did not answer: try again") from err
    return done.returncode == 0
