"""A kernel that has no watches of folders left."""

import errno

import inotify_simple
import pytest


def no_watches_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(inotify_simple.INotify, "add_watch", refused)
