import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.webhook.messages import (
    REPLAY_WINDOW_S,
    SignatureClaim,
    claim_of,
    is_true,
    key_of,
    signed,
)
from agent.errors import ConfigRefused

KEY = bytes(range(32))
NOW_S = 1_731_705_121
IDS = st.from_regex(r"[A-Za-z0-9_.:=+/@-]{1,128}", fullmatch=True)


@pytest.mark.parametrize("secret", ["", "whsec_", "hunter2", "whsec_plJ3nmyCDGBKInavdOK15jsl"])
def test_a_secret_that_is_none_or_short_is_refused_unrepeated(secret: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        key_of(secret)
    assert "plJ3" not in str(caught.value)


def test_a_published_example_is_signed_as_it_says() -> None:
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    message_id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    headers = signed(key, message_id, 1_614_265_330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(IDS, st.binary(max_size=300))
def test_what_is_signed_is_true(message_id: str, body: bytes) -> None:
    claim = claim_of(signed(KEY, message_id, NOW_S, body), NOW_S)
    assert isinstance(claim, SignatureClaim)
    assert is_true(KEY, claim, body)
    assert not is_true(KEY, claim, body + b" ")
    assert not is_true(KEY[::-1], claim, body)


@given(st.dictionaries(st.sampled_from(list(signed(KEY, "m", 0, b""))), st.text(max_size=60)))
def test_whatever_headers_hold_is_a_claim_or_a_sentence(headers: dict[str, str]) -> None:
    claim = claim_of(headers, NOW_S)
    assert isinstance(claim, SignatureClaim | str)
    assert isinstance(claim, str) or not is_true(KEY, claim, b"")


def test_one_of_several_signatures_is_enough_and_others_spoil_nothing() -> None:
    headers = signed(KEY, "m", NOW_S, b"body")
    told = headers["webhook-signature"]
    headers["webhook-signature"] = (
        f"v1a,xyz {signed(KEY[1:], 'm', NOW_S, b'')['webhook-signature']} {told}"
    )
    claim = claim_of(headers, NOW_S + REPLAY_WINDOW_S)
    assert isinstance(claim, SignatureClaim)
    assert is_true(KEY, claim, b"body")


@pytest.mark.parametrize("time", ["", "-1", "1e9", "١٧٣١٧٠٥١٢١", "1731705121.0", "9" * 5000])
def test_a_time_that_is_none_is_refused(time: str) -> None:
    headers = {**signed(KEY, "m", NOW_S, b""), "webhook-timestamp": time}
    assert "webhook-timestamp" in str(claim_of(headers, NOW_S))


@pytest.mark.parametrize("message_id", ["", "a b", "a\n", "x" * 129, "ä"])
def test_an_id_that_is_none_is_refused(message_id: str) -> None:
    headers = {**signed(KEY, "m", NOW_S, b""), "webhook-id": message_id}
    assert "webhook-id" in str(claim_of(headers, NOW_S))
