from pathlib import Path

import pytest

from firmware.host import interpreter

SAYS_1_25 = (
    "#!/bin/sh\necho \"(name='micropython', version=(1, 25, 0, ''), _machine='x', _mpy=1)\"\n"
)


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(interpreter, "PRIVATE", tmp_path / "private")
    (tmp_path / "bin").mkdir()


def test_the_named_command_may_have_several_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = program(tmp_path / "loader", '#!/bin/sh\nshift\nexec "$@"\n')
    found = program(tmp_path / "mp", SAYS_1_25)
    monkeypatch.setenv("BARNACLE_MICROPYTHON", f"{loader} --library-path {found}")
    assert interpreter.find() == [str(loader), "--library-path", str(found)]


def test_a_named_command_that_is_not_usable_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "private", SAYS_1_25)
    monkeypatch.setenv("BARNACLE_MICROPYTHON", str(tmp_path / "nothing"))
    with pytest.raises(interpreter.NoInterpreter, match="BARNACLE_MICROPYTHON"):
        interpreter.find()


def test_the_private_one_comes_before_an_installed_one(tmp_path: Path) -> None:
    private = program(tmp_path / "private", SAYS_1_25)
    program(tmp_path / "bin" / "micropython", SAYS_1_25)
    assert interpreter.find() == [str(private)]


def test_one_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "private", SAYS_1_25.replace("1, 25", "1, 19"))
    installed = program(tmp_path / "bin" / "micropython", SAYS_1_25)
    assert interpreter.find() == [str(installed)]


def test_without_any_it_is_said_where_to_get_one() -> None:
    with pytest.raises(interpreter.NoInterpreter, match="scripts/micropython"):
        interpreter.find()


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho Python 3.11\n", "junk"])
def test_what_does_not_answer_like_micropython_has_no_version(tmp_path: Path, text: str) -> None:
    assert interpreter.version([str(program(tmp_path / "other", text))]) == (0, 0)
