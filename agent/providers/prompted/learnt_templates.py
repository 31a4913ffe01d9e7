"""Templates that models were seen to write their calls in, by service and model.

A model whose calls had the same few templates for a while is taken at its word: other forms are no
calls of its own. One call in another form, and what was learnt is forgotten. Learnt templates are
kept in a file of the state folder; what is still being learnt goes with the process.
"""

import logging
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.errors import StorageFull
from agent.storage.files import replace_unsynced

_log = logging.getLogger(__name__)

# So many answers with calls and no new template among them: an accident is past, a habit seen
LEARNT_AFTER = 4
# More than a household has models; the oldest goes
MAX_MODELS = 64
# Service, model, and the form in which it was told of its tools
Writer = tuple[str, str, str]
_WRITER_PARTS = 3


class _Seen(Struct):
    """Templates of a model, and the answers since the newest one of them."""

    templates: frozenset[str]
    answers: int


class LearntTemplates:
    """Remembers in which templates models write.

    Args:
        path: the file; None keeps nothing beyond the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._seen = {writer: _Seen(known, LEARNT_AFTER) for writer, known in _read(path).items()}

    def of(self, writer: Writer) -> frozenset[str]:
        """Return the templates of a model; none while they are not learnt."""
        seen = self._seen.get(writer)
        return seen.templates if seen is not None and _is_learnt(seen) else frozenset()

    def wrote(self, writer: Writer, templates: frozenset[str]) -> None:
        """Note the templates of an answer whose calls could be used."""
        seen = self._seen.setdefault(writer, _Seen(frozenset(), 0))
        was_learnt = _is_learnt(seen)
        is_new = not templates <= seen.templates
        seen.templates |= templates
        seen.answers = 1 if is_new else seen.answers + 1
        if was_learnt != _is_learnt(seen):
            self._keep()
        if len(self._seen) > MAX_MODELS:
            del self._seen[next(iter(self._seen))]

    def forget(self, writer: Writer) -> None:
        """Forget a model's templates: it wrote in another one."""
        if self._seen.pop(writer, None) is not None:
            self._keep()

    def _keep(self) -> None:
        if self._path is None:
            return
        learnt = [
            [*writer, *sorted(seen.templates)]
            for writer, seen in self._seen.items()
            if _is_learnt(seen)
        ]
        try:
            replace_unsynced(self._path, msgspec.json.format(msgspec.json.encode(learnt), indent=1))
        except (OSError, StorageFull) as err:
            # Learnt again after the next start
            _log.warning("provider: templates not kept (path=%s, error=%s)", self._path, err)


def _is_learnt(seen: _Seen) -> bool:
    return seen.answers >= LEARNT_AFTER


def _read(path: Path | None) -> dict[Writer, frozenset[str]]:
    """Return what is in the file; nothing of one that is damaged."""
    if path is None:
        return {}
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=list[list[str]])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as err:
        # It is not synced, so a power cut may cost it; four answers, and it is there again
        _log.info("provider: templates are learnt anew (path=%s, reason=%s)", path, err)
        return {}
    return {
        (service, model, form): frozenset(templates)
        for service, model, form, *templates in (row for row in rows if len(row) > _WRITER_PARTS)
    }
