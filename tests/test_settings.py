import enum
import json
import re
import subprocess
import sys
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agent.cli
from agent.config import ConfigSection, Secret, Where, decode, keys, load
from agent.errors import ConfigRefused
from agent.settings import Paths, Settings, find_config, find_paths, state_dir, surroundings

EXAMPLE = Path(agent.cli.__file__).with_name("example.toml")
MOST_KEYS = 75
KEYS = [".".join(key) for key in keys(Settings)]


def uncommented() -> str:
    """The example with every default set, as if a person had removed the marks."""
    return re.sub(r"^# ([a-z][a-z0-9_]* = )", r"\1", EXAMPLE.read_text(), flags=re.MULTILINE)


def type_of(key: str) -> typing.Any:
    kind: typing.Any = Settings
    for name in key.split("."):
        kind = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}[name]
    return kind


def metas_of(kind: object) -> Iterator[msgspec.Meta]:
    """What a type demands of its values, and what the types in it demand, however deep."""
    yield from (one for one in getattr(kind, "__metadata__", ()) if isinstance(one, msgspec.Meta))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        inner: tuple[object, ...] = tuple(field.type for field in msgspec.structs.fields(kind))
    else:
        inner = (*typing.get_args(kind), *typing.get_args(getattr(kind, "__origin__", None)))
    for one in inner:
        yield from metas_of(one)


def base_of(key: str) -> typing.Any:
    kind = type_of(key)
    return typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind


def set_to(key: str, line: str) -> str:
    """The uncommented example with the key's line replaced."""
    section, _, name = key.rpartition(".")
    header, body = re.split(rf"(?<=\[{section}\]\n)", uncommented(), maxsplit=1)
    return header + re.sub(rf"^{name} = .*$", lambda _: line, body, count=1, flags=re.MULTILINE)


def refused(text: str) -> str:
    with pytest.raises(ConfigRefused) as caught:
        decode(text, Settings, Path("x.toml"))
    return str(caught.value)


class TestExample:
    def test_it_changes_nothing_as_it_is(self) -> None:
        assert load(EXAMPLE, Settings) == Settings()

    def test_it_shows_every_key_with_its_default(self) -> None:
        text = uncommented()
        assert decode(text, Settings, EXAMPLE) == Settings()
        assert sorted(leaves(tomllib.loads(text))) == sorted(KEYS)

    def test_every_key_follows_a_sentence(self) -> None:
        lines = EXAMPLE.read_text().splitlines()
        for number, line in enumerate(lines):
            if re.match(r"# [a-z][a-z0-9_]* = ", line):
                assert re.match(r"# .*[.;]$", lines[number - 1]), line

    def test_there_are_not_too_many_keys(self) -> None:
        assert len(KEYS) <= MOST_KEYS


def leaves(table: dict[str, typing.Any], where: Where = ()) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, (*where, key))
        else:
            yield ".".join((*where, key))


class TestMutations:
    @pytest.mark.parametrize("key", KEYS)
    def test_a_renamed_key_is_refused_with_its_path_and_the_right_name(self, key: str) -> None:
        section, _, name = key.rpartition(".")
        said = refused(set_to(key, f"{name}x = 1"))
        assert f"x.toml: `{section}.{name}x`: unknown key; did you mean `{name}`?" == said

    @pytest.mark.parametrize("key", KEYS)
    def test_a_value_of_the_wrong_type_is_refused_with_its_path(self, key: str) -> None:
        name = key.rpartition(".")[2]
        assert refused(set_to(key, f"{name} = 1979-05-27")).startswith(f"x.toml: `{key}`: must be")
        assert refused(set_to(key, f"{name} = [[]]")).startswith(f"x.toml: `{key}`: must be")

    @pytest.mark.parametrize("key", KEYS)
    def test_an_extreme_value_is_refused_with_its_path(self, key: str) -> None:
        name = key.rpartition(".")[2]
        for extreme in extremes(base_of(key)):
            assert refused(set_to(key, f"{name} = {extreme}")).startswith(f"x.toml: `{key}`:")

    @pytest.mark.parametrize("key", KEYS)
    def test_a_key_outside_its_table_is_refused(self, key: str) -> None:
        name = key.rpartition(".")[2]
        if name not in {field.encode_name for field in msgspec.structs.fields(Settings)}:
            assert f"`{name}`: unknown key" in refused(f"{name} = 1\n{uncommented()}")

    @given(st.data())
    @settings(max_examples=150)
    def test_nonsense_is_refused_or_read_and_nothing_else(self, data: st.DataObject) -> None:
        text = uncommented()
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        noise = data.draw(st.one_of(st.text(max_size=12), st.sampled_from(SHREDS)))
        try:
            decode(text[:start] + noise + text[end:], Settings, Path("x.toml"))
        except ConfigRefused as err:
            assert all(line.startswith("x.toml: ") for line in str(err).splitlines())  # noqa: PT017 - reading it is fine too


def test_an_agent_is_asked_by_a_route_that_there_is() -> None:
    text = '[agents.poet]\nmodel = "hint:deep"\n'
    assert "`agents`: has hint:deep in poet, and provider.routes has not" in refused(text)
    routes = '[provider.routes]\ndeep = "openai:gpt-5.6-sol"\n'
    assert decode(routes + text, Settings, Path("x.toml")).agents["poet"].model == "hint:deep"


SHREDS = [
    *('"', "'", '"""', "[", "[[", "]", "{", "}", "=", ".", ",", "\n", "\r", "\t", "#", "\\u0000"),
    *("inf", "nan", "-1", "1e999", "0x", "true", "1979-05-27", "[board]", "[[board]]", "9" * 40),
]


def extremes(base: typing.Any) -> list[str]:
    if base in {int, float}:
        return ["-999999999999", "999999999999999999999999", "nan", "-inf"]
    if base is bool:
        return ["2", '"true"']
    if base in {str, Secret}:
        return [f'"{"x" * 5000}"', '"a\\u0000b"']
    if isinstance(base, enum.EnumMeta) or typing.get_origin(base) is typing.Literal:
        return ['"everything"', '""']
    return ["[" + "1979-05-27, " * 10_000 + "]"]


class TestPaths:
    def test_the_named_file_is_used_even_if_it_is_missing(self, tmp_path: Path) -> None:
        named = str(tmp_path / "none.toml")
        assert find_config({"HOME": str(tmp_path), "BARNACLE_CONFIG": named}) == Path(named)

    def test_the_persons_own_file_is_found(self, tmp_path: Path) -> None:
        own = tmp_path / ".config" / "barnacle" / "barnacle.toml"
        own.parent.mkdir(parents=True)
        own.touch()
        assert find_config({"HOME": str(tmp_path)}) == own

    def test_the_machines_file_is_found_next(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shared = tmp_path / "etc.toml"
        shared.touch()
        monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", shared)
        assert find_config({"HOME": str(tmp_path)}) == shared

    def test_no_file_is_no_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none")
        assert find_config({"HOME": str(tmp_path)}) is None

    def test_a_home_that_cannot_be_looked_into_is_no_absence(self, tmp_path: Path) -> None:
        home = tmp_path / "loop"
        home.symlink_to(home)
        with pytest.raises(ConfigRefused, match="cannot be read"):
            surroundings({"HOME": str(home)})

    @pytest.mark.parametrize(
        ("environ", "folder"),
        [
            ({"BARNACLE_STATE_DIR": "/a", "STATE_DIRECTORY": "/b", "HOME": "/h"}, "/a"),
            ({"BARNACLE_STATE_DIR": "~/a", "HOME": "/h"}, "/h/a"),
            ({"STATE_DIRECTORY": "/b:/c", "HOME": "/h"}, "/b"),
            ({"BARNACLE_STATE_DIR": "", "HOME": "/h"}, "/h/.local/state/barnacle"),
        ],
    )
    def test_the_state_folder(self, environ: dict[str, str], folder: str) -> None:
        assert state_dir(environ) == Path(folder)

    def test_everything_is_kept_beneath_the_state_folder(self) -> None:
        paths = Paths(None, Path("/s"))
        assert paths.brain_db == Path("/s/memory/brain.db")
        kept = (
            paths.agent_db,
            paths.workspace,
            paths.model_dir,
            paths.manifests,
            paths.history_file,
            paths.status_file,
        )
        assert {path.parent for path in kept} == {Path("/s")}

    def test_the_configuration_chooses_workspace_and_model(self) -> None:
        chosen = decode(
            '[agent]\nworkspace = "~/w"\n[embeddings]\nmodel_dir = "/m"', Settings, Path("x")
        )
        paths = find_paths({"HOME": "/h", "BARNACLE_MODEL_DIR": "/e"}, chosen, None)
        assert (paths.workspace, paths.model_dir) == (Path("/h/w"), Path("/m"))

    def test_the_environment_chooses_the_model_next(self) -> None:
        paths = find_paths({"HOME": "/h", "BARNACLE_MODEL_DIR": "/e"}, Settings(), None)
        assert paths.model_dir == Path("/e")

    def test_a_user_without_a_home_is_told_what_to_set(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_home() -> Path:
            raise RuntimeError("no home")

        monkeypatch.setattr(Path, "home", no_home)
        with pytest.raises(ConfigRefused, match="set HOME, or BARNACLE_CONFIG and BARNACLE_STATE"):
            find_config({})

    def test_the_command_line_wins(self, tmp_path: Path) -> None:
        config = tmp_path / "b.toml"
        config.write_text('[agent]\nname = "Otto"')
        environ = {"BARNACLE_CONFIG": "/none", "BARNACLE_STATE_DIR": "/none"}
        read, paths = surroundings(environ, str(config), str(tmp_path / "s"))
        assert read.agent.name == "Otto"
        assert (paths.config, paths.state_dir) == (config, tmp_path / "s")


def test_every_section_is_frozen_and_refuses_unknown_keys() -> None:
    for field in msgspec.structs.fields(Settings):
        # Of tables that a person names, and of one that need not be there, the section that it is
        is_plain = typing.get_origin(field.type) is None
        named = typing.get_args(field.type)
        section = field.type if is_plain else named[named[-1] is not type(None)]
        assert issubclass(section, ConfigSection)
        assert section.__struct_config__.frozen
        assert section.__struct_config__.forbid_unknown_fields


class TestBoards:
    def test_one_board_needs_no_more_than_its_table(self) -> None:
        (board,) = decode('[board]\nport = "/dev/a"', Settings, Path("x")).every_board()
        assert (board.name, board.port) == ("board", "/dev/a")
        assert [board.name for board in Settings().every_board()] == ["board"]

    def test_several_boards_have_the_names_of_their_tables(self) -> None:
        text = '[board]\nport = "/dev/a"\n[boards.garden]\nport = "/dev/b"'
        found = decode(text, Settings, Path("x")).every_board()
        assert [(board.name, board.port) for board in found] == [
            ("board", "/dev/a"),
            ("garden", "/dev/b"),
        ]

    def test_without_a_table_of_its_own_the_first_board_is_left_out(self) -> None:
        text = '[boards.garden]\nport = "/dev/b"'
        assert [one.name for one in decode(text, Settings, Path("x")).every_board()] == ["garden"]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ('[boards.a]\nport = "/dev/a"\n[boards.b]', "need a `port` each"),
            ('[boards.a]\nname = "c"', "its table names it a"),
            ('[boards.a]\nport = "/x"\n[boards.a_b]\nport = "/y"', "cannot be told apart"),
            ("[boards.a]\nlaese_ms = 300", "`boards.a.laese_ms`: unknown key"),
        ],
    )
    def test_what_cannot_be_is_refused(self, text: str, complaint: str) -> None:
        assert complaint in refused(text)

    def test_what_is_known_of_each_is_kept_apart(self) -> None:
        paths = Paths(None, Path("/s"))
        text = '[board]\nport = "/dev/a"\n[boards.garden]\nport = "/dev/b"'
        boards = decode(text, Settings, Path("x")).every_board()
        assert len({paths.board_folder(board) for board in boards}) == 2
        assert paths.board_folder(boards[0]) == paths.manifests


PORT_IN = {
    "gateway.listen": "127.0.0.1:{}",
    "console.listen": "127.0.0.1:{}",
    "wyoming.listen": "127.0.0.1:{}",
    "devices.listen": "0.0.0.0:{}",
    "devices.others.shed.address": "192.168.1.7:{}",
    "channels.email.imap": "imaps://imap.example.org:{}",
    "channels.email.smtp": "submissions://smtp.example.org:{}",
    "channels.irc.url": "ircs://irc.libera.chat:{}",
    "channels.mqtt.url": "mqtts://broker.example:{}",
    "channels.xmpp.server": "xmpp://xmpp.example.org:{}",
    "channels.signal.base_url": "http://[::1]:{}",
    "channels.matrix.base_url": "https://matrix.example:{}/path",
    "channels.webhook.reply_url": "https://hook.example:{}/path",
    "channels.speech.server": "tcp://192.168.1.10:{}",
    "channels.speech.base_url": "http://127.0.0.1:{}/v1",
    "home_assistant.base_url": "http://192.168.1.20:{}",
    "web.local": "192.168.1.20:{}",
    "web.search.searxng.url": "http://192.168.1.20:{}",
    "mcp.shed.url": "http://192.168.1.20:{}/mcp",
}


@pytest.mark.parametrize("key", PORT_IN)
def test_a_port_that_there_cannot_be_is_refused(key: str) -> None:
    for port in (1, 80, 8080, 59999, 65535):
        assert f"`{key}" not in said_of_port(key, port)
    for port in (65536, 65600, 66000, 70000, 99999):
        assert f"`{key}" in said_of_port(key, port)
    # Where one listens it is a free one
    assert (f"`{key}" in said_of_port(key, 0)) is not key.endswith(".listen")


def said_of_port(key: str, port: int) -> str:
    """Return the refusal of a file that sets nothing but one port."""
    section, _, name = key.rpartition(".")
    value = json.dumps(PORT_IN[key].format(port))
    line = f"[{section}]\n{name} = {f'[{value}]' if name == 'local' else value}\n"
    try:
        decode(line, Settings, Path("x.toml"))
    except ConfigRefused as err:
        return str(err)
    return ""


def test_settings_load_no_part_and_no_library() -> None:
    script = (
        "import sys, agent.settings\n"
        "heavy = {'httpx', 'sqlite3', 'asyncio', 'numpy', 'onnxruntime', 'serial', 'ssl'}\n"
        "print(*sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_no_person_has_to_read_a_regular_expression() -> None:
    patterns = [meta for meta in metas_of(Settings) if meta.pattern]
    assert len(patterns) > len(Settings.__struct_fields__)
    assert [meta.pattern for meta in patterns if not meta.description] == []
