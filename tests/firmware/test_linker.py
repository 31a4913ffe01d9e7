"""Modules joined into one file: every name keeps its meaning."""

from firmware.host.bundle import BundledFile, bundle
from firmware.host.linker import linked


def joined(**texts: str) -> dict[str, dict[str, object]]:
    """The globals of each file after it has run, by its target."""
    files = [BundledFile(f"node/{name}.py", text.encode()) for name, text in texts.items()]
    spaces = {}
    for file in linked(files):
        space: dict[str, object] = {}
        exec(compile(file.content, file.target, "exec"), space)
        spaces[file.target] = space
    return spaces


def test_a_name_of_two_modules_stands_for_two_things() -> None:
    spaces = joined(
        loop="from node.a import seen\n_LIMIT = 1\n\n\ndef both():\n    return _LIMIT, seen()\n",
        a="_LIMIT = 2\n\n\ndef seen():\n    return _LIMIT\n",
    )
    assert list(spaces) == ["node/loop.py"]
    both = spaces["node/loop.py"]["both"]
    assert callable(both)
    assert both() == (1, 2)


def test_a_local_name_and_an_attribute_stay_what_they_are() -> None:
    spaces = joined(
        loop="from node import a\nfrom node.b import take\n\n\ndef run(take_2):\n"
        "    size = 5\n    return a.size, size, take_2, take(1).size\n",
        a="size = 3\n",
        b="size = 4\n\n\nclass _Thing:\n    size = 7\n\n    def __init__(self, one):\n"
        "        self.one = one\n\n\ndef take(one):\n    return _Thing(one)\n",
    )
    run = spaces["node/loop.py"]["run"]
    assert callable(run)
    assert run(9) == (3, 5, 9, 7)


def test_what_is_imported_on_demand_stays_a_file_of_its_own() -> None:
    files = [
        BundledFile("node/loop.py", b"def late():\n    from node.far import go\n    return go()\n"),
        BundledFile("node/far.py", b"from node.near import word\n\n\ndef go():\n    return word\n"),
        BundledFile("node/near.py", b"word = 'far'\n"),
    ]
    made = {file.target: file.content.decode() for file in linked(files)}
    assert set(made) == {"node/loop.py", "node/far.py"}
    assert "word = 'far'" in made["node/far.py"]


def test_files_outside_of_the_package_are_left_alone() -> None:
    before = {file.target: file.content for file in bundle("nucleo_f411re")}
    after = {file.target: file.content for file in linked(bundle("nucleo_f411re"))}
    outside = {name for name in before if not name.startswith("node/")}
    assert {name: before[name] for name in outside} == {name: after[name] for name in outside}
    assert len(after) < len(before) - 20
