import pytest

from agent.errors import ChannelRefused
from tests.channels.signal.conftest import Make
from tests.fakes.signal_daemon import ACCOUNT_ID, NUMBER, SignalDaemon
from tests.fakes.signal_events import MENTIONED, in_group, mention

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
