import enum
import os
import pickle
import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from agent.config import MAX_CONFIG_BYTES, MAX_PROBLEMS, ConfigSection, Secret, decode, keys, load
from agent.errors import ConfigRefused

FILE = Path("b.toml")


class Mood(enum.Enum):
    CALM = "calm"
    BUSY = "busy"


class Board(ConfigSection, frozen=True, kw_only=True):
    baud: Annotated[int, Meta(ge=9600, le=2_000_000)] = 115_200
    port: str = ""
    share: float = 0.5
    enabled: bool = True
    mood: Mood = Mood.CALM
    kind: Literal["usb", "uart"] = "usb"
    names: tuple[str, ...] = ()
    url: Annotated[str, Meta(pattern="^https?://", description="an http or https URL")] = "http://x"
    key: Secret = Secret()
    word: Annotated[str, Meta(pattern="^[a-z]+$")] = "a"
    label: Annotated[str, Meta(min_length=1, max_length=4)] | None = None


class Range(ConfigSection, frozen=True, kw_only=True):
    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        if self.high > 99:
            raise ValueError("this range is too wide")


class Whole(ConfigSection, frozen=True, kw_only=True):
    board: Board = Board()
    range: Range = Range()
    title: str = ""


def refusal(text: str) -> str:
    with pytest.raises(ConfigRefused) as caught:
        decode(text, Whole, FILE)
    return str(caught.value)


def test_what_is_not_set_keeps_its_default() -> None:
    assert decode("", Whole, FILE) == Whole()


def test_values_reach_their_fields() -> None:
    read = decode('[board]\nbaud = 9600\nmood = "busy"\nnames = ["a"]\n', Whole, FILE)
    assert read.board == Board(baud=9600, mood=Mood.BUSY, names=("a",))


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_bytes(b'\xef\xbb\xbftitle = "x"\n')
    assert load(path, Whole).title == "x"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[board]\nbdua = 1", "b.toml: `board.bdua`: unknown key; did you mean `baud`?"),
        ("[board]\nBAUD = 1", "b.toml: `board.BAUD`: unknown key; did you mean `baud`?"),
        (
            "[board]\nbaud = 9600\n[names]",
            "b.toml: `names`: unknown key; did you mean `board.names`?",
        ),
        ("mood = 1", "b.toml: `mood`: unknown key; did you mean `board.mood`?"),
        ("zzz = 1", "b.toml: `zzz`: unknown key; the keys here are board, range, title"),
        (
            "[board]\nbaud = 5",
            "b.toml: `board.baud`: must be a whole number from 9600 to 2000000, not 5",
        ),
        (
            '[board]\nbaud = "9600"',
            'b.toml: `board.baud`: must be a whole number from 9600 to 2000000, not "9600"',
        ),
        ("[board]\nport = 3", "b.toml: `board.port`: must be text in quotes, not 3"),
        ('[board]\nshare = "a"', 'b.toml: `board.share`: must be a number, not "a"'),
        ("[board]\nenabled = 1", "b.toml: `board.enabled`: must be true or false, not 1"),
        ("[board]\nport = true", "b.toml: `board.port`: must be text in quotes, not true"),
        (
            '[board]\nmood = "bussy"',
            'b.toml: `board.mood`: must be one of calm, busy, not "bussy"; did you mean `busy`?',
        ),
        ('[board]\nkind = "x"', 'b.toml: `board.kind`: must be one of usb, uart, not "x"'),
        (
            "[board]\nnames = [1]",
            "b.toml: `board.names`: must be a list, each of it text in quotes, not [1]",
        ),
        ('[board]\nurl = "x"', 'b.toml: `board.url`: must be an http or https URL, not "x"'),
        (
            '[board]\nword = "A b"',
            'b.toml: `board.word`: must be text in quotes of the form ^[a-z]+$, not "A b"',
        ),
        (
            '[board]\nlabel = "abcde"',
            'b.toml: `board.label`: must be text in quotes of 1 to 4 characters, not "abcde"',
        ),
        ("board = 3", "b.toml: `board`: must be a table; write [board] on a line of its own"),
        ("title = {a = 1}", "b.toml: `title`: must be text in quotes, not a table"),
        ("[range]\nlow = 5", "b.toml: `range.low`: must not be above high"),
        ("[range]\nhigh = 100", "b.toml: `range`: this range is too wide"),
        (
            "[board]\nshare = nan",
            "b.toml: `board.share`: must be a finite number",
        ),
        (
            '[board]\nnames = ["\\u001b[2J"]',
            "b.toml: `board.names`: must not hold control characters",
        ),
        ("a = 1\nb = =", "b.toml: line 2, column 5: Invalid value"),
        ("a = 1\nb =", "b.toml: line 2, column 4: Invalid value"),
        # What a text editor of a Mac, a telephone or a page of the web leaves
        (
            "a = 1\nb = \u201cx\u201d",
            'b.toml: line 2, column 5: Invalid value; write straight quotes (") instead of \u201c',
        ),
        ("b = \u00c4rger", 'b.toml: line 1, column 5: Invalid value; put text between quotes (")'),
        ("b = Home", 'b.toml: line 1, column 5: Invalid value; put text between quotes (")'),
        (
            "b = True",
            "b.toml: line 1, column 5: Invalid value; write true or false in small letters",
        ),
        (
            "b\u00a0= 1",
            (
                "b.toml: line 1, column 2: Expected '=' after a key in a key/value pair; take out "
                "the character U+00A0, which looks like a space or like nothing"
            ),
        ),
        (
            'b = "c\\path"',
            (
                "b.toml: line 1, column 9: Unescaped '\\' in a string; write it twice, or put the "
                "text between single quotes (')"
            ),
        ),
        (
            "[board]\n[board]",
            (
                "b.toml: line 2, column 7: a key or table is given twice"
                " (Cannot declare ('board',) twice)"
            ),
        ),
        (
            "title = 'a'\ntitle = 'b'\n",
            "b.toml: line 2, column 12: a key or table is given twice (Cannot overwrite a value)",
        ),
    ],
)
def test_a_refusal_names_file_and_key_and_remedy(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_all_that_is_wrong_is_said_at_once() -> None:
    said = refusal("tilte = 1\n[board]\nbaud = 5\nport = 3\n[range]\nlow = 9\n").splitlines()
    assert [line.split(": ")[1] for line in said] == [
        "`tilte`",
        "`board.baud`",
        "`board.port`",
        "`range.low`",
    ]


def test_the_list_of_what_is_wrong_ends_somewhere() -> None:
    said = refusal("".join(f"key{number} = 1\n" for number in range(500)))
    assert len(said.splitlines()) == MAX_PROBLEMS


def test_a_hostile_key_is_one_visible_line() -> None:
    said = refusal('[board]\n"a\\nb\\u001b[31m" = 1')
    assert said.isprintable()


def test_a_text_that_is_far_too_long_is_refused() -> None:
    assert "`title`" in refusal(f'title = "{"x" * 5000}"')


def test_a_long_value_is_quoted_short() -> None:
    assert len(refusal(f'[board]\nbaud = "{"x" * 4000}"')) < 150


@pytest.mark.parametrize("value", ["123456", '"sk-secret "', '["sk-secret"]', '"sk-\\nsecret"'])
def test_a_refused_secret_is_not_quoted(value: str) -> None:
    said = refusal(f"[board]\nkey = {value}")
    assert "`board.key`" in said
    assert "secret" not in said
    assert "123456" not in said


def test_deep_nesting_is_refused() -> None:
    assert refusal("title = " + "[" * 20_000).startswith("b.toml: ")


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    assert "b.toml" in refusal(f"[board]\nbaud = {'9' * 6000}")


class TestFiles:
    def test_a_missing_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigRefused, match=r"none\.toml: cannot be read: No such file"):
            load(tmp_path / "none.toml", Whole)

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigRefused, match="is not a file"):
            load(tmp_path, Whole)

    def test_a_pipe_that_nobody_writes_is_refused_at_once(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ConfigRefused, match="is not a file"):
            load(tmp_path / "pipe", Whole)

    def test_a_file_that_cannot_be_read_is_refused(self) -> None:
        # Opens for everybody, and its first byte is readable for nobody
        with pytest.raises(ConfigRefused, match="cannot be read: Input/output error"):
            load(Path("/proc/self/mem"), Whole)

    def test_text_that_is_not_utf8_is_refused_with_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "b.toml"
        path.write_bytes(b"title = 'a'\n# caf\xe9\n")
        with pytest.raises(ConfigRefused, match="line 2: not UTF-8"):
            load(path, Whole)

    def test_a_file_that_is_far_too_long_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "b.toml"
        path.write_bytes(b"#" * (MAX_CONFIG_BYTES + 1))
        with pytest.raises(ConfigRefused, match="longer than"):
            load(path, Whole)

    @given(st.binary(max_size=200))
    def test_any_bytes_are_read_or_refused(
        self, tmp_path_factory: pytest.TempPathFactory, content: bytes
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "any.toml"
        path.write_bytes(content)
        try:
            load(path, Whole)
        except ConfigRefused as refused:
            assert str(refused).startswith(str(path))  # noqa: PT017 - success is fine too


class TestSecret:
    def test_it_reveals_itself_only_when_asked(self) -> None:
        secret = Secret("sk-1")
        assert secret.reveal() == "sk-1"
        assert "sk-1" not in f"{secret} {secret!r} {[secret]} {Board(key=secret)}"

    def test_it_compares_with_its_like_alone(self) -> None:
        assert Secret("a") == Secret("a")
        assert Secret("a") != Secret("b")
        assert Secret("a") != "a"

    def test_an_empty_one_is_false(self) -> None:
        assert not Secret()
        assert Secret("x")

    def test_it_cannot_be_hashed_pickled_or_encoded(self) -> None:
        with pytest.raises(TypeError):
            hash(Secret("a"))
        with pytest.raises(TypeError):
            pickle.dumps(Secret("a"))
        with pytest.raises(TypeError):
            msgspec.json.encode(Board(key=Secret("a")))

    def test_it_is_read_from_plain_text(self) -> None:
        assert decode('[board]\nkey = "sk-1"', Whole, FILE).board.key == Secret("sk-1")


def test_every_key_has_its_path() -> None:
    found = [".".join(key) for key in keys(Whole)]
    assert found[:2] == ["board.baud", "board.port"]
    assert found[-3:] == ["range.low", "range.high", "title"]


class Garden(ConfigSection, frozen=True):
    beds: dict[str, Board] = msgspec.field(default_factory=dict)


class TestNamedTables:
    def test_they_are_sections_by_the_names_that_a_person_gave(self) -> None:
        found = decode("[beds.herbs]\nbaud = 9600\n", Garden, Path("x.toml"))
        assert found.beds["herbs"].baud == 9600

    def test_they_are_no_keys(self) -> None:
        assert list(keys(Garden)) == []

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("[beds.herbs]\nbdua = 1\n", "`beds.herbs.bdua`: unknown key; did you mean `baud`?"),
            ("[beds.herbs]\nbaud = 'x'\n", "`beds.herbs.baud`: must be"),
            ("[beds.'He rbs']\n", "must be a name of small letters"),
            ("beds = 1\n", "`beds`: must be a table; write [beds.<name>]"),
            ("[beds]\nherbs = 1\n", "`beds.herbs`: must be a table"),
        ],
    )
    def test_a_refusal_names_the_table(self, text: str, sentence: str) -> None:
        with pytest.raises(ConfigRefused, match=re.escape(sentence)):
            decode(text, Garden, Path("x.toml"))


class Pond(ConfigSection, frozen=True):
    depth_cm: int = 30


class Park(ConfigSection, frozen=True):
    pond: Pond | None = None


class TestTablesThatMayBeLeftOut:
    def test_without_the_table_there_is_nothing(self) -> None:
        assert decode("", Park, Path("x.toml")).pond is None

    def test_an_empty_table_is_there_with_its_defaults(self) -> None:
        assert decode("[pond]", Park, Path("x.toml")).pond == Pond()

    def test_their_keys_are_not_among_those_that_are_always_there(self) -> None:
        assert list(keys(Park)) == []

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("pond = 3", "x.toml: `pond`: must be a table; write [pond] on a line of its own"),
            ("[pond]\ndept_cm = 1", "`pond.dept_cm`: unknown key; did you mean `depth_cm`?"),
            ("[pond]\ndepth_cm = 'x'", '`pond.depth_cm`: must be a whole number, not "x"'),
        ],
    )
    def test_a_refusal_names_the_key(self, text: str, sentence: str) -> None:
        with pytest.raises(ConfigRefused) as caught:
            decode(text, Park, Path("x.toml"))
        assert sentence in str(caught.value)
