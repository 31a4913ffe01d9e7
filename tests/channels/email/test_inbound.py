from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.email import contents
from agent.channels.email.contents import MAX_TEXT_CHARS, UNREADABLE
from agent.channels.email.inbound import read_letter, why_not_for_us
from agent.channels.email.parser import parsed

OWN = "barnacle@example.org"


def letter(text: str = "hello", **headers: str) -> EmailMessage:
    made = EmailMessage()
    made["From"] = headers.pop("sender", "Anna <anna@example.org>")
    for name, value in headers.items():
        made[name.replace("_", "-")] = value
    made.set_content(text)
    return parsed(made.as_bytes())


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Auto_Submitted": "auto-replied"}, "a machine"),
        ({"Auto_Submitted": "auto-generated; x=y"}, "a machine"),
        ({"Precedence": "Bulk"}, "to many"),
        ({"List_Id": "<l.example.org>"}, "a list"),
        ({"Return_Path": "<>"}, "a report"),
        ({"sender": "MAILER-DAEMON@example.org"}, "takes no answers"),
        ({"sender": "no-reply@example.org"}, "takes no answers"),
        ({"sender": "Barnacle@Example.org"}, "our own"),
        ({"sender": "nobody"}, "from nobody"),
        ({"sender": "a@b, c@d"}, ""),
    ],
)
def test_machines_lists_and_ourselves_are_not_answered(
    headers: dict[str, str], reason: str
) -> None:
    assert reason in why_not_for_us(letter(**headers), OWN)


@pytest.mark.parametrize("told", ["no", "No", ""])
def test_a_person_is(told: str) -> None:
    headers = {"Auto_Submitted": told} if told else {}
    assert why_not_for_us(letter(**headers), OWN) == ""


def test_a_letter_is_read() -> None:
    found = read_letter(
        letter(
            "Lamp on, please.\n\n> It is off.\n> Really.\n",
            Subject="=?utf-8?q?Caf=C3=A9?=",
            Message_ID="<2@example.org>",
            References="<0@example.org> <1@example.org>",
            In_Reply_To="<1@example.org>",
        )
    )
    assert (found.sender, found.sender_name, found.subject) == ("anna@example.org", "Anna", "Café")
    assert found.text == "Lamp on, please."
    assert found.quoted == "> It is off.\n> Really."
    assert found.references == ("<0@example.org>", "<1@example.org>")
    assert (found.message_id, found.is_answer) == ("<2@example.org>", True)
    assert found.domain == "example.org"


def test_html_alone_is_read_without_what_nobody_sees() -> None:
    made = EmailMessage()
    made["From"] = "anna@example.org"
    made.set_content("<p>Lamp <b>on</b></p><style>x</style><script>evil()</script>", "html")
    assert read_letter(parsed(made.as_bytes())).text == "Lamp on"


def test_a_letter_in_what_is_no_character_set_is_read_all_the_same() -> None:
    # As what it is said to be it takes hours
    body = b"a" * 2_000_000
    kind = b"Content-Type: text/plain; charset*=utf-8''PunyCode\r\n\r\n"
    found = read_letter(parsed(b"From: mallory@example.org\r\n" + kind + body))
    assert found.text == "a" * MAX_TEXT_CHARS


def test_files_come_with_their_names_and_kinds() -> None:
    made = EmailMessage()
    made["From"] = "anna@example.org"
    made.set_content("look")
    made.add_attachment(b"%PDF", "application", "pdf", filename="../../etc/passwd")
    [file] = read_letter(parsed(made.as_bytes())).files
    assert (file.media_type, b"".join(file.pieces())) == ("application/pdf", b"%PDF")


def test_a_letter_without_an_id_has_the_same_one_whenever_it_is_read() -> None:
    one = letter(Subject="a", Date="Fri, 20 Nov 2026 19:26:39 +0000")
    other = letter(Subject="b", Date="Fri, 20 Nov 2026 19:26:39 +0000")
    assert read_letter(one).message_id == read_letter(one).message_id
    assert read_letter(one).message_id != read_letter(other).message_id


NAMES = ("From", "Subject", "Message-ID", "Auto-Submitted", "Content-Type", "Content-Disposition")


@pytest.mark.parametrize("name", [*NAMES, "Content-Transfer-Encoding"])
def test_comments_in_comments_break_no_header(name: str) -> None:
    message = parsed(f"{name}: {'(' * 3000}\r\n\r\nhello\r\n".encode())
    why_not_for_us(message, OWN)
    read_letter(message)


@pytest.mark.parametrize("markup", ["<a ", "<!--", "</"])
def test_markup_that_breaks_its_reader_holds_up_nobody(
    markup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of this length it would take hours
    monkeypatch.setattr(contents, "HTML_TIMEOUT_S", 2.0)
    message = parsed(f"Content-Type: text/html\r\n\r\n{markup * 100_000}".encode())
    assert read_letter(message).text == UNREADABLE


HOSTILE = st.one_of(
    st.binary(max_size=400),
    st.lists(
        st.sampled_from(
            [
                *(b"From: ", b"From: a@b.org\r\n", b"Content-Type: text/html; charset=x-lies\r\n"),
                *(b"Content-Type: multipart/mixed; boundary=b\r\n", b"\r\n--b\r\n", b"--b--\r\n"),
                *(b"Content-Transfer-Encoding: base64\r\n", b"=?utf-8?b?////?=", b"\r\n\r\n"),
                *(b"Message-ID: <", b"References: <a@b>\r\n", b"\xff\xfe\x00", b"Subject: =?x?q?"),
                *(b"Content-Disposition: attachment; filename*=utf-8''%ff\r\n", b"Date: now\r\n"),
            ]
        ),
        max_size=20,
    ).map(b"".join),
)


@given(HOSTILE)
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    message = parsed(raw)
    why_not_for_us(message, OWN)
    read_letter(message)


@pytest.mark.parametrize(
    ("subject", "is_forwarded"),
    [
        ("Fwd: turn the pump on", True),
        ("FW: the pump", True),
        ("WG: Pumpe", True),
        ("Re: Fwd: the pump", True),
        ("AW: WG: Pumpe", True),
        ("TR : la pompe", True),
        ("[Fwd: the pump]", True),
        ("转发：水泵", True),
        ("turn the pump on", False),
        ("Re: the pump", False),
        ("Forwards and backwards", False),
        ("", False),
    ],
)
def test_a_letter_that_is_passed_on_is_known_by_its_subject(
    subject: str, *, is_forwarded: bool
) -> None:
    assert read_letter(letter(subject=subject)).is_forwarded is is_forwarded


@pytest.mark.parametrize(
    ("subject", "before", "is_forwarded"),
    [
        ("Re: Fwd: the bill", "<barnacle.ab12.7.0@example.org>", False),
        ("AW: WG: Rechnung", "<barnacle.ab12.7.0.t0123456789ab@example.org>", False),
        # The agent's letter is passed on, or somebody else's is answered
        ("Fwd: Re: Fwd: the bill", "<barnacle.ab12.7.0@example.org>", True),
        ("Re: Fwd: the bill", "<1@elsewhere.net>", True),
        ("Re: Fwd: the bill", "<barnacle.ab12.7.0@elsewhere.net>", True),
    ],
)
def test_an_answer_to_us_is_the_senders_own_whatever_the_thread_began_with(
    subject: str, before: str, *, is_forwarded: bool
) -> None:
    answers = letter(subject=subject, references="<1@elsewhere.net>", in_reply_to=before)
    assert read_letter(answers, (OWN, "Barnacle")).is_forwarded is is_forwarded
