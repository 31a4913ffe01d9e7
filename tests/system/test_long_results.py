"""A result that is too long, on the whole way: cut, kept, and still understood."""

import json
from pathlib import Path

from agent.tools.files import RESULTS_FOLDER
from agent.tools.results import MAX_RESULT_BYTES
from tests.fakes.chat_process import ChatProcess

FILES = 900


def test_a_folder_with_very_many_files_is_listed_in_part_and_kept_in_whole(tmp_path: Path) -> None:
    workspace = tmp_path / "state" / "workspace"
    workspace.mkdir(parents=True)
    for n in range(FILES):
        (workspace / f"measurements_of_the_greenhouse_{n:04}.csv").touch()
    with ChatProcess(tmp_path, "") as chat:
        answer = chat.say("list the files")
        status, errors = chat.leave()
    assert (status, errors) == (0, "")
    assert "measurements_of_the_greenhouse_0000.csv" in answer
    assert len(answer) < MAX_RESULT_BYTES
    (kept,) = (workspace / RESULTS_FOLDER).iterdir()
    assert kept.name.endswith("-file_list.tool.txt")
    assert len(json.loads(kept.read_text())["entries"]) == FILES
