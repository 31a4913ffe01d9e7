import asyncio
import sys

import pytest

from agent.cli.loop import run_in_loop


async def answer() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_the_result_comes_back_from_uvloop() -> None:
    assert run_in_loop(answer()).startswith("uvloop")


def test_without_uvloop_asyncio_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert run_in_loop(answer()).startswith("asyncio")


def test_an_error_comes_through() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_in_loop(fail())
