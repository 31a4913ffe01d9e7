import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.dingtalk import events
from agent.channels.dingtalk.events import ANY_TYPE, MAX_FILES, DingTalkFile, DingTalkMessage

NAMES = [
    *("msgId", "msgtype", "conversationId", "conversationType", "senderId", "senderStaffId"),
    *("senderCorpId", "chatbotCorpId", "isInAtList", "sessionWebhook", "createAt", "text"),
    *("sessionWebhookExpiredTime", "content", "senderNick"),
]
KINDS = st.sampled_from(["text", "picture", "richText", "audio", "video", "file"])
ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | KINDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "richText", "downloadCode", "text"]), inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING) | ANYTHING)
def test_whatever_is_said_is_a_message_or_nothing(told: Any) -> None:
    message = events.read(json.dumps(told))
    if message is not None:
        events.is_for_us(message, "mention")
        inbound = events.understood(message, events.content_of(message), 1.0)
        assert inbound.reply_target.partition(":")[0] in {"group", "user", "chat"}
        assert len(inbound.sender) <= events.MAX_ID_CHARS


@given(st.text())
def test_what_is_no_json_is_nothing(text: str) -> None:
    found = events.read(text)
    assert found is None or found == DingTalkMessage()


def test_numbers_may_be_text_and_what_is_missing_null() -> None:
    told = {"msgId": "m", "createAt": "1000", "sessionWebhookExpiredTime": "5000"}
    message = events.read(json.dumps({**told, "isInAtList": None, "senderStaffId": None}))
    assert message is not None
    assert message.hook_lasts_s == 4.0
    assert not message.is_in_at_list


def test_a_time_that_no_clock_shows_is_not_as_documented() -> None:
    assert events.read('{"msgId":"m","createAt":1' + 400 * "0" + "}") is None


def test_a_message_has_at_most_so_many_files() -> None:
    pieces = [{"downloadCode": f"c{number}"} for number in range(MAX_FILES + 5)]
    content = events.content_of(DingTalkMessage(msgtype="richText", content={"richText": pieces}))
    assert len(content.files) == MAX_FILES


@pytest.mark.parametrize(
    ("file", "told", "kind"),
    [
        (DingTalkFile("c", "picture"), "image/png; x=1", "image/png"),
        (DingTalkFile("c", "picture"), "", "image/jpeg"),
        (DingTalkFile("c", "file", "a.pdf"), ANY_TYPE, "application/pdf"),
        (DingTalkFile("c", "file", "a.unknown"), "", ANY_TYPE),
    ],
)
def test_what_a_file_is_comes_from_its_server_or_its_name(
    file: DingTalkFile, told: str, kind: str
) -> None:
    assert file.media_type(told) == kind
