"""Where the owner of a household is found, on channels of a test's choosing."""

from collections.abc import Mapping

from agent.access.owner_contact import OwnerContact
from agent.channels.base import Channel
from agent.messages import Address
from agent.system.activity import Activity
from tests.fakes.household import Household

LOCAL = Address("terminal", "local", "owner")


def places_of(
    home: Household, channels: Mapping[str, Channel], activity: Activity | None = None
) -> OwnerContact:
    return OwnerContact(home.people, channels, activity or Activity(), home.clock, LOCAL)
