"""Refusals: the reason nothing was done, the unknown word, and the things that are here."""

from agent.providers.offline.plan import MAX_OPTIONS, SayStep
from agent.providers.offline.toolbox import Toolbox


def refusal(word: str, box: Toolbox) -> SayStep:
    """Return the sentence for an order that was not fully understood."""
    there = list(
        dict.fromkeys(
            choice.shown.replace("_", " ")
            for profile in box.speakable
            if profile.acts and profile.device
            for choice in profile.device.choices
        )
    )
    listed = ", ".join(there[:MAX_OPTIONS])
    if len(there) > MAX_OPTIONS:
        listed += " ..."
    if word and word != "?":
        return SayStep("unaccounted", {"word": word, "things": listed})
    return SayStep("not_plain", {"things": listed})
