import gzip

import pytest

from agent.console.static_files import address, static_file

# With the page itself the first one has at most 100 KB
MOST_BYTES = 80_000


def test_what_a_first_page_needs_is_small() -> None:
    found = [static_file(name) for name in ("console.css", "console.js", "icon.svg")]
    assert sum(len(one.packed) for one in found if one) <= MOST_BYTES


def test_a_file_is_the_same_packed_and_not() -> None:
    found = static_file("console.js")
    assert found is not None
    assert gzip.decompress(found.packed) == found.plain
    assert found.tag in address("console.js")


@pytest.mark.parametrize(
    "name", ["", "../pages.py", "vendor/htmx.min.js", "console.js/", "%2e%2e/x", "/etc/passwd"]
)
def test_a_name_is_no_path(name: str) -> None:
    assert static_file(name) is None


@pytest.mark.parametrize("name", ["console.css", "console.js", "plot.js", "plot.css", "icon.svg"])
def test_nobody_else_is_asked_for_anything(name: str) -> None:
    found = static_file(name)
    assert found is not None
    for line in found.plain.decode().splitlines():
        if name != "icon.svg":
            assert "@import" not in line
            assert "url(http" not in line
