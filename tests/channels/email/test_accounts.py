import msgspec

from agent.channels.email.accounts import receiver
from agent.channels.settings import EmailSettings

GOOD = EmailSettings(address="pi@example.org", authserv_id="mx.example.org")


def test_letters_are_for_the_agent_at_each_of_its_addresses() -> None:
    more = msgspec.structs.replace(GOOD, user="Pi@host.example", aliases=("home@example.net",))
    who = receiver(more)
    for address in ("PI@example.org", "pi@host.example", "home+lamp@example.net"):
        assert who.is_at(address)
    assert not who.is_at("eve@example.org")
    # What it logs in as is no address everywhere
    assert receiver(msgspec.structs.replace(GOOD, user="pi")).addresses == ("pi@example.org",)
