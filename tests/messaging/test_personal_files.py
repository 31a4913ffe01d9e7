from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.access.audience import audience_of
from agent.messages import Attachment, Inbound, Provenance
from agent.messaging import personal_files
from agent.messaging.personal_files import PersonalFiles
from agent.security.access import Audience, AudienceRole, may_read
from agent.security.policy import Verdict
from agent.security.shares import Disclosure, Shares
from tests.fakes.channel import message


def sent(folder: Path, content: bytes, name: str, kind: str = "application/pdf") -> Attachment:
    """A file as a channel keeps it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"20260101-{len(list(folder.iterdir()))}.pdf"
    path.write_bytes(content)
    return Attachment(str(path), kind, name, len(content))


def with_file(file: Attachment, person: str = "owner", **fields: object) -> Inbound:
    return replace(message(""), person=person, attachments=(file,), **fields)  # type: ignore[arg-type]  # a test's fields


def place(told: Inbound) -> str:
    return told.attachments[0].place


def test_a_file_is_kept_under_its_readable_name(tmp_path: Path) -> None:
    file = sent(tmp_path / "inbox", b"%PDF-", "Bericht März.pdf")
    told = PersonalFiles(tmp_path / "ws").take_over(with_file(file))
    assert place(told) == "received/owner/Bericht März.pdf"
    assert Path(told.attachments[0].path).read_bytes() == b"%PDF-"
    assert not Path(file.path).exists()
    # A message that is taken again moves nothing
    assert PersonalFiles(tmp_path / "ws").take_over(told) == told


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "etc-passwd.pdf"),
        (".git", "git.pdf"),
        ("a\u202efdp.exe", "afdp.exe"),
        ("x" * 300 + ".pdf", "x" * 80 + ".pdf"),
        ("report [DOCUMENT:b].pdf", "report -DOCUMENT-b-.pdf"),
        ("plan.", "plan.pdf"),
    ],
)
def test_a_hostile_name_stays_in_its_folder(tmp_path: Path, name: str, kept: str) -> None:
    told = PersonalFiles(tmp_path / "ws").take_over(with_file(sent(tmp_path / "inbox", b"1", name)))
    assert place(told) == f"received/owner/{kept}"


def test_two_files_with_one_name_are_two_and_one_that_comes_again_is_one(tmp_path: Path) -> None:
    files = PersonalFiles(tmp_path / "ws")
    contents = (b"one", b"two", b"one")
    places = [
        place(files.take_over(with_file(sent(tmp_path / "inbox", content, "a.pdf"))))
        for content in contents
    ]
    assert places == ["received/owner/a.pdf", "received/owner/a (2).pdf", "received/owner/a.pdf"]


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "ws" / "received" / "owner"
    folder.mkdir(parents=True)
    (tmp_path / "target").write_bytes(b"theirs")
    (folder / "a.pdf").symlink_to(tmp_path / "target")
    file = sent(tmp_path / "inbox", b"theirs", "a.pdf")
    assert place(PersonalFiles(tmp_path / "ws").take_over(with_file(file))).endswith("a (2).pdf")


def test_the_oldest_go_first_and_nobody_elses(tmp_path: Path) -> None:
    files = PersonalFiles(tmp_path / "ws", max_folder_bytes=2)
    files.take_over(with_file(sent(tmp_path / "inbox", b"0", "theirs.pdf"), "p2"))
    for name in ("1.pdf", "2.pdf", "3.pdf"):
        files.take_over(with_file(sent(tmp_path / "inbox", name.encode()[:1], name)))
    received = tmp_path / "ws" / "received"
    assert sorted(one.name for one in (received / "owner").iterdir()) == ["2.pdf", "3.pdf"]
    assert (received / "p2" / "theirs.pdf").exists()


def test_a_file_that_cannot_be_moved_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(personal_files, "MAX_FILES", -1)
    (tmp_path / "ws" / "received" / "owner").mkdir(parents=True)
    (tmp_path / "ws" / "received" / "owner" / "a.pdf").mkdir()
    told = with_file(sent(tmp_path / "inbox", b"1", "a.pdf"))
    assert PersonalFiles(tmp_path / "ws").take_over(told) == told


def reach(path: str, audience: Audience, shares: Shares | None = None) -> Verdict:
    held = (shares or Shares()).holdings(Disclosure(files=(path,)), audience.person)
    return may_read(held, audience).verdict


def test_a_file_is_for_whoever_sent_it(tmp_path: Path) -> None:
    files = PersonalFiles(tmp_path / "ws")
    path = place(files.take_over(with_file(sent(tmp_path / "inbox", b"1", "a.pdf"), "p1")))
    user = Audience(AudienceRole.HOUSEHOLD, "p1", "Ann")
    # A name is no id: whoever calls themselves so gets nothing
    other = Audience(AudienceRole.HOUSEHOLD, "p2", "p1")
    assert reach(path, user) is Verdict.ALLOW
    assert reach(path, other) is Verdict.DENY
    assert reach(path, replace(user, group="telegram:-5")) is Verdict.ASK
    assert reach(path, Audience(AudienceRole.OWNER)) is Verdict.ALLOW
    assert reach("received/owner/a.pdf", user) is Verdict.ASK
    shared = Shares({"received/owner": "household"})
    assert reach("received/owner/a.pdf", user, shared) is Verdict.ALLOW


def test_a_groups_file_is_the_groups(tmp_path: Path) -> None:
    told = with_file(sent(tmp_path / "inbox", b"1", "a.pdf"), "telegram:7", is_group=True)
    path = place(PersonalFiles(tmp_path / "ws").take_over(told))
    assert path.startswith("received/group-fake-chat-")
    there = audience_of(replace(told, sender="8", person="telegram:8", provenance=Provenance.WEB))
    assert reach(path, there) is Verdict.ALLOW
    assert reach(path, replace(there, group="fake:elsewhere")) is Verdict.DENY
    assert reach(path, Audience(AudienceRole.HOUSEHOLD, "p1")) is Verdict.DENY
