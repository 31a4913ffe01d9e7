import time

import pytest

from agent.security.key_shapes import MASK, without_keys
from tests.security.key_corpus import NAMED, ORDINARY, PEM, SHAPES

VALUE = "Ab12Cd34-Ef56_Gh78.Ij90"
MEGABYTE = 1_000_000
# Of the processor: what is quadratic takes hours
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
        ("password=12345a", f"password={MASK}"),
        ("token=123456789012", "token=123456789012"),
        ("token=12345678901234567890", f"token={MASK}"),
        ("token=abcdefghijklmnopqrstuvwx", "token=abcdefghijklmnopqrstuvwx"),
        ("token=abcdefghijklmnopqrstuVWX", f"token={MASK}"),
        ("token=ABCDEFGHIJKLMNOPQRSTUVWX", "token=ABCDEFGHIJKLMNOPQRSTUVWX"),
        ("token=abc12", "token=abc12"),
        ("token=abc123", f"token={MASK}"),
        ("token=ab1...", "token=ab1..."),
        ("password=a1...", "password=a1..."),
        ("token abc123 x", "token abc123 x"),
        ("--token abc123 x", f"--token {MASK} x"),
        ("Basic YWJjZGVmZw==", "Basic YWJjZGVmZw=="),
        ("Basic YWJjZDE5MzQ=", "Basic YWJjZDE5MzQ="),
        ("Basic YTpiY2Rl", f"Basic {MASK}"),
        ("Basic a.b.c.d.e", "Basic a.b.c.d.e"),
        ("Basic YTpi.Y2Rl", "Basic YTpi.Y2Rl"),
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
    begun_s = time.process_time()
    without_keys(text)
    assert time.process_time() - begun_s < SOON_S


def test_keys_that_are_far_apart_are_all_masked() -> None:
    around = "ordinary words " * 600
    key = SHAPES["OpenAI"]
    text = f"{around}{key} {around}token={VALUE} {around}{key}"
    assert without_keys(text) == f"{around}{MASK} {around}token={MASK} {around}{MASK}"


PREFIXES = (
    *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "gsk_", "xoxb-", "xapp-"),
    *("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "gldt-", "pplx-", "xai-"),
    *("nvapi-", "hf_", "npm_", "pypi-", "r8_", "dop_v1_", "shpat_", "shpca_", "shppa_", "shpss_"),
    *("ATATT", "ntn_", "lin_api_", "dapi", "syt_", "tskey-", "key-", "GOCSPX-", "ya29."),
    *("AGE-SECRET-KEY-1", "sq0atp-", "EAAC", "NRAK-", "PMAK-", "dckr_pat_", "glsa_"),
    *("xoxa-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
)
# Bot tokens of Discord begin with a number in Base64
NUMBERS = ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")
WEB_TOKEN = SHAPES["JWT"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_prefix_of_a_service_is_known(prefix: str) -> None:
    key = f"{prefix}Ab12Cd34Ef56Gh78"
    assert without_keys(f"it said {key}, twice") == f"it said {MASK}, twice"
    # Not in the middle of a word
    assert without_keys(f"it said x{key}") == f"it said x{key}"


@pytest.mark.parametrize("prefix", ["AKIA", "ASIA", "AROA", "AIDA"])
def test_every_kind_of_key_of_aws_is_known(prefix: str) -> None:
    # Nothing in it but the prefix makes it worth a look
    rest = "B7XPQ2RWLZ5VYH8J"
    assert without_keys(f"id {prefix}{rest}") == f"id {MASK}"
    assert without_keys(f"id {prefix}{rest}1") == f"id {prefix}{rest}1"


@pytest.mark.parametrize("prefix", NUMBERS)
def test_every_token_of_a_discord_bot_is_known(prefix: str) -> None:
    token = f"{prefix}{'Ab1' * 8}.Gh78Ij.{'Kl9' * 10}"
    assert without_keys(f"bot {token}") == f"bot {MASK}"


@pytest.mark.parametrize("prefix", ["SK", "AC"])
def test_every_key_of_twilio_is_known(prefix: str) -> None:
    assert without_keys(f"id {prefix}{'0123456789abcdef' * 2}") == f"id {MASK}"


@pytest.mark.parametrize(
    "word", ["page", "next", "cursor", "sync", "continuation", "max", "stop", "first", "last"]
)
def test_a_token_of_a_list_is_no_secret(word: str) -> None:
    for text in (f"{word}_token=abc12345", f"{word}Token: abc12345", f"{word}-token=abc12345"):
        assert without_keys(text) == text
    assert without_keys("my_token=abc12345") == f"my_token={MASK}"


@pytest.mark.parametrize(
    "value",
    [
        *("$API_KEY1", "${API_KEY1}", "%(api_key1)s", "env:API_KEY1", "/etc/api_key1"),
        *("<api_key1>", "{api_key1}", "{{api_key1}}"),
        *("~/api_key1", "./api_key1", "file:key12345", "http:key12345", "https:key12345"),
    ],
)
def test_where_a_key_is_kept_is_no_key(value: str) -> None:
    assert without_keys(f"api_key={value}") == f"api_key={value}"


@pytest.mark.parametrize("end", [".", "!", "?", ":"])
def test_every_end_of_a_sentence_stays(end: str) -> None:
    assert without_keys(f"token={VALUE}{end}") == f"token={MASK}{end}"


def test_a_long_text_after_a_key_is_looked_through_too() -> None:
    text = f"token={VALUE} x\n" * 300
    assert without_keys(text) == f"token={MASK} x\n" * 300
    assert without_keys(f"{WEB_TOKEN} " * 50) == f"{MASK} " * 50


def test_a_key_is_no_longer_than_a_key_can_be() -> None:
    long = "a1" * 256
    assert without_keys(f"token={long} x") == f"token={MASK} x"
    assert without_keys(f"token={long}b2c3") == f"token={MASK}b2c3"


def test_a_word_far_before_a_name_does_not_make_it_harmless() -> None:
    assert without_keys("stop    token=abc12345") == "stop    token=abc12345"
    assert without_keys(f"stop{' ' * 16}token=abc12345") == f"stop{' ' * 16}token={MASK}"


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "access_key", "access_key_id", "secret_key", "secret_access_key"),
        *("account_key", "client_secret", "app_secret", "signing_secret", "signing_key"),
        *("webhook_secret", "private_key", "encryption_key", "auth_key", "service_key"),
        *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "credential"),
        *("credentials", "token", "bearer", "authorization"),
    ],
)
def test_every_name_of_a_key_is_known(name: str) -> None:
    for one in (name, name.upper(), name.replace("_", "-"), name.replace("_", "")):
        assert without_keys(f"{one}={VALUE}") == f"{one}={MASK}"


def test_letters_that_grow_when_they_are_made_small_move_no_key_out_of_sight() -> None:
    before = "\u0130" * 600
    assert without_keys(f"{before} token={VALUE}") == f"{before} token={MASK}"
