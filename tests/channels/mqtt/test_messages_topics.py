"""Topics: names come out of them only where they can be trusted to be names."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.channels.mqtt.messages import MqttTopics

TOPICS = MqttTopics("home/greenhouse")


def test_a_writer_is_the_last_level() -> None:
    assert TOPICS.sender_of("home/greenhouse/in/anna") == "anna"


@pytest.mark.parametrize(
    "topic",
    [
        "home/greenhouse/in/",
        "home/greenhouse/in/a/b",
        "home/in/anna",
        "home/greenhouse/in/a b",
        "anna",
    ],
)
def test_what_is_no_writer_is_nobody(topic: str) -> None:
    assert TOPICS.sender_of(topic) == ""


@given(st.text())
def test_no_topic_gives_a_name_that_could_be_a_filter(topic: str) -> None:
    name = TOPICS.sender_of(f"home/greenhouse/in/{topic}")
    assert not {"+", "#", "/", "\0", "\n"} & set(name)


def test_a_command_names_its_board_and_pin() -> None:
    assert TOPICS.pin_of(TOPICS.command("board", "pump")) == ("board", "pump")
    assert TOPICS.pin_of(TOPICS.value("board", "pump")) is None
    assert TOPICS.pin_of("home/greenhouse/in/anna") is None
