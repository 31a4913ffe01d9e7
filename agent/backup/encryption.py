"""Encryption of a backup to keys of age or SSH, or to a passphrase, as the `age` tool does it."""

from typing import Any

from msgspec import Struct

from agent.backup import passphrase as passphrases
from agent.backup.passphrase import HEADER_BYTES, Read, Write, filled, joined
from agent.errors import BackupRefused
from agent.text.config_hints import install_hint

# A passphrase is tried at another machine, by programs; shorter ones are found
LEAST_PASSPHRASE_CHARS = 12
# The first letters of a secret key
_AGE_KEY = "AGE-SECRET-KEY-"
_SSH = "-----BEGIN "


class Recipients(Struct, frozen=True):
    """Addressees of a new backup: a passphrase, or public keys (age1..., ssh-ed25519 ...)."""

    passphrase: str = ""
    keys: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse what nothing can be encrypted to.

        Raises:
            BackupRefused: it says what is wrong and what to do.
        """
        if self.passphrase and len(self.passphrase) < LEAST_PASSPHRASE_CHARS:
            raise BackupRefused(
                f"the passphrase has fewer than {LEAST_PASSPHRASE_CHARS} characters: whoever finds "
                "the backup could guess it; take several words"
            )
        if self.passphrase and self.keys:
            raise BackupRefused("a backup is for a passphrase or for keys, not for both")
        if not self.passphrase and not self.keys:
            raise BackupRefused(
                "nobody could open this backup: give a passphrase or a key (`barnacle backup key` "
                "makes one)"
            )
        for key in self.keys:
            _recipient(key)


class Keys(Struct, frozen=True):
    """Secrets that open a backup: a passphrase, or secret keys in the words of their files."""

    passphrase: str = ""
    identities: tuple[str, ...] = ()


class _Guarded:
    """Reader and writer for pyrage; keeps the error that pyrage puts into its own words."""

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write
        self.error: BaseException | None = None

    def read(self, size: int = -1) -> bytes:
        """Return some bytes."""
        try:
            return self._read(size)
        except BaseException as err:
            self.error = err
            raise

    def write(self, data: bytes) -> int:
        """Take all of them."""
        try:
            self._write(data)
        except BaseException as err:
            self.error = err
            raise
        return len(data)

    def flush(self) -> None:
        """Do nothing: whoever owns the file does it."""


def encrypt(read: Read, write: Write, recipients: Recipients) -> None:
    """Encrypt everything that `read` gives.

    Raises:
        BackupRefused: nothing can be encrypted to these recipients.
    """
    recipients.check()
    if recipients.passphrase:
        _check_installed()
        passphrases.encrypt(read, write, recipients.passphrase)
        return
    guarded, library = _Guarded(read, write), _library()
    try:
        library.encrypt_io(guarded, guarded, [_recipient(key) for key in recipients.keys])
    except (library.EncryptError, OSError) as err:
        raise guarded.error or err from None
    # The library writes its last piece when it is done, and tells no error of that
    if guarded.error is not None:
        raise guarded.error


def decrypt(read: Read, write: Write, keys: Keys) -> None:
    """Decrypt a backup piece by piece; what was changed is not written.

    Raises:
        BackupRefused: these keys do not open it, or it is damaged.
    """
    beginning = filled(read, HEADER_BYTES)
    read_all = joined(beginning, read)
    if passphrases.is_for_passphrase(beginning):
        if not keys.passphrase:
            raise BackupRefused("it was encrypted to a passphrase: give that, not a key")
        _check_installed()
        passphrases.decrypt(read_all, write, keys.passphrase)
        return
    if not beginning.startswith((b"age-encryption.org/", b"-----BEGIN AGE")):
        raise BackupRefused("it is no backup: it does not begin as a file of age does")
    if not keys.identities:
        raise BackupRefused("it was encrypted to a key: give the file of the secret key")
    guarded, library = _Guarded(read_all, write), _library()
    try:
        library.decrypt_io(guarded, guarded, [_identity(one) for one in keys.identities])
    except (library.DecryptError, OSError) as err:
        if guarded.error is not None:
            raise guarded.error from None
        if "No matching keys" in str(err):
            raise BackupRefused("this key does not open it: it is for another one") from err
        raise BackupRefused("the file ends too early or was changed") from err


def make_key() -> tuple[str, str]:
    """Return a new secret key and its public key."""
    identity = _library().x25519.Identity.generate()
    return str(identity), str(identity.to_public())


def identities_of(text: str) -> tuple[str, ...]:
    """Return the secret keys of a file: those of `age-keygen`, or one of SSH.

    Raises:
        BackupRefused: there is none.
    """
    if text.lstrip().startswith(_SSH):
        return (text,)
    found = tuple(line.strip() for line in text.splitlines() if line.strip().startswith(_AGE_KEY))
    if not found:
        raise BackupRefused(f"it holds no secret key: a line that begins with {_AGE_KEY}")
    return found


def _recipient(key: str) -> object:
    library = _library()
    kind = library.ssh if key.startswith("ssh-") else library.x25519
    try:
        return kind.Recipient.from_str(key)
    except library.RecipientError as err:
        raise BackupRefused(
            f"{key[:60]!r} is no public key: it begins with age1, ssh-ed25519 or ssh-rsa ({err})"
        ) from err


def _identity(text: str) -> object:
    library = _library()
    try:
        if text.startswith(_AGE_KEY):
            return library.x25519.Identity.from_str(text)
        return library.ssh.Identity.from_buffer(text.encode())
    except library.IdentityError as err:
        raise BackupRefused(f"the secret key cannot be read: {err}") from err


def _library() -> Any:
    try:
        import pyrage  # noqa: PLC0415 - an extra, loaded where used
    except ImportError as err:
        raise BackupRefused(f"backups need their libraries: {install_hint('backup')}") from err
    return pyrage


def _check_installed() -> None:
    try:
        import cryptography  # noqa: F401, PLC0415 - an extra, loaded where used
    except ImportError as err:
        raise BackupRefused(f"backups need their libraries: {install_hint('backup')}") from err
