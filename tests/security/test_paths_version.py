import os

import pytest

from agent.security import paths


@pytest.mark.parametrize("field", ["st_dev", "st_ino", "st_size", "st_mtime_ns", "st_nlink"])
def test_whatever_differs_of_a_file_makes_it_another_version(field: str) -> None:
    order = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size")

    def status(changed: str) -> os.stat_result:
        plain = [2 if name == changed else 1 for name in order]
        times = [1, 1, 1]
        return os.stat_result(
            (*plain, *times), {"st_mtime_ns": 2 if changed == "st_mtime_ns" else 1}
        )

    assert paths._version(status("")) == paths._version(status("st_uid"))
    assert paths._version(status("")) != paths._version(status(field))
