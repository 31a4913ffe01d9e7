import json

from hypothesis import given
from hypothesis import strategies as st

from agent.channels.record.pseudonyms import Pseudonyms, known_words

TOLD = {
    "type": "message",
    "author": {"id": "80351110224678912", "username": "AnnaSmith", "global_name": "Anna"},
    "content": "Hello @AnnaSmith, 我住在柏林, call +49 151 2345678",
    "place": {"latitude": 52.520008},
    "number": 80351110224678912,
    "timestamp": 1790000000,
    "inner": '{"text": "Anna"}',
    "u7hg3k2jdhs8f7": 1,
}


def test_nothing_that_is_about_somebody_is_left_and_the_shape_stays() -> None:
    told = Pseudonyms({"type", "message"}).of(TOLD)
    assert isinstance(told, dict)
    shown = json.dumps(told, ensure_ascii=False)
    for secret in ("Anna", "Smith", "柏林", "2345678", "80351110224678912", "52.52", "u7hg3k"):
        assert secret not in shown
    assert told["type"] == "message"
    assert told["timestamp"] == 1790000000
    assert len(told["content"]) == len(TOLD["content"])  # type: ignore[arg-type]  # a text
    # The same word is the same pseudonym, wherever it stands
    assert f"@{told['author']['username']}," in told["content"]
    assert json.loads(told["inner"])["text"] == told["author"]["global_name"]
    assert len(str(told["number"])) == 17


def test_two_recordings_have_nothing_in_common() -> None:
    first, second = (Pseudonyms(()).of_text("Alexandra") for _ in range(2))
    assert first != second


@given(st.text(max_size=60))
def test_a_text_keeps_its_length_in_every_encoding_that_counts(text: str) -> None:
    told = Pseudonyms(()).of_text(f"x{text}")
    assert len(told.encode("utf-16-le", "surrogatepass")) == len(
        f"x{text}".encode("utf-16-le", "surrogatepass")
    )


def test_words_of_the_platforms_source_stay() -> None:
    known = known_words("telegram")
    assert {"getUpdates", "message", "update_id"} <= known
    names = Pseudonyms(known)
    assert names.of_path("/bot***/getUpdates?x=1") == "/" + names.of_text("bot***") + "/getUpdates"
