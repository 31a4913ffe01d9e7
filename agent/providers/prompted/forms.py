"""Models' support for tools, learned from refusals, and how their answers begin.

A service that learns tools, or a local model that is loaded with another template, is found out
when the time is over. What was found is kept as long as the process; a restart costs one refusal.
"""

from agent.providers.prompted.learnt_templates import LearntTemplates
from agent.system.clock import Clock

# A day: often enough to notice a service that has learned tools, seldom enough to cost nothing
WORDS_FOR_S = 24 * 3600.0
# More than anybody switches between; the oldest goes
MAX_REMEMBERED = 256

Asked = tuple[str, str]


class ToolForms:
    """Remembers the models that refused tools; shared by all providers.

    Args:
        templates: what was learnt of the calls that models write as text.
    """

    def __init__(self, clock: Clock, templates: LearntTemplates | None = None) -> None:
        self.clock = clock
        self.templates = templates or LearntTemplates()
        self._until_s: dict[Asked, float] = {}
        self._thinks: dict[Asked, bool] = {}

    def takes_words(self, service: str, model: str) -> bool:
        """Return true if tools must be described in words."""
        return self._until_s.get((service, model), 0.0) > self.clock.monotonic_s()

    def begins_in_thought(self, service: str, model: str) -> bool | None:
        """Return if a model's answers begin in a thought; None where none has told yet."""
        return self._thinks.get((service, model))

    def told(self, service: str, model: str, *, begins_in_thought: bool) -> None:
        """Remember how an answer of a model began."""
        self._thinks.pop((service, model), None)
        self._thinks[service, model] = begins_in_thought
        if len(self._thinks) > MAX_REMEMBERED:
            del self._thinks[next(iter(self._thinks))]

    def refused(self, service: str, model: str) -> None:
        """Remember that the model takes no tools."""
        self._until_s.pop((service, model), None)
        self._until_s[service, model] = self.clock.monotonic_s() + WORDS_FOR_S
        if len(self._until_s) > MAX_REMEMBERED:
            del self._until_s[next(iter(self._until_s))]
