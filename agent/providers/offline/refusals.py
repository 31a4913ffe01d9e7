"""Refusals: why nothing was done, by the word that was not known, and what there is instead."""

from agent.providers.offline.plan import MAX_OPTIONS, Say
from agent.providers.offline.toolbox import Toolbox


def refusal(word: str, box: Toolbox) -> Say:
    """The sentence for an order that was not read whole."""
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
        return Say("unaccounted", {"word": word, "things": listed})
    return Say("not_plain", {"things": listed})
