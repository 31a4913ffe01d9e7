"""The card has died: a new one with a backup on its first partition becomes the same device."""

import re

from agent.schedule.trust import SYNCHRONIZED
from image.lib.emulated.bench import START_S, Bench
from image.lib.trials.expectation import expect

_BACKUP = "trial.barnacle-backup"
_FIRST_PARTITION = "/boot/firmware"
# Databases and all are packed and encrypted, emulated
_PACK_S = 300.0
# Promised to whoever has a Pi, which is some ten times as fast
_MOST_S = 300.0
_THING = "barometer"
_RESTORED = "I was restored from the backup"


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    outside.ask(f"remember that the spare key hangs behind the {_THING}", "I will remember that.")
    outside.ask("turn on the led", "The led is on now.")
    key = bench.shell.run("barnacle backup key")
    secret, public = _part(r"AGE-SECRET-KEY-\w+", key), _part(r"age1\w+", key)
    content = _backup(bench, public)
    outside.ask("turn off the led", "The led is off now.")
    acts, since = len(bench.board.changes("led")), len(outside.shown())
    bench.shell.send("poweroff")
    bench.guest.wait_for_end(START_S)
    settings = f'[restore]\nkey = "{secret}"\n'.encode()
    bench.put_restored_card({_BACKUP: content, "barnacle.toml": settings})
    bench.start()
    # No time server is there; without one it waits ten minutes before it takes a moment for old
    bench.shell.run(f"mkdir -p {SYNCHRONIZED.parent}; touch {SYNCHRONIZED}")
    outside.wait_for(_RESTORED, since)
    took_s = bench.guest.age_s
    expect(
        took_s <= _MOST_S, f"restored {took_s:.0f} s after power, and {_MOST_S:.0f} s is allowed"
    )
    wrong = bench.card.read("barnacle-errors.txt").decode()
    expect(not wrong, f"the restore complains: {wrong}")
    _look(bench)
    again = len(bench.board.changes("led")) - acts
    expect(again == 0, f"what was done after the backup was done again: {again} changes of the led")
    asked_s = outside.ask("turn on the led", "The led is on now.")
    outside.ask("turn off the led", "The led is off now.")
    expect(not bench.card.holds(secret.encode()), "the key of the backup can be read on the card")
    return (
        f"{len(content) / 1e6:.1f} MB restored, told {took_s:.0f} s after power; owner, memory "
        f"and name are there, nothing was done again; led on after {asked_s:.1f} s"
    )


def _backup(bench: Bench, public: str) -> bytes:
    """Make one as its owner does, onto what a PC can read."""
    shell = bench.shell
    shell.run(f"mount -o remount,rw {_FIRST_PARTITION}")
    made = f"barnacle backup --to {_FIRST_PARTITION} --recipient {public} 2>&1 | tail -5"
    said = shell.run(made, _PACK_S)
    shell.run(f"cd {_FIRST_PARTITION}; mv *.barnacle-backup {_BACKUP}; sync; cd /")
    shell.run(f"mount -o remount,ro {_FIRST_PARTITION}")
    content = bench.card.read(_BACKUP)
    expect(content.startswith(b"age-encryption.org"), f"there is no backup: {said}")
    return content


def _look(bench: Bench) -> None:
    shell = bench.shell
    name = shell.run("hostname")
    expect(name == "greenhouse", f"it is called {name}")
    people = shell.run("barnacle people --json")
    expect("owner" in people, f"nobody owns it: {people}")
    remembered = shell.run("barnacle memory list --json")
    expect(_THING in remembered, f"it has forgotten: {remembered[-300:]}")


def _part(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    expect(found, f"no key was made: {text}")
    assert found is not None
    return found[0]
