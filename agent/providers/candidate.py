"""Model at a service that may answer, with all keys for it."""

from collections.abc import Sequence

from msgspec import Struct

from agent.providers.base import Provider
from agent.providers.circuit_breaker import CircuitBreaker

# What a service without a word of its own is left alone for after it said "too often"
COOL_DOWN_S = 10.0
# The only key there is: a person waits, and after a few tries is told rather than kept in silence
LONE_COOL_DOWN_S = 2.0
# A key that was refused is tried again after this: a person may have paid or unlocked it
REFUSED_S = 600.0
# The only key there is: a person waits for an answer, and a refusal costs nothing
LONE_REFUSED_S = 5.0


class _Key(Struct):
    """Access to a service by one key, and the time until which it rests."""

    provider: Provider
    rests_until_s: float = 0.0


class ModelCandidate:
    """Gives access to the model while a key is of use.

    Args:
        name: for people, such as ``groq`` or ``openai:gpt-5.6-luna``.
        providers: one for each key, the one to begin with first.
        model: what is asked instead of the service's configured model; None leaves it.
    """

    def __init__(self, name: str, providers: Sequence[Provider], model: str | None = None) -> None:
        self.name = name
        self.model = model
        self.circuit = CircuitBreaker()
        self._keys = [_Key(provider) for provider in providers]

    @property
    def first(self) -> Provider:
        return self._keys[0].provider

    @property
    def providers(self) -> tuple[Provider, ...]:
        return tuple(key.provider for key in self._keys)

    def way(self, now_s: float) -> Provider | None:
        """Return access by the key that is used now; None while every key rests."""
        for key in self._keys:
            if key.rests_until_s <= now_s:
                return key.provider
        return None

    def slow_down(self, provider: Provider, asked_s: float | None, now_s: float) -> None:
        """Rest a key that asked too often: it is the next key's turn."""
        usual_s = COOL_DOWN_S if len(self._keys) > 1 else LONE_COOL_DOWN_S
        # A wait of nothing is no word: a limit that is told with a clock behind ours has passed
        self._rest(provider, now_s + (asked_s or usual_s))

    def refuse(self, provider: Provider, now_s: float) -> None:
        """Rest a refused key: long if another one is of use, else briefly."""
        others = [key for key in self._keys if key.provider is not provider]
        has_other = any(key.rests_until_s <= now_s for key in others)
        self._rest(provider, now_s + (REFUSED_S if has_other else LONE_REFUSED_S))

    def pass_on(self, provider: Provider, now_s: float) -> None:
        """Make it the next key's turn, without a rest: it is the service that failed."""
        self._rest(provider, now_s)

    def rest_s(self, now_s: float) -> float:
        """Return the seconds until a key can be used again."""
        return max(0.0, min(key.rests_until_s for key in self._keys) - now_s)

    def _rest(self, provider: Provider, until_s: float) -> None:
        position = next(i for i, key in enumerate(self._keys) if key.provider is provider)
        rested = self._keys.pop(position)
        rested.rests_until_s = until_s
        # To the end: the others are used up before this one is asked again
        self._keys.append(rested)
