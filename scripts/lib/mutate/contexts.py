"""A plugin of pytest that tells coverage which test is at work, threads and tasks too."""

from collections.abc import Iterator

import coverage
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Everything from the test's fixtures to their end counts for the test."""
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(item.nodeid)
    yield
    if running is not None:
        running.switch_context("")
