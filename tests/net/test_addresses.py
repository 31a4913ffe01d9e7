import asyncio
import socket
import ssl

import pytest

from agent.net.addresses import connect_error, is_this_machine

REFUSED = "Connection refused"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.7", "::1"])
def test_nobody_reads_along_on_the_machine_itself(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize("host", ["192.168.1.2", "localhost.example.org", ""])
def test_elsewhere_somebody_may(host: str) -> None:
    assert not is_this_machine(host)


async def test_a_port_that_nobody_listens_at_is_told_in_words() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="Connect call failed") as refused:
            await asyncio.open_connection("localhost", held.getsockname()[1])
    assert connect_error(refused.value) == REFUSED


@pytest.mark.parametrize(
    ("err", "said"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('192.0.2.1', 9)"), REFUSED),
        (OSError(101, "Connect call failed ('192.0.2.1', 9)"), "Network is unreachable"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 9)"), REFUSED),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION] no TLS there"), "[SSL: WRONG_VERSION] no TLS there"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_why_nobody_answers_is_told_without_numbers(err: OSError, said: str) -> None:
    assert connect_error(err) == said
