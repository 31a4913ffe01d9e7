"""Cache for results of values that never change, made once instead of for every request.

A value is known by its identity and is kept with what was made of it, so that its place in memory
stays its own. How many are kept is bounded; how large they may be, the user says.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Once(Generic[K, V]):
    """Calls `make` for a value it has not seen; `make` never returns None.

    Args:
        most: values that are kept; one more, and all of them are let go.
        is_kept: whether what was made is small enough to be kept.
    """

    def __init__(
        self, make: Callable[[K], V], most: int, is_kept: Callable[[V], bool] = lambda _made: True
    ) -> None:
        self._make = make
        self._most = most
        self._is_kept = is_kept
        self._made: dict[int, V] = {}
        self._values: list[K] = []

    def __call__(self, value: K) -> V:
        made = self._made.get(id(value))
        return self._added(value) if made is None else made

    def each(self, values: Sequence[K]) -> list[V]:
        """Return the results for many values, most of them seen before."""
        made = list(map(self._made.get, map(id, values)))
        return [self._added(values[at]) if one is None else one for at, one in enumerate(made)]

    def _added(self, value: K) -> V:
        made = self._make(value)
        if self._is_kept(made) and id(value) not in self._made:
            if len(self._values) >= self._most:
                self._made.clear()
                self._values.clear()
            self._made[id(value)] = made
            self._values.append(value)
        return made
