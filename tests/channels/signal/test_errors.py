import pytest

from agent.channels.signal import errors
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from tests.channels.signal.conftest import Make
from tests.fakes.signal_daemon import NUMBER
from tests.fakes.signal_faults import Fails, Status

WHO = "+4917099999999"


def failed(kind: str, **more: object) -> dict[str, object]:
    return {"recipientAddress": {"number": WHO, "uuid": None}, "type": kind, **more}


@pytest.mark.parametrize(
    ("fault", "kind", "clues"),
    [
        (Fails(-1, "User error"), MessageRefused, ["User error"]),
        (
            Fails(-1, results=(failed("UNREGISTERED_FAILURE"),)),
            MessageRefused,
            [WHO, "not on Signal any more"],
        ),
        (Fails(-1, results=(failed("NETWORK_FAILURE"),)), ChannelUnavailable, ["servers"]),
        (Fails(-1, results=(failed("SOMETHING_NEW"),)), MessageRefused, ["SOMETHING_NEW"]),
        (Fails(-1, results=({"type": None},)), MessageRefused, ["this person"]),
        (Fails(-3, "timeout"), ChannelUnavailable, ["timeout"]),
        (Fails(-4, results=(failed("IDENTITY_FAILURE"),)), MessageRefused, [WHO, "trust"]),
        (Fails(-4), MessageRefused, ["safety number of this person"]),
        (Fails(-5), ChannelUnavailable, ["too much"]),
        (Fails(-32600, "odd"), MessageRefused, ["odd"]),
        (Fails(-32601, "Method not implemented"), ChannelRefused, ["up to date"]),
        (
            Fails(-32602, "Specified account does not exist"),
            ChannelRefused,
            ["barnacle signal link", "channels.signal.account"],
        ),
        (Fails(-32602, "Unknown field"), MessageRefused, ["Unknown field"]),
        (Fails(-32603, "java.io.IOException"), ChannelUnavailable, ["IOException"]),
        (
            Fails(-32603, "Failed to send message: x (AttachmentInvalidException)"),
            MessageRefused,
            ["Attachment"],
        ),
        (Fails(7, "\x1b[2J\nlong" * 100), MessageRefused, ["long"]),
        (Status(404), ChannelRefused, ["no signal-cli daemon"]),
        (Status(415), ChannelRefused, ["no signal-cli daemon"]),
        (Status(421), ChannelRefused, ["base_url"]),
        (Status(503), ChannelUnavailable, ["HTTP 503"]),
    ],
    ids=str,
)
async def test_every_refusal_says_what_it_is_and_what_to_do(
    signal: Make, fault: Fails | Status, kind: type[ChannelError], clues: list[str]
) -> None:
    async with signal() as it:
        it.daemon.fail("send", fault)
        with pytest.raises(kind) as refused:
            await it.channel._daemon.call("send", {"recipient": [NUMBER], "message": "x"})
    text = str(refused.value)
    assert all(clue in text for clue in clues)
    assert text.isprintable()
    assert len(text) < 400


@pytest.mark.parametrize(
    ("told", "pause_s"),
    [
        ([failed("RATE_LIMIT_FAILURE", retryAfterSeconds=30)], 30.0),
        (
            [
                failed("RATE_LIMIT_FAILURE", retryAfterSeconds=30),
                failed("RATE_LIMIT_FAILURE", retryAfterSeconds=70),
            ],
            70.0,
        ),
        ([failed("RATE_LIMIT_FAILURE")], errors.DEFAULT_RETRY_S),
        ([failed("RATE_LIMIT_FAILURE", retryAfterSeconds=-5)], errors.DEFAULT_RETRY_S),
        ([failed("RATE_LIMIT_FAILURE", retryAfterSeconds="7")], errors.DEFAULT_RETRY_S),
        ([failed("RATE_LIMIT_FAILURE", retryAfterSeconds=10**12)], errors.MAX_RETRY_S),
    ],
)
def test_a_rate_limit_says_how_long(told: list[dict[str, object]], pause_s: float) -> None:
    error = Fails(-5, results=tuple(told)).error
    refused = errors.refused("send", error)
    assert isinstance(refused, ChannelUnavailable)
    assert refused.retry_after_s == pause_s


def test_a_proof_that_is_wanted_is_named() -> None:
    told = (failed("RATE_LIMIT_FAILURE", token="abc\x1b", retryAfterSeconds=86400),)
    refused = errors.refused("send", Fails(-5, results=told).error)
    assert "submitRateLimitChallenge --challenge abc --captcha" in str(refused)


def test_one_who_has_it_is_enough() -> None:
    assert errors.is_sent({"results": [failed("IDENTITY_FAILURE"), failed("SUCCESS")]})
    assert errors.is_sent({"timestamp": 5})
    assert not errors.is_sent({"results": [failed("IDENTITY_FAILURE")]})


@pytest.mark.parametrize(
    "result", [None, [], "x", {"results": "x"}, {"results": [7, None]}, {"results": [{}]}]
)
def test_results_of_any_shape_break_nothing(result: object) -> None:
    errors.is_sent(result)
    assert isinstance(errors.unsent_of(result), ChannelError)


@pytest.mark.parametrize("data", [None, [], 7, {"response": 7}, {"response": {"results": {}}}])
def test_an_error_with_odd_data_is_still_an_error(data: object) -> None:
    told = {"code": None, "message": None, "data": data}
    assert isinstance(errors.refused("send", told), MessageRefused)
