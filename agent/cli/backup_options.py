"""Options of `barnacle backup`."""

import argparse

from agent.cli.options import Commands, add, text


def add_backup(commands: Commands) -> None:
    backup = add(
        commands,
        "backup",
        "Make one encrypted file of the whole device, check it, restore it",
        examples="  barnacle backup key                 make a key; keep the secret one off the "
        "device\n"
        "  sudo barnacle backup --to /media/usb --recipient age1...\n"
        "  sudo barnacle backup --to usb       asks for a passphrase\n"
        "  sudo barnacle backup --to - --recipient age1... | ssh me@laptop 'cat > device."
        "barnacle-backup'\n"
        "  barnacle backup show FILE\n"
        "  barnacle backup verify FILE\n"
        "  sudo systemctl stop barnacle; sudo barnacle backup restore FILE\n"
        "\n"
        "With sudo it holds everything: configuration, secrets, people, memories, readings, "
        "jobs, approvals,\n"
        "skills, files, the audit log, host name and Wi-Fi. Without, what this user may read; it "
        "says what\n"
        "is missing. The agent goes on working meanwhile. The table [backup] of the "
        "configuration makes one\n"
        "every night. Without Barnacle: `age -d FILE | tar x`.\n",
    )
    _add_making(backup)
    actions = backup.add_subparsers(dest="action", metavar="action")
    shown = add(actions, "show", "Show what a backup holds, without restoring it", json=True)
    _add_file(shown)
    verified = add(
        actions,
        "verify",
        "Restore a backup into a scratch folder, check every part, and remove it again",
        examples="  barnacle backup verify FILE\n  barnacle backup verify FILE --key key.txt\n",
        json=True,
    )
    _add_file(verified)
    verified.add_argument(
        "--scratch", type=text, default="", metavar="FOLDER", help="restore it below this folder"
    )
    _add_restore(actions)
    add(
        actions,
        "key",
        "Make a key: the public one encrypts backups, the secret one opens them",
        examples="  barnacle backup key > key.txt       then write the public key into [backup]\n"
        "\n"
        "Keep key.txt off the device: on paper, or on another computer. Without it nobody opens "
        "a backup.\n",
    )


def _add_making(backup: argparse.ArgumentParser) -> None:
    backup.add_argument(
        "--to",
        type=text,
        default="",
        metavar="PLACE",
        help="folder, file, `usb` for the one USB disk that is mounted, or - for the standard "
        "output (default: [backup] to)",
    )
    backup.add_argument(
        "--recipient",
        action="append",
        type=text,
        default=[],
        metavar="KEY",
        help="public key that opens it: age1..., ssh-ed25519 ... or ssh-rsa ...; again for several",
    )
    backup.add_argument(
        "--passphrase-file",
        type=text,
        default="",
        metavar="FILE",
        help="file with the passphrase as its one line",
    )


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=text, help="backup")
    _add_secrets(command)


def _add_secrets(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--key", type=text, default="", metavar="FILE", help="file of the secret key"
    )
    command.add_argument(
        "--passphrase-file",
        type=text,
        # The same word stands before the action, with the same meaning
        default=argparse.SUPPRESS,
        metavar="FILE",
        help="file with the passphrase as its one line",
    )


def _add_restore(actions: Commands) -> None:
    restored = add(
        actions,
        "restore",
        "Make this system the device of a backup; the agent has to be stopped",
        examples="  sudo systemctl stop barnacle\n"
        "  sudo barnacle backup restore FILE --key key.txt\n"
        "  sudo systemctl start barnacle\n"
        "  sudo barnacle backup restore --continue   after a power cut in the middle\n"
        "\n"
        "All or nothing. What was there is kept beside it, in a folder that is named at the end. "
        "What was\n"
        "open in the backup is not done again, and what you always allowed asks again until "
        "you confirm it.\n",
    )
    restored.add_argument("file", type=text, nargs="?", default="", help="backup")
    _add_secrets(restored)
    restored.add_argument("--yes", action="store_true", help="do not ask before it begins")
    restored.add_argument(
        "--continue", dest="go_on", action="store_true", help="finish a restore that was cut off"
    )
    confirmed = add(
        actions,
        "confirm",
        "After a restore: allow again what was always allowed in the backup, or forget it",
        examples="  barnacle backup confirm            lists it and asks\n"
        "  barnacle backup confirm --forget\n",
    )
    which = confirmed.add_mutually_exclusive_group()
    which.add_argument("--yes", action="store_true", help="do not ask")
    which.add_argument("--forget", action="store_true", help="forget all of it")
