"""Names of the firmware that become names of MicroPython: every one keeps its meaning."""

import ast

from firmware.host.bundle import BundledFile, bundle
from firmware.host.constants import without_constants
from firmware.host.flash_names import in_flash
from firmware.host.linker import linked
from firmware.host.shrink import shrunk


def played(**texts: str) -> dict[str, object]:
    """The globals of the last file after all of them have run in one space."""
    files = [BundledFile(f"node/{name}.py", text.encode()) for name, text in texts.items()]
    space: dict[str, object] = {}
    for file in in_flash(files):
        exec(compile(file.content, file.target, "exec"), space)
    return space


def test_private_names_of_two_classes_and_of_the_file_stay_apart() -> None:
    space = played(
        loop="def _one():\n    return 1\n\n\nclass First:\n    def __init__(self):\n"
        "        self._two = 2\n\n    def _one(self):\n        return self._two + _one()\n\n"
        "    def both(self):\n        return self._one()\n\n\nclass Second:\n"
        "    def __init__(self):\n        self._six = 6\n\n    def both(self):\n"
        "        return self._six\n\n\nsaid = str([First().both(), Second().both()])\n"
    )
    assert "[3, 6]" in space.values()


def test_a_relative_and_a_stranger_find_a_private_name() -> None:
    space = played(
        loop="class Parent:\n    def __init__(self):\n        self._held = 5\n\n\n"
        "class Child(Parent):\n    def told(self):\n        return self._held\n\n\n"
        "def peek(thing):\n    return thing._held\n\n\n"
        "said = str((Child().told(), peek(Child())))\n"
    )
    assert "(5, 5)" in space.values()


def test_what_is_asked_for_as_a_string_keeps_its_name() -> None:
    space = played(
        loop="class Feature:\n    def ticked(self):\n        return 'yes'\n\n\n"
        "said = getattr(Feature(), 'ticked')()\n"
    )
    assert "yes" in space.values()


def test_a_caught_fault_is_read_by_the_name_that_it_has() -> None:
    space = played(
        loop="class Refusal(Exception):\n    def __init__(self, code):\n"
        "        super().__init__('no')\n        self.code = code\n\n\ndef refusal():\n"
        "    try:\n        raise Refusal(4)\n    except Refusal as refusal:\n"
        "        return 'code %d' % refusal.code\n\n\nsaid = refusal()\n"
    )
    assert "code 4" in space.values()


def test_numbers_stand_where_they_are_used() -> None:
    files = [
        BundledFile(
            "node/loop.py", b"SIZE = 3\n_LATE = const(7)\n\n\ndef f():\n    return _LATE\n"
        ),
        BundledFile(
            "node/far.py",
            b"from node import loop\nfrom node.loop import SIZE\nsaid = (SIZE, loop.SIZE)\n",
        ),
    ]
    made = {file.target: file.content.decode() for file in without_constants(files)}
    assert made["node/loop.py"].split() == ["def", "f():", "return", "7"]
    assert "said = (3, 3)" in made["node/far.py"]


def test_a_name_that_changes_is_no_constant() -> None:
    files = [BundledFile("node/loop.py", b"COUNT = 0\nfor COUNT in (1, 2):\n    pass\n")]
    assert (
        without_constants(files)[0].content
        == ast.unparse(ast.parse(files[0].content)).encode() + b"\n"
    )


def test_nothing_of_the_firmware_gets_a_name_that_it_uses_for_something_else() -> None:
    before = shrunk(without_constants(linked(bundle("nucleo_f411re"))), has_machine_code=True)
    calls = {
        node.func.id
        for file in before
        if file.target.endswith(".py")
        for node in ast.walk(ast.parse(file.content))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    known = {"len", "hasattr", "tuple", "getattr", "range", "bytes", "struct"} & calls
    for file in in_flash(before):
        if file.target.startswith("node/") and file.target.endswith(".py"):
            defined = {
                node.name
                for node in ast.walk(ast.parse(file.content))
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
            }
            assert not defined & known
