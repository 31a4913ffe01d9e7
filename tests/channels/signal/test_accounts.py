import asyncio

import pytest

from agent.channels.signal import client
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.messages import Outbound
from tests.channels.signal.conftest import Make
from tests.fakes.signal_daemon import ACCOUNT_ID, NUMBER, SignalDaemon
from tests.fakes.signal_events import ANNA, MENTIONED, SENT_MS, in_group, mention

OTHER = "+4930123456"


@pytest.mark.parametrize(
    ("accounts", "wanted", "used"),
    [
        ([{"number": NUMBER}], "", NUMBER),
        ([{"number": NUMBER}], NUMBER, NUMBER),
        ([{"number": NUMBER}, {"number": OTHER}], OTHER, OTHER),
        ([{"number": None, "aci": ACCOUNT_ID}], "", ACCOUNT_ID),
        ([{"number": NUMBER, "aci": ACCOUNT_ID}], ACCOUNT_ID.upper(), ACCOUNT_ID.upper()),
    ],
)
async def test_the_account_is_found_or_named(
    signal: Make, accounts: list[dict[str, object]], wanted: str, used: str
) -> None:
    daemon = SignalDaemon(accounts=accounts)
    async with signal(daemon, account=wanted, is_listening=False) as it:
        listening = it.listen()
        await it.daemon.until_listened()
        assert it.daemon.streams_asked[0][0] == used
        listening.cancel()


async def test_a_daemon_of_one_account_is_asked_for_no_list(signal: Make) -> None:
    async with signal(SignalDaemon(is_single=True)) as it:
        it.daemon.tell(in_group(f"{MENTIONED} you there", mentions=[mention(0)]))
        await it.heard.until(1)
        assert it.daemon.streams_asked == [("", "")]
    assert it.heard.texts == ["you there"]


@pytest.mark.parametrize(
    ("accounts", "wanted", "clue"),
    [
        ([], "", "barnacle signal link"),
        ([{"number": NUMBER}, {"number": OTHER}], "", "set channels.signal.account"),
        ([{"number": NUMBER}], OTHER, "does not know the account"),
    ],
)
async def test_an_account_that_is_not_there_is_a_persons_to_mend(
    signal: Make, accounts: list[dict[str, object]], wanted: str, clue: str
) -> None:
    daemon = SignalDaemon(accounts=accounts)
    async with signal(daemon, account=wanted, is_listening=False) as it:
        with pytest.raises(ChannelRefused, match=clue):
            await it.listen()


async def test_what_is_sent_before_the_account_is_known_waits_for_it(signal: Make) -> None:
    async with signal(is_listening=False) as it:
        answer = Outbound(1, "signal", ANNA, "21 °C", f"{ANNA}:{SENT_MS}")
        sent = asyncio.create_task(it.channel.send(answer))
        it.listen()
        await sent
        assert [shown.text for shown in it.daemon.shown(ANNA)] == ["21 °C"]


async def test_a_daemon_that_does_not_tell_its_account_is_no_refusal(
    signal: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ACCOUNT_TIMEOUT_S", 0.01)
    async with signal(is_listening=False) as it:
        with pytest.raises(ChannelUnavailable, match="has not told its account"):
            await it.channel.send(Outbound(1, "signal", ANNA, "21 °C", f"{ANNA}:{SENT_MS}"))
