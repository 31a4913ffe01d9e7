import json
from pathlib import Path

import pytest

from agent.errors import StorageCorrupt
from agent.storage.documents import MOST_SET_ASIDE, open_documents

TEA, MILK = {"name": "tea"}, {"name": "milk"}


def test_documents_come_back_and_can_be_read_by_a_person(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    open_documents(path).insert({"name": "小美", "role": "owner"})
    assert open_documents(path).all() == [{"name": "小美", "role": "owner"}]
    assert "小美" in path.read_text()


def test_a_damaged_file_is_set_aside_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text('{"_default": {"1": {"na')
    documents = open_documents(path)
    assert documents.all() == []
    documents.insert({"name": "new"})
    assert (tmp_path / "people.json.corrupt").read_text().startswith('{"_default"')


def test_a_second_slip_takes_nothing_from_the_first_and_both_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "jobs.json"
    documents = open_documents(path)
    for number in range(MOST_SET_ASIDE + 1):
        path.write_text(f"slip {number}")
        assert documents.all() == []
    aside = sorted(tmp_path.glob("jobs.json.corrupt*"))
    slips = [*range(MOST_SET_ASIDE - 1), MOST_SET_ASIDE]
    assert [one.read_text() for one in aside] == [f"slip {number}" for number in slips]
    assert caplog.text.count("damaged file set aside") == MOST_SET_ASIDE + 1


@pytest.mark.parametrize("content", ['[{"name": "tea"}]', "[]", '"tea"', "7", "null"])
def test_json_of_another_shape_is_set_aside_not_lost(tmp_path: Path, content: str) -> None:
    path = tmp_path / "people.json"
    path.write_text(content)
    documents = open_documents(path)
    assert documents.all() == []
    documents.insert(TEA)
    assert open_documents(path).all() == [TEA]
    assert (tmp_path / "people.json.corrupt").read_text() == content


@pytest.mark.parametrize("half", [rb"\ud800", rb"\uDC00", "\ud800".encode(errors="surrogatepass")])
def test_half_a_character_is_replaced_and_the_rest_can_be_changed(
    tmp_path: Path, half: bytes
) -> None:
    path = tmp_path / "jobs.json"
    path.write_bytes(b'{"_default": {"1": {"name": "tea%s"}}}' % half)
    documents = open_documents(path)
    # Whoever shows it can write it
    assert documents.all()[0]["name"].encode().startswith(b"tea?")
    documents.insert(MILK)
    documents.insert({"name": "caf\udce9"})
    assert [one["name"] for one in open_documents(path).all()][1:] == ["milk", "caf?"]


def test_whole_characters_stay_whichever_way_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_bytes(rb'{"_default": {"1": {"name": "\ud83c\udf75 \\ud800"}}}')
    documents = open_documents(path)
    documents.insert({"name": "\ud55c\uad6d"})
    names = [one["name"] for one in open_documents(path).all()]
    assert names == ["\U0001f375 \\ud800", "\ud55c\uad6d"]


def test_what_a_person_adds_that_is_no_document_stays_and_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"_default": {"1": TEA, "milk": MILK, "2": "milk", "03": MILK}}))
    documents = open_documents(path)
    assert documents.all() == [TEA]
    documents.insert(MILK)
    assert documents.all() == [TEA, MILK]
    kept = json.loads(path.read_text())["_default"]
    assert (kept["milk"], kept["no document 2"], kept["03"]) == (MILK, "milk", MILK)


@pytest.mark.parametrize("rows", [[TEA], "tea", 7])
def test_a_table_of_something_else_is_empty_and_not_written_over(
    tmp_path: Path, rows: object
) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"_default": rows}))
    documents = open_documents(path)
    assert documents.all() == []
    with pytest.raises(StorageCorrupt, match="check it"):
        documents.insert(MILK)
    assert json.loads(path.read_text()) == {"_default": rows}


def test_what_a_person_adds_takes_no_number_that_is_given_next(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    documents = open_documents(path)
    documents.insert(TEA)
    path.write_text(json.dumps({"_default": {"1": TEA, "2": MILK}}))
    documents.insert(TEA)
    assert documents.all() == [TEA, MILK, TEA]
