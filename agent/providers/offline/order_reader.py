"""Orders in a text that is carried out later: those that need no model to be understood."""

import asyncio
from collections.abc import Sequence

from agent.messages import ToolSpec
from agent.providers.offline.addressee import addressed
from agent.providers.offline.interpreter import understand
from agent.providers.offline.language import detect
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import CallStep, Order
from agent.providers.offline.toolbox import toolbox


async def orders_in(text: str, language: str, specs: Sequence[ToolSpec]) -> tuple[Order, ...]:
    """Return the calls that a text orders; none where it is no plain order.

    Args:
        language: that it is probably in.
    """
    # The words of every language are read for it once, which takes a while
    code = await asyncio.to_thread(detect, text, language)
    box = toolbox(sorted(specs, key=lambda spec: spec.name))
    said = analyse(addressed(text, box), code, box.names)
    step = (await understand(said, box, [], None, Likenesses(None))).step
    if not isinstance(step, CallStep) or step.purpose:
        return ()
    profiles = [box.find(order.tool) for order in step.orders]
    if not all(profile is not None and profile.acts for profile in profiles):
        return ()
    return step.orders
