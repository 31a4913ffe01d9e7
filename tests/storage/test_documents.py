from pathlib import Path

from agent.storage.documents import open_documents


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


def test_json_of_another_shape_is_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text("[]")
    assert open_documents(path).all() == []
