import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.security.audit_chain import START, Broken, Link, link_of, problems, tied, untied

Lines = list[tuple[str, bytes]]
texts = st.dictionaries(st.sampled_from(["tool", "reason", "rule"]), st.text(max_size=40))


def chain(count: int, after: Link = START) -> Lines:
    lines = []
    for number in range(count):
        line, after = tied({"tool": "lamp", "value": number}, after)
        lines.append((f"line {number + 1}", line))
    return lines


def place(line: tuple[str, bytes]) -> Link:
    return untied(line[1])[1]


def found(lines: Lines, *anchors: Link) -> str:
    return "; ".join(problems(lines, anchors))


def test_what_was_written_has_no_problem() -> None:
    lines = chain(20)
    assert found(lines, place(lines[-1]), place(lines[3])) == ""
    assert found([]) == ""


@given(texts)
def test_a_row_comes_back_and_is_one_line(row: dict[str, str]) -> None:
    line, link = tied(row, START)
    assert line.count(b"\n") == 1
    back, place = untied(line)
    assert place == link
    kept = {name: text.encode(errors="replace").decode() for name, text in row.items()}
    assert {name: back[name] for name in row} == kept


@given(st.integers(0, 19), st.data())
def test_a_changed_byte_of_any_row_is_found(which: int, data: st.DataObject) -> None:
    lines = chain(20)
    where, line = lines[which]
    position = data.draw(st.integers(0, len(line) - 2))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[position]))
    lines[which] = (where, line[:position] + bytes([other]) + line[position + 1 :])
    assert where in found(lines)


def test_a_change_is_named_once_and_where_it_is() -> None:
    lines = chain(9)
    lines[4] = ("line 5", lines[4][1].replace(b"lamp", b"pump"))
    assert found(lines) == "line 5: the line was changed"


def test_a_changed_row_with_a_new_hash_is_found_by_the_one_after_it() -> None:
    lines = chain(9)
    forged, _ = tied({"tool": "pump", "value": 4}, place(lines[3]))
    lines[4] = ("line 5", forged)
    assert found(lines) == "line 6: row 6 does not continue row 5: one of them was replaced"


@pytest.mark.parametrize("count", [1, 3])
def test_removed_rows_are_found(count: int) -> None:
    lines = chain(9)
    del lines[4 : 4 + count]
    missing = "a row is" if count == 1 else "3 rows are"
    assert f"{missing} missing before row {5 + count}" in found(lines)


def test_an_anchored_row_that_was_removed_is_missing_once() -> None:
    lines = chain(9)
    anchor = place(lines.pop(4))
    assert found(lines, anchor) == "line 6: a row is missing before row 6"


def test_removed_first_rows_are_found() -> None:
    assert found(chain(9)[2:]) == "line 3: the rows before row 3 are missing"


def test_an_inserted_row_is_found() -> None:
    lines = chain(9)
    extra, _ = tied({"tool": "pump"}, place(lines[3]))
    lines.insert(4, ("extra", extra))
    assert "row 5 comes after row 5: inserted or moved" in found(lines)


def test_an_inserted_line_that_is_no_row_is_found() -> None:
    lines = chain(9)
    lines.insert(4, ("extra", b'{"tool":"pump"}\n'))
    assert "extra: the line is not a row" in found(lines)


@given(st.permutations(range(8)))
def test_another_order_is_found(order: list[int]) -> None:
    lines = chain(8)
    shuffled = [lines[index] for index in order]
    assert bool(found(shuffled)) == (order != sorted(order))


class TestTheEnd:
    def test_without_an_anchor_a_shorter_chain_is_a_chain(self) -> None:
        assert found(chain(9)[:5]) == ""

    def test_with_one_it_is_found(self) -> None:
        lines = chain(9)
        assert found(lines[:5], place(lines[7])) == (
            "the end is missing: row 8 was written after row 5"
        )
        assert "row 9 was written after row 0" in found([], place(lines[8]))

    def test_what_came_after_the_anchor_may_be_cut_unseen(self) -> None:
        lines = chain(9)
        assert found(lines[:8], place(lines[7])) == ""

    def test_a_chain_written_anew_is_found_by_an_anchor(self) -> None:
        lines, anew = chain(9), chain(9, Link(0, "1" * 64))
        assert "row 4 is not the original" in found(anew, place(lines[3]))


class TestDropped:
    def test_a_beginning_that_was_dropped_by_a_row_of_the_chain_is_none_missing(self) -> None:
        old = chain(5)
        line, last = tied({"kind": "continued", "dropped": str(place(old[2]))}, place(old[4]))
        more = [("line 6", line), *chain(2, last)]
        assert found([*old[3:], *more]) == ""
        assert found([*old, *more]) == ""
        assert "rows before row 5 are missing" in found([*old[4:], *more])


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"\x00" * 40,
        b'{"n":1}\n',
        b'{"n":1,"hash":"00"}\n',
    ],
)
def test_what_is_no_row_is_refused(line: bytes) -> None:
    with pytest.raises(Broken, match="is not a row"):
        untied(line)


@pytest.mark.parametrize("body", [b"[]}", b"{}", b'{"n":null}', b'{"n":"x"}', b"[" * 9999 + b"}"])
def test_a_row_without_a_number_is_refused_though_its_hash_is_right(body: bytes) -> None:
    digest = hashlib.sha256(body).hexdigest().encode()
    with pytest.raises(Broken, match="is not a row"):
        untied(body[:-1] + b',"hash":"' + digest + b'"}\n')


def test_a_place_is_shown_and_read_again() -> None:
    link = place(chain(3)[2])
    assert link_of(f" {link}\n") == link
    for wrong in ("", "3", "3:", "x:" + "0" * 64, "3:" + "g" * 64, "-1:" + "0" * 64):
        with pytest.raises(ValueError, match="colon"):
            link_of(wrong)


def test_rows_can_be_read_as_json() -> None:
    (_, line) = chain(1)[0]
    assert set(json.loads(line)) == {"n", "tool", "value", "prev", "hash"}
