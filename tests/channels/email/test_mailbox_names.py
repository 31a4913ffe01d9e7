import pytest

from agent.channels.email.mailbox_names import written_name


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("INBOX", '"INBOX"'),
        ("Geräte", '"Ger&AOQ-te"'),
        ("Ger&AOQ-te", '"Ger&AOQ-te"'),
        ("Home & garden", '"Home &- garden"'),
        # Of RFC 3501
        ("~peter/mail/台北/日本語", '"~peter/mail/&U,BTFw-/&ZeVnLIqe-"'),
        ("🌱", '"&2DzfMQ-"'),
        ('a "b" \\c', '"a \\"b\\" \\\\c"'),
    ],
)
def test_a_name_is_written_as_servers_know_it(name: str, written: str) -> None:
    assert written_name(name) == written
