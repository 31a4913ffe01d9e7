import contextlib

from hypothesis import given
from hypothesis import strategies as st

from agent.channels.whatsapp import events
from agent.channels.whatsapp.events import WhatsAppInbound, WhatsAppStatus, challenged, verify_token
from tests.fakes.whatsapp_server import APP_SECRET, NUMBER_ID, body_of

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
KEYS = (
    "edit",
    "text",
    "image",
    "location",
    "contacts",
    "interactive",
    "button",
    "context",
    "timestamp",
)


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.text())
def test_whatever_stands_in_a_message_it_is_read_or_left_out(
    about: dict[str, object], kind: str
) -> None:
    message = {"id": "wamid.1", "from": "4915", "type": kind, **about}
    for one in events.read(body_of({"messages": [message]}), NUMBER_ID):
        assert isinstance(one, WhatsAppInbound)
        inbound = events.inbound_of(one, 0.0)
        assert inbound is None or (inbound.sender, inbound.message_id) == ("4915", "wamid.1")


def test_nothing_comes_of_an_edit_but_a_stop() -> None:
    def heard(text: str) -> list[str]:
        new = {"type": "text", "text": {"body": text}, "context": {"id": "wamid.0"}}
        edit = {"original_message_id": "wamid.0", "message": new}
        message = {"id": "wamid.1", "from": "4915", "type": "edit", "edit": edit}
        found = events.read(body_of({"messages": [message]}), NUMBER_ID)
        told = [events.inbound_of(one, 0.0) for one in found if isinstance(one, WhatsAppInbound)]
        return [f"{one.message_id} {one.text}" for one in told if one is not None]

    assert heard("turn on the pump") == []
    assert heard("/stop") == ["wamid.1 /stop"]


@given(JSON, JSON)
def test_whatever_stands_in_a_post_no_more_than_a_refusal_comes_of_it(
    messages: object, statuses: object
) -> None:
    told = {"messages": messages, "statuses": statuses}
    assert all(
        isinstance(one, WhatsAppInbound | WhatsAppStatus)
        for one in events.read(body_of(told), NUMBER_ID)
    )


@given(st.binary())
def test_bytes_are_refused_in_a_sentence_or_hold_nothing(body: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert list(events.read(body, NUMBER_ID)) == []


@given(st.binary())
def test_a_query_is_a_challenge_or_forged(query: bytes) -> None:
    assert challenged(query, verify_token(APP_SECRET)).is_forged
