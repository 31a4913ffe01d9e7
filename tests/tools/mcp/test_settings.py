from pathlib import Path

import pytest

from agent.app.providers import secrets
from agent.config import decode
from agent.errors import ConfigRefused
from agent.security.redact import Redactor
from agent.settings import Settings

WHOLE = """
[mcp.weather]
command = ["/opt/weather/server", "--quiet"]
env = {WEATHER_TOKEN = "sun-4711-rain"}
read = ["forecast"]
[mcp.home]
url = "http://192.168.1.20:8123/mcp"
headers = {Authorization = "Bearer 0815-door-key"}
[mcp.mail]
url = "https://example.org/mcp"
client_id = "barnacle"
client_secret = "snow-0042-key"
"""


def read(text: str) -> Settings:
    return decode(text, Settings, Path("barnacle.toml"))


def test_a_program_and_an_address_are_read() -> None:
    servers = read(WHOLE).mcp
    assert servers["weather"].command == ("/opt/weather/server", "--quiet")
    assert servers["weather"].read == ("forecast",)
    assert servers["home"].url == "http://192.168.1.20:8123/mcp"
    assert "4711" not in repr(servers)


def test_what_they_are_given_is_hidden_everywhere() -> None:
    redactor = Redactor(secrets(read(WHOLE), {}))
    said = "sun-4711-rain, Bearer 0815-door-key, 0815-door-key, snow-0042-key"
    assert redactor.redact_known(said) == "***, ***, ***, ***"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[mcp.a]", "`mcp.a`: must have either a command or a url"),
        ('[mcp.a]\ncommand = ["a"]\nurl = "http://a.de"', "either a command or a url"),
        ('[mcp.a]\nurl = "http://a.de"\nenv = {TOKEN = "x"}', "goes with a command, and headers"),
        ('[mcp.a]\ncommand = ["a"]\nheaders = {X = "x"}', "headers with a url"),
        ('[mcp.a]\ncommand = ["a"]\nclient_id = "x"', "`mcp.a.client_id`: goes with a url"),
        ('[mcp.a]\nurl = "http://a.de"\nclient_secret = "x"', "goes with a client_id"),
        ('[mcp.a]\ncommand = ["bin/a"]', "by full path or by name alone"),
        ('[mcp.a]\ncommand = [""]', "`mcp.a.command`"),
        ('[mcp.a]\nurl = "ftp://a.de"', "`mcp.a.url`"),
        ('[mcp.a]\nurl = "http://me:secret@a.de/"', "`mcp.a.url`"),
        ('[mcp.a]\nurl = "http://a.de"\nheaders = {Host = "b"}', "may not have 'Host'"),
        ('[mcp.a]\nurl = "http://a.de"\nheaders = {"X Y" = "b"}', "may not have 'X Y'"),
        ('[mcp.a]\nurl = "http://a.de"\nheaders = {Mcp-Session-Id = "b"}', "may not have"),
        ('[mcp.a]\nurl = "http://a.de"\nheaders = {X-Key = "ü"}', "only plain characters"),
        (
            '[mcp.a]\ncommand = ["a"]\nenv = {LD_PRELOAD = "/x"}',
            "LD_PRELOAD can make a program load",
        ),
        ('[mcp.a]\ncommand = ["a"]\nenv = {TOKEN = 5}', "`mcp.a.env.TOKEN`"),
        ('[mcp.A]\ncommand = ["a"]', "must be a name of small letters"),
        ('[mcp.a]\ncommand = ["a"]\n[mcp.a_b]\ncommand = ["b"]', "cannot be told apart: a"),
        ('[mcp.a]\ncomand = ["a"]', "did you mean `command`?"),
    ],
)
def test_what_cannot_be_is_refused_by_name(text: str, complaint: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        read(text)
    assert complaint in str(caught.value)
