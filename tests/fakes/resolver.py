"""Resolvers that say what a test wants, and count how often they were asked."""

from collections.abc import Mapping, Sequence

from agent.errors import NetworkError

PUBLIC = "93.184.216.34"


class FixedResolver:
    """Knows some names; every other one is not found."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self._names:
            raise NetworkError(f"{host} was not found")
        return [*self._names[host]]


class RebindingResolver:
    """Says something harmless first, and where it really wants to go ever after."""

    def __init__(self, *answers: str) -> None:
        self._answers = answers
        self.asked = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        answer = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        return [answer]
