import base64
import errno
import json
import os
import threading
from pathlib import Path

import pytest

from agent.config import Secret
from agent.errors import StorageFull
from agent.security import audit as module
from agent.security.audit import Audit, files_of, lines_of
from agent.security.audit_chain import START, problems, tied, untied
from agent.security.redact import Redactor
from tests.fakes.clock import SteppedClock
from tests.fakes.lying_card import turn_read_only

CANARY = 'canary-"7f3a\\9c-key'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "audit"


def open_audit(folder: Path) -> Audit:
    return Audit(folder, Redactor([Secret(CANARY)]).redact, SteppedClock())


def fill(folder: Path, count: int) -> Audit:
    audit = open_audit(folder)
    for number in range(count):
        audit.append({"kind": "test", "value": number}, durable=False)
    return audit


def values(folder: Path) -> list[object]:
    rows = [untied(line)[0] for _, line in lines_of(folder)]
    return [row["value"] for row in rows if "value" in row]


def found(folder: Path) -> list[str]:
    return list(problems(lines_of(folder)))


def test_rows_are_kept_in_order_with_the_time(folder: Path) -> None:
    link = fill(folder, 3).append({"kind": "test", "value": 3}, durable=True)
    assert values(folder) == [0, 1, 2, 3]
    assert link.number == 5
    (_, last) = list(lines_of(folder))[-1]
    assert untied(last)[0]["at_s"] == 1_800_000_000.0
    assert found(folder) == []


def test_only_the_owner_may_read_it(folder: Path) -> None:
    fill(folder, 1).close()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert files_of(folder)[0].stat().st_mode & 0o777 == 0o600


def test_it_goes_on_where_it_ended(folder: Path) -> None:
    fill(folder, 2).close()
    fill(folder, 2).close()
    assert values(folder) == [0, 1, 0, 1]
    assert len(files_of(folder)) == 1
    assert found(folder) == []


def test_threads_write_one_chain(folder: Path) -> None:
    audit = open_audit(folder)
    rows = [threading.Thread(target=audit.append, args=({"value": n},), kwargs={"durable": True})
            for n in range(20)]  # fmt: skip
    for row in rows:
        row.start()
    for row in rows:
        row.join()
    assert sorted(values(folder)) == list(range(20))  # type: ignore[type-var]  # all are numbers
    assert found(folder) == []


class TestSecrets:
    def test_no_spelling_of_one_reaches_the_disk(self, folder: Path) -> None:
        arguments = json.dumps({"header": f"Bearer {CANARY}"})
        encoded = base64.b64encode(CANARY.encode()).decode()
        row = {"arguments": arguments, "result": CANARY, "reason": f"x{encoded}x"}
        open_audit(folder).append(row, durable=True)
        content = files_of(folder)[0].read_bytes()
        for spelling in (CANARY, json.dumps(CANARY)[1:-1], json.dumps(json.dumps(CANARY))[3:-3]):
            assert spelling.encode() not in content
        assert encoded.encode() not in content
        assert b"7f3a" not in content

    def test_one_across_the_cut_is_gone_too(self, folder: Path) -> None:
        text = "x" * (module.MAX_FIELD_CHARS - 6) + CANARY
        open_audit(folder).append({"result": text}, durable=True)
        assert b"canary" not in files_of(folder)[0].read_bytes()

    def test_texts_are_bounded(self, folder: Path) -> None:
        open_audit(folder).append({"result": "\x00" * 100_000}, durable=True)
        (_, _), (_, line) = lines_of(folder)
        assert untied(line)[0]["result"] == "\x00" * module.MAX_FIELD_CHARS + "…"

    def test_a_text_of_just_the_bound_is_whole(self, folder: Path) -> None:
        open_audit(folder).append({"result": "x" * module.MAX_FIELD_CHARS}, durable=True)
        (_, _), (_, line) = lines_of(folder)
        assert untied(line)[0]["result"] == "x" * module.MAX_FIELD_CHARS


class TestRotation:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_FILE_BYTES", 2000)
        monkeypatch.setattr(module, "MAX_FILES", 3)

    def test_the_chain_goes_on_in_the_next_file(self, folder: Path) -> None:
        fill(folder, 15)
        assert len(files_of(folder)) == 2
        assert values(folder) == list(range(15))
        assert found(folder) == []

    def test_old_files_go_and_what_is_left_is_whole(self, folder: Path) -> None:
        fill(folder, 200).close()
        fill(folder, 100)
        assert len(files_of(folder)) == 3
        assert values(folder)[-1] == 99
        assert found(folder) == []

    def test_a_file_that_went_is_gone_after_a_power_cut_too(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(folder, 200).close()
        left: list[int] = []
        monkeypatch.setattr(module, "sync_folder", lambda at: left.append(len(files_of(at))))
        fill(folder, 100)
        assert left[-1] == 3

    def test_a_file_that_was_not_dropped_by_the_log_is_missed(self, folder: Path) -> None:
        fill(folder, 200)
        files_of(folder)[0].unlink()
        assert "the rows before row" in found(folder)[0]

    def test_a_cut_before_the_old_file_went_is_no_problem(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", lambda *_, **__: None)
            fill(folder, 40).close()
        assert len(files_of(folder)) > 3
        assert found(folder) == []
        fill(folder, 40)
        assert len(files_of(folder)) == 3
        assert found(folder) == []

    def test_an_oldest_file_without_a_row_drops_nothing_by_name(self, folder: Path) -> None:
        audit = fill(folder, 25)
        for path in files_of(folder)[:-1]:
            path.write_bytes(b"nothing\n")
        for number in range(10):
            audit.append({"value": number}, durable=False)
        assert len(files_of(folder)) == 3
        assert any("is not a row" in one for one in found(folder))


class TestAfterACut:
    def test_half_a_row_goes_and_nothing_else(self, folder: Path) -> None:
        fill(folder, 3).close()
        (path,) = files_of(folder)
        with path.open("ab") as file:
            file.write(b'{"n":5,"kind":"te\x00\x00')
        assert found(folder) == []
        fill(folder, 1)
        assert values(folder) == [0, 1, 2, 0]
        assert found(folder) == []

    @pytest.mark.parametrize("left", [b"", b'{"n":1'])
    def test_a_file_without_a_row_is_begun_anew(self, folder: Path, left: bytes) -> None:
        folder.mkdir()
        (folder / "000000000001.jsonl").write_bytes(left)
        fill(folder, 1)
        assert found(folder) == []

    def test_a_damaged_end_is_kept_and_told(self, folder: Path) -> None:
        fill(folder, 3).close()
        (path,) = files_of(folder)
        path.write_bytes(path.read_bytes()[:-30] + b"x\n")
        fill(folder, 1)
        assert len(files_of(folder)) == 2
        assert found(folder) == ["000000000001.jsonl line 4: the line is not a row"]
        assert list(lines_of(folder))[-1][1].count(b'"value":0') == 1

    def test_a_log_of_nothing_but_damage_does_not_stop_it(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "000000000001.jsonl").write_bytes(b"nothing\n" * 3)
        fill(folder, 1)
        assert len(files_of(folder)) == 2
        assert found(folder) != []

    def test_an_unfinished_line_before_the_last_file_is_damage(self, folder: Path) -> None:
        fill(folder, 1).close()
        (path,) = files_of(folder)
        path.write_bytes(path.read_bytes() + b"half")
        (folder / "000000000009.jsonl").write_bytes(b"")
        assert any("is not a row" in one for one in found(folder))


class TestNoRoom:
    def test_a_row_that_did_not_fit_is_refused_and_leaves_no_trace(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        audit = fill(folder, 2)
        with monkeypatch.context() as full:
            full.setattr(os, "write", half_of_it)
            with pytest.raises(StorageFull, match="audit log"):
                audit.append({"value": "lost"}, durable=True)
        audit.append({"value": 2}, durable=True)
        assert values(folder) == [0, 1, 2]
        assert found(folder) == []

    def test_a_row_that_may_not_have_arrived_counts_as_not_written(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        audit = fill(folder, 2)
        with monkeypatch.context() as failing:
            failing.setattr(os, "fdatasync", no_room)
            with pytest.raises(StorageFull, match="No space left"):
                audit.append({"value": "lost"}, durable=True)
        audit.append({"value": 2}, durable=True)
        assert values(folder) == [0, 1, 2]
        assert found(folder) == []

    def test_a_log_that_cannot_begin_begins_when_there_is_room(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        audit = open_audit(folder)
        with monkeypatch.context() as full:
            full.setattr(os, "fdatasync", no_room)
            with pytest.raises(StorageFull):
                audit.append({"value": "lost"}, durable=True)
        assert files_of(folder) == []
        audit.append({"value": 1}, durable=True)
        assert values(folder) == [1]
        assert found(folder) == []

    def test_a_read_only_disk_is_said(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Path, "mkdir", read_only)
        with pytest.raises(StorageFull, match="Read-only"):
            open_audit(folder).append({"value": 1}, durable=True)


def half_of_it(handle: int, content: bytes) -> int:
    with open(f"/proc/self/fd/{handle}", "ab") as file:  # noqa: PTH123 - the open handle itself
        return file.write(content[: len(content) // 2])


def no_room(_handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only(*_args: object, **_options: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_log_that_is_removed_while_it_is_written_is_missed(folder: Path) -> None:
    audit = fill(folder, 3)
    files_of(folder)[0].unlink()
    audit.append({"value": 3}, durable=True)
    assert values(folder) == [3]
    assert "the rows before row 5 are missing" in found(folder)[0]


def test_closing_twice_is_closing(folder: Path) -> None:
    audit = fill(folder, 1)
    audit.close()
    audit.close()


def test_a_field_is_cut_at_a_thousand_characters(folder: Path) -> None:
    open_audit(folder).append({"kind": "test", "value": "x" * 5000}, durable=False)
    [value] = values(folder)
    assert isinstance(value, str)
    assert 900 <= len(value) <= 1100


def test_a_row_is_written_in_the_letters_that_it_was_told_in(folder: Path) -> None:
    open_audit(folder).append({"kind": "test", "value": "Küche 书房"}, durable=False)
    (_, line) = list(lines_of(folder))[-1]
    assert "Küche 书房" in line.decode()


def test_a_closed_log_holds_no_file(folder: Path) -> None:
    audit = fill(folder, 1)
    assert len(held_in(folder)) == 1
    audit.close()
    assert held_in(folder) == []


def held_in(folder: Path) -> list[str]:
    """Files of the folder that this process has open."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    held = [str(link.readlink()) for link in links]
    return [one for one in held if one.startswith(str(folder))]


def test_no_more_of_the_card_is_used_than_a_photograph_takes() -> None:
    assert (module.MAX_FILE_BYTES, module.MAX_FILES) == (1_000_000, 10)


def test_a_log_holds_one_file_whatever_becomes_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = fill(folder, 3)
    files_of(folder)[0].unlink()
    audit.append({"value": 3}, durable=True)
    assert len(held_in(folder)) == 1
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 200)
    audit.append({"value": 4}, durable=True)
    audit.append({"value": 5}, durable=True)
    assert len(held_in(folder)) == 1
    with monkeypatch.context() as full:
        full.setattr(os, "fdatasync", no_room)
        with pytest.raises(StorageFull):
            audit.append({"value": 6}, durable=True)
    assert held_in(folder) == []


def test_damaged_rows_are_left_out_of_those_that_are_read(tmp_path: Path) -> None:
    line, _ = tied({"tool": "lamp"}, START)
    (tmp_path / "000001.jsonl").write_bytes(b"damaged\n" + line)
    names = [path.name for path in module.files_of(tmp_path)]
    rows = list(module.rows_of(tmp_path))
    assert names
    assert [module.text_of(row, "tool") for row in rows] == ["lamp"]
    assert module.text_of(rows[0], "absent") == ""


def test_a_row_that_only_seems_to_be_written_is_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = fill(folder, 1)
    with monkeypatch.context() as patch:
        turn_read_only(patch)
        with pytest.raises(StorageFull, match="Read-only file system"):
            audit.append({"kind": "test", "value": 1}, durable=True)
    audit.append({"kind": "test", "value": 2}, durable=True)
    assert values(folder) == [0, 2]
    assert found(folder) == []
