"""Letters as real programs put them together."""

import base64
from email.message import EmailMessage, MIMEPart

import pytest

from agent.channels.email.bulk import LetterBulk
from agent.channels.email.contents import EmailFile
from agent.channels.email.inbound import ReceivedEmail, read_letter
from agent.channels.email.parser import parsed

HEAD = "From: anna@example.org\r\nMIME-Version: 1.0\r\n"


def content(file: EmailFile) -> bytes:
    return b"".join(file.pieces())


def read(raw: bytes) -> ReceivedEmail:
    bulk = LetterBulk(raw)
    return read_letter(parsed(bulk.thin), (), bulk)


def mixed(*parts: str) -> bytes:
    whole = "".join(f"--b\r\n{part}\r\n" for part in parts)
    return f"{HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n{whole}--b--\r\n".encode()


def text(words: str) -> str:
    return f"Content-Type: text/plain; charset=utf-8\r\n\r\n{words}"


PICTURE = (
    'Content-Type: image/jpeg; name="IMG_1.jpeg"\r\n'
    'Content-Disposition: inline; filename="IMG_1.jpeg"\r\n'
    "Content-Transfer-Encoding: base64\r\n\r\n/9j/4A=="
)


def test_what_a_telephone_puts_behind_a_picture_is_read() -> None:
    found = read(
        mixed(text(""), PICTURE, text("\r\nTurn the pump off.\r\n\r\nSent from my iPhone"))
    )
    assert found.text == "Turn the pump off."
    assert [file.name for file in found.files] == ["IMG_1.jpeg"]
    around = read(mixed(text("This leaks:"), PICTURE, text("Turn the pump off.")))
    assert around.text == "This leaks:\nTurn the pump off."


PAGE = "Content-Type: text/html\r\n\r\n<p>Lamp on</p>"


def test_a_plain_footer_is_not_taken_for_the_letter() -> None:
    assert read(mixed(PAGE, text("Checked for viruses."))).text == "Lamp on\nChecked for viruses."


def test_of_two_forms_of_a_text_one_is_read() -> None:
    made = EmailMessage()
    made["From"] = "anna@example.org"
    made.set_content("Lamp on")
    made.add_alternative("<p>Lamp <b>on</b></p>", "html")
    made.add_attachment(b"%PDF", "application", "pdf", filename="a.pdf")
    found = read(made.as_bytes())
    assert (found.text, [content(one) for one in found.files]) == ("Lamp on", [b"%PDF"])


CALENDAR = "Content-Type: text/calendar; method=REQUEST; charset=utf-8\r\n\r\nBEGIN:VCALENDAR"


def test_what_an_invitation_says_is_a_file_although_it_has_no_name() -> None:
    """As Outlook sends it: its text says nothing of the time."""
    forms = mixed(text("Dinner at ours"), PAGE, CALENDAR).replace(b"mixed", b"alternative")
    found = read(forms)
    assert found.text == "Dinner at ours"
    told = [(one.name, one.media_type, content(one)) for one in found.files]
    assert told == [("invitation.ics", "text/calendar", b"BEGIN:VCALENDAR")]


@pytest.mark.parametrize("kind", ["image/jpeg", "application/pdf", "text/csv", "audio/amr"])
def test_what_a_program_sends_without_a_name_is_a_file(kind: str) -> None:
    bare = f"Content-Type: {kind}\r\n\r\n1,2"
    [file] = read(mixed(text("look"), bare)).files
    assert (file.media_type, content(file)) == (kind, b"1,2")
    [alone] = read(f"{HEAD}{bare}".encode()).files
    assert content(alone) == b"1,2"


def test_signatures_and_other_forms_of_a_text_are_no_files() -> None:
    signature = "Content-Type: application/pgp-signature\r\n\r\n-----BEGIN PGP SIGNATURE-----"
    watch = "Content-Type: text/watch-html\r\n\r\n<b>Lamp on</b>"
    assert read(mixed(text("Lamp on"), signature)).files == ()
    forms = mixed(text("Lamp on"), watch, PAGE).replace(b"mixed", b"alternative")
    assert read(forms).files == ()


@pytest.mark.parametrize("blank", ["", "\r\n", " \r\n\r\n", "\xa0"])
def test_a_page_is_read_where_the_plain_text_beside_it_is_blank(blank: str) -> None:
    forms = mixed(text(blank), PAGE).replace(b"mixed", b"alternative")
    assert read(forms).text == "Lamp on"
    assert read(mixed(text(blank), text("")).replace(b"mixed", b"alternative")).text == ""


def test_a_text_with_a_name_is_the_letter_where_nothing_else_is() -> None:
    named = 'Content-Type: text/plain; name="body.txt"\r\n\r\nLamp on'
    assert read(mixed(named, PICTURE)).text == "Lamp on"
    found = read(mixed(text("look"), named))
    assert (found.text, [file.name for file in found.files]) == ("look", ["body.txt"])


def test_a_letter_that_is_attached_is_a_file() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Your invoice"
    inner.set_content("Pay 12 euros.")
    inner.add_attachment(b"%PDF", "application", "pdf", filename="invoice.pdf")
    made = EmailMessage()
    made["From"] = "anna@example.org"
    made.set_content("What is this?")
    made.add_attachment(inner)
    found = read(made.as_bytes())
    assert found.text == "What is this?"
    [file] = found.files
    assert (file.name, file.media_type) == ("Your invoice.eml", "message/rfc822")
    assert b"Pay 12 euros." in content(file)
    assert b"invoice.pdf" in content(file)


@pytest.mark.parametrize(
    "coding", ["7bit", "8bit", "base64"], ids=["plain", "beyond ASCII", "Base64 against the rules"]
)
def test_an_attached_letter_is_the_one_that_came(coding: str) -> None:
    """Some that people pass on were made to break whoever reads them."""
    inner = (
        b"From: anna@example.org\r\nsubject: =?utf-8?q?R=C3=A4uber?=\r\n"
        b'Content-Type: multipart/mixed; boundary="\xe4\xf6"\r\n\r\n'
        b"--\xe4\xf6\r\n\r\nYour money!\r\n--\xe4\xf6--\r\n"
    )
    if coding == "7bit":
        inner = inner.replace(b"\xe4\xf6", b"c")
    said = base64.encodebytes(inner) if coding == "base64" else inner
    head = f"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: {coding}\r\n\r\n"
    end = mixed(text("look")).replace(b"--b--", b"--b\r\n" + head.encode() + said + b"\r\n--b--")
    [file] = read(end).files
    assert (file.name, content(file)) == ("Räuber.eml", inner)


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/encrypted; protocol=application/pgp-encrypted; boundary=b",
        "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m",
    ],
)
def test_a_letter_that_needs_a_key_is_known(kind: str) -> None:
    raw = f"{HEAD}Subject: ...\r\nContent-Type: {kind}\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n"
    assert read(raw.encode()).is_sealed
    assert read(mixed(text("-----BEGIN PGP MESSAGE-----\r\n\r\nhQEMA"))).is_sealed
    assert not read(mixed(text("Lamp on"))).is_sealed


@pytest.mark.parametrize(
    ("charset", "sent", "words"),
    [
        ("", "Küchenlampe an".encode(), "Küchenlampe an"),
        ("; charset=us-ascii", "Küchenlampe an".encode(), "Küchenlampe an"),
        ("", "Küchenlampe an".encode("latin-1"), "Küchenlampe an"),
        ("; charset=iso-8859-1", "Set it to 5 €".encode("cp1252"), "Set it to 5 €"),
        ("; charset=gb2312", "陶喆，开灯".encode("gb18030"), "陶喆，开灯"),
        ("; charset=ks_c_5601-1987", "불을 켜줘 햏".encode("cp949"), "불을 켜줘 햏"),
        ("; charset=iso-8859-8-i", "אור".encode("iso-8859-8"), "אור"),
    ],
)
def test_a_text_is_read_as_its_program_meant_it(charset: str, sent: bytes, words: str) -> None:
    head = f"{HEAD}Content-Type: text/plain{charset}\r\n\r\n".encode()
    assert read(head + sent).text == words


def test_large_files_stay_out_of_the_parser_and_come_whole() -> None:
    large = bytes(range(256)) * 2000
    made = EmailMessage()
    made["From"] = "anna@example.org"
    made.set_content("look")
    made.add_attachment(large, "application", "pdf", filename="a.pdf")
    made.add_attachment(b"small", "application", "pdf", filename="b.pdf")
    inner = EmailMessage()
    inner.add_attachment(large[:-1], "application", "zip", filename="c.zip")
    made.add_attachment(inner)
    raw = made.as_bytes()
    bulk = LetterBulk(raw)
    assert len(bulk.thin) < len(raw) / 10
    found = read(raw)
    assert [content(file) for file in found.files[:2]] == [large, b"small"]
    again = read(content(found.files[2]))
    assert [content(file) for file in again.files] == [large[:-1]]


def test_a_long_text_in_base64_is_read() -> None:
    made = EmailMessage()
    made["From"] = "anna@example.org"
    made.set_content("Привет. " * 30_000, cte="base64")
    assert read(made.as_bytes()).text.startswith("Привет. Привет.")


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_bulk_is_no_border_and_no_header_wherever_it_stands(end: str) -> None:
    lines = ("A" * 76 + end) * 2000
    for before in (
        "",
        f"Subject: hello{end}",
        f"Subject: base64{end}{end}",
        f"X: {'A' * 70_000}{end}",
    ):
        raw = f"From: anna@example.org{end}{before}{lines}{end}rest{end}".encode()
        bulk = LetterBulk(raw)
        assert len(bulk.thin) < len(raw) - 60_000
        whole, thin = parsed(raw), parsed(bulk.thin)
        assert b"".join(bulk.restored(bulk.thin)) == raw
        assert thin.items() == whole.items()
        assert [type(one) for one in thin.defects] == [type(one) for one in whole.defects]
        assert payload(thin, bulk) == payload(whole, LetterBulk(b""))


def payload(part: MIMEPart, bulk: LetterBulk) -> bytes:
    return b"".join(bulk.content(part))


def test_what_is_no_bulk_stays() -> None:
    raw = (b"A" * 8000 + b"-\r\n") * 30
    assert LetterBulk(raw).thin == raw
    assert LetterBulk(b"A" * 100_000).thin == b"A" * 100_000
