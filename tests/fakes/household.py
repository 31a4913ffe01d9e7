"""A store of people with somebody of every role in it, and the door before it."""

from pathlib import Path

from agent.access.admission import Admission
from agent.access.pairing import Pairing
from agent.access.pairing_codes import Codes
from agent.access.people import PairedGroup, PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.messages import Inbound, Provenance
from tests.fakes.clock import SteppedClock

# The stable ids of the platform
OWNER, USER, GUEST, STRANGER = "1001", "1002", "1003", "6666"
LET_IN, ELSEWHERE = "-100", "-200"


class Household:
    """An owner, a user, a guest and a group; the strangers come by themselves."""

    def __init__(self, folder: Path, *, is_empty: bool = False) -> None:
        self.clock = SteppedClock()
        # What the owner was told
        self.told: list[str] = []
        self.people = PeopleStore(folder / "people.json", self.clock)
        self.codes = Codes(folder / "codes.json", self.clock)
        self.pairing = Pairing.of(self.people, self.codes, self.clock, self.tell)
        self.door = Admission(self.pairing, self.clock, ["terminal"])
        if not is_empty:
            for rank, sender in (
                (PersonRole.OWNER, OWNER),
                (PersonRole.USER, USER),
                (PersonRole.GUEST, GUEST),
            ):
                self.people.let_in(rank, account(sender), rank.role)
            self.people.listen_in(PairedGroup(channel="telegram", target=LET_IN), wanted=True)

    async def tell(self, text: str) -> None:
        self.told.append(text)


def account(sender: str, channel: str = "telegram") -> PersonAccount:
    return PersonAccount(channel=channel, sender=sender, target=sender)


def said(text: str, sender: str, channel: str = "telegram", **more: object) -> Inbound:
    """A message in the private chat with the sender, as a platform hands it over."""
    fields: dict[str, object] = {
        "message_id": "1",
        "channel": channel,
        "sender": sender,
        "reply_target": sender,
        "text": text,
        "received_at_s": 1_800_000_000.0,
        "provenance": Provenance.WEB,
    }
    return Inbound(**{**fields, **more})  # type: ignore[arg-type]  # a table of fields, as tests write them
