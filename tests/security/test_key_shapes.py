import time

import pytest

from agent.security.key_shapes import MASK, without_keys
from tests.security.key_corpus import NAMED, ORDINARY, PEM, SHAPES

VALUE = "Ab12Cd34-Ef56_Gh78.Ij90"
MEGABYTE = 1_000_000
# A bound for a busy machine: what is quadratic takes hours
SOON_S = 10.0


@pytest.mark.parametrize("line", NAMED)
def test_a_value_beside_a_name_is_masked_however_it_is_written(line: str) -> None:
    masked = without_keys(f"before {line % VALUE} after")
    assert "Ab12" not in masked
    assert "Ij90" not in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert "Ab12" not in without_keys(f"İ {line % VALUE}")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_of_a_key_is_masked_without_a_name(shape: str) -> None:
    key = SHAPES[shape]
    masked = without_keys(f"it said {key}\nafter")
    assert MASK in masked
    assert key not in masked
    for piece in ("Ab12", "Cd34", "hunter2", "EXAMPL3", "89abcdef", "abcdef01", "MIIE"):
        assert piece not in masked
    assert masked.startswith("it said ")


def test_at_least_20_shapes_and_27_names_are_known() -> None:
    assert (len(SHAPES) >= 20, len(NAMED) >= 27) == (True, True)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert without_keys(text) == text
    # A letter that is two in lower case moves every place
    assert without_keys(f"İ {text}") == f"İ {text}"


def test_text_around_a_pem_block_stays() -> None:
    assert without_keys(f"a\n{PEM}\nb {PEM} c") == f"a\n{MASK}\nb {MASK} c"


def test_the_end_of_a_sentence_stays() -> None:
    assert without_keys(f"Your API key is {VALUE}.") == f"Your API key is {MASK}."


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=garden", "password=garden"),
        ("password=garden-gnome", f"password={MASK}"),
        ("password=12345", "password=12345"),
        ("token=123456789012", "token=123456789012"),
        ("token=12345678901234567890", f"token={MASK}"),
        ("token=abcdefghijklmnopqrstuvwx", "token=abcdefghijklmnopqrstuvwx"),
        ("token=abcdefghijklmnopqrstuVWX", f"token={MASK}"),
        ("token=ABCDEFGHIJKLMNOPQRSTUVWX", "token=ABCDEFGHIJKLMNOPQRSTUVWX"),
        ("token=abc12", "token=abc12"),
        ("token=abc123", f"token={MASK}"),
        ("token abc123 x", "token abc123 x"),
        ("--token abc123 x", f"--token {MASK} x"),
        ("Basic YWJjZGVmZw==", "Basic YWJjZGVmZw=="),
        ("Basic YTpiY2Rl", f"Basic {MASK}"),
        ("Basic a.b.c.d.e", "Basic a.b.c.d.e"),
        ("stop_token=abc123", "stop_token=abc123"),
    ],
)
def test_what_counts_as_a_key_has_limits(text: str, masked: str) -> None:
    assert without_keys(text) == masked


@pytest.mark.parametrize(
    "piece",
    [
        "a", "sk-", "sk-a", "eyJ", "eyJaaaaaaaaa.", "://", "://a:", "://a:b", "api_key", "token ",
        "token=", "token: ", "api_key=a1 ", "Bearer ", "basic ", "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ", "1234567890:AA", "SG.aaaaaaaaaaaaaaaa.", "M" * 24 + ".", "xox", "secret",
        " ", "\n", "'", "\\", "&quot;", "token'''", "a1.", "token=" + "a" * 500 + " ",
    ],
)  # fmt: skip
def test_a_megabyte_of_anything_is_looked_through_at_once(piece: str) -> None:
    text = piece * (MEGABYTE // len(piece))
    begun_s = time.monotonic()
    without_keys(text)
    assert time.monotonic() - begun_s < SOON_S


def test_keys_that_are_far_apart_are_all_masked() -> None:
    around = "ordinary words " * 600
    key = SHAPES["OpenAI"]
    text = f"{around}{key} {around}token={VALUE} {around}{key}"
    assert without_keys(text) == f"{around}{MASK} {around}token={MASK} {around}{MASK}"
