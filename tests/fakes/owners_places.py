"""Where the owner of a household is found, on channels of a test's choosing."""

from collections.abc import Mapping

from agent.channels.base import Channel
from agent.dispatch.activity import Activity
from agent.dispatch.whereabouts import Whereabouts
from agent.messages import Address
from tests.fakes.household import Household

LOCAL = Address("terminal", "local", "owner")


def places_of(
    home: Household, channels: Mapping[str, Channel], activity: Activity | None = None
) -> Whereabouts:
    return Whereabouts(home.people, channels, activity or Activity(), home.clock, LOCAL)
