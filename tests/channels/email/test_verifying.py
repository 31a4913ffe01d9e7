from email.message import EmailMessage

import pytest

from agent.channels.email.verifying import is_vouched_for

SERVER = "mx.example.org"


def letter(*results: str) -> EmailMessage:
    made = EmailMessage()
    for result in results:
        made["Authentication-Results"] = result
    return made


@pytest.mark.parametrize(
    "result",
    [
        "mx.example.org; dmarc=pass (p=NONE) header.from=example.com",
        "mx.example.org 1; spf=pass smtp.mailfrom=anna@example.com",
        "mx.example.org; spf=fail smtp.mailfrom=x@evil.org; dkim=pass header.d=example.com",
        'MX.example.org; dkim=pass (2048-bit key) header.i=@example.com header.d="example.com"',
        "mx.example.org; dkim=pass header.d=other.org; dkim=pass header.d=example.com",
    ],
)
def test_what_the_receiving_server_proves_counts(result: str) -> None:
    assert is_vouched_for(letter(result), "example.com", SERVER)


def test_a_domain_vouches_for_what_is_beneath_it_and_not_for_what_is_above() -> None:
    told = "mx.example.org; dkim=pass header.d={}"
    assert is_vouched_for(letter(told.format("example.com")), "mail.example.com", SERVER)
    assert not is_vouched_for(letter(told.format("mail.example.com")), "example.com", SERVER)
    assert not is_vouched_for(letter(told.format("com")), "example.com", SERVER)
    assert not is_vouched_for(letter(told.format("ample.com")), "example.com", SERVER)


@pytest.mark.parametrize(
    "result",
    [
        "",
        "mx.example.org",
        "mx.example.org; none",
        "mx.example.org; dmarc=fail header.from=example.com",
        "mx.example.org; dmarc=pass header.from=evil.org",
        "mx.example.org; dkim=pass header.d=evil.org; spf=pass smtp.mailfrom=evil.org",
        "mx.example.org; x-dmarc=pass header.from=example.com",
        "mx.example.org; (dmarc=pass header.from=example.com) dmarc=fail header.from=example.com",
        "mx.example.org.evil.org; dmarc=pass header.from=example.com",
        "evil.org; dmarc=pass header.from=example.com",
    ],
)
def test_anything_else_does_not(result: str) -> None:
    assert not is_vouched_for(letter(result), "example.com", SERVER)


def test_only_the_topmost_result_of_the_server_counts() -> None:
    """What stands below it came with the letter, and can say anything."""
    forged = "mx.example.org; dmarc=pass header.from=example.com"
    real = "mx.example.org; dmarc=fail header.from=example.com"
    assert not is_vouched_for(letter(real, forged), "example.com", SERVER)
    assert is_vouched_for(letter("other.net; dmarc=fail", forged), "example.com", SERVER)


def test_without_a_server_that_vouches_nothing_is_true() -> None:
    told = letter("; dmarc=pass header.from=example.com", "x; dmarc=pass header.from=example.com")
    assert not is_vouched_for(told, "example.com", "")
    assert not is_vouched_for(told, "", SERVER)
