from agent.channels.email.send import EmailDraft, written
from agent.channels.email.threads import EmailHeaders

# As long as those of large providers are
LONG = f"<{'AM0PR04MB' * 6}@AM0PR04MB0001.eurprd04.prod.outlook.example.org>"
OLD = "<root@example.org>"


def sent(answers: str) -> bytes:
    heading = EmailHeaders("pump", (OLD, LONG))
    draft = EmailDraft("anna@example.org", "on", "<1@example.org>", answers, OLD, heading)
    return written(draft, "barnacle@example.org", 0).as_bytes()


def test_a_long_id_is_named_as_it_was_written() -> None:
    lines = sent(LONG).splitlines()
    assert f"In-Reply-To: {LONG}".encode() in lines
    assert lines[lines.index(f"References: {OLD}".encode()) + 1] == f" {LONG}".encode()


def test_an_id_that_is_no_ascii_goes_as_before() -> None:
    assert b"In-Reply-To: =?utf-8?" in sent("<é@example.org>")
