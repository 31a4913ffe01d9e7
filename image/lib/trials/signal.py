"""A card with signal-cli: it starts beside the agent, and messages go both ways over Signal.

Signal's servers are out of reach, so signal-cli has no account here: the agent's daemon is another
one, outside, which has. What signal-cli takes is measured as it waits for its account.
"""

import re

from image.lib.emulated.bench import READY, START_S, Bench
from image.lib.emulated.guest import PLACES, Conditions
from image.lib.signal_parts import HOME
from image.lib.trials.expectation import NotTried, expect

# The setup asks for as much
_MEMORY_MIB = 1024
_UNIT = "barnacle-signal.service"
_CONFIG = f"""
[channels.signal]
base_url = "http://{PLACES["signal"]}"
"""
_ADDRESS = "http://127.0.0.1:8080/api/v1"
# The card has no curl
_ASK = (
    "/opt/barnacle/bin/python -I -c 'from urllib.request import Request, urlopen; "
    f'head = {{"content-type": "application/json"}}; '
    'call = b"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\"METHOD\\"}"; '
    f'asked = Request("{_ADDRESS}/rpc", call, head); '
    "print(urlopen(asked, timeout=60).read().decode())' 2>/dev/null"
)
_VERSION = re.compile(r'"version":"([^"]+)"')
# A Java machine, emulated; the unit itself has no limit
_READY_S = 600.0


def run(bench: Bench, amount: int) -> str:
    del amount
    if not bench.running().run(f"ls /{HOME}/bin/signal-cli 2>/dev/null"):
        raise NotTried("signal-cli is not on this card: image/build --with-signal")
    try:
        return _try(bench)
    finally:
        # Without its messenger no other trial can use it
        bench.spend_card()


def _try(bench: Bench) -> str:
    bench.put_blank_card()
    bench.card.write("barnacle.toml", (bench.config() + _CONFIG).encode())
    bench.start(Conditions(memory_mib=_MEMORY_MIB))
    ready_s = _until_it_answers(bench)
    shell, outside = bench.shell, bench.outside
    version = _VERSION.search(_ask(bench, "version"))
    expect(version, "signal-cli does not say its version")
    assert version is not None
    accounts = _ask(bench, "listAccounts")
    expect('"result":[]' in accounts, f"it has accounts: {accounts}")
    outside.ask_over_signal(f"/pair {bench.pairing_code()}", "wner")
    bench.until_status(READY)
    acted_s = outside.ask_over_signal("turn on the led", "The led is on now.")
    expect(bench.board.value("led") == 1, "the led is off")
    outside.ask_over_signal("turn off the led", "The led is off now.")
    group_mib = int(shell.run(f"systemctl show -P MemoryCurrent {_UNIT}")) / 2**20
    pid = shell.run(f"systemctl show -P MainPID {_UNIT}")
    rss_mib = int(shell.run(f"awk '/^VmRSS/ {{print $2}}' /proc/{pid}/status")) / 1024
    _, with_mib = shell.memory_mib()
    shell.run(f"systemctl stop {_UNIT}")
    more_mib = with_mib - shell.memory_mib()[1]
    shell.send("poweroff")
    bench.guest.wait_for_end(START_S)
    return (
        f"signal-cli {version[1]} answers {ready_s:.0f} s after its start, {rss_mib:.0f} MiB "
        f"resident, its group {group_mib:.0f}, {more_mib} more in use; led on {acted_s:.1f} s "
        "after a message over Signal"
    )


def _until_it_answers(bench: Bench) -> float:
    """Return the time from the unit's start to its first answer."""
    shell = bench.shell
    bench.until(lambda: _ask(bench, "version") != "", "signal-cli does not answer", _READY_S)
    state = shell.run(f"systemctl show -P SubState -P NRestarts {_UNIT}").split()
    expect(sorted(state) == ["0", "running"], f"{_UNIT} is {state}")
    begun_s = int(shell.run(f"systemctl show -P ExecMainStartTimestampMonotonic {_UNIT}")) / 1e6
    return float(shell.run("cut -d' ' -f1 /proc/uptime")) - begun_s


def _ask(bench: Bench, method: str) -> str:
    return bench.shell.run(_ASK.replace("METHOD", method))
