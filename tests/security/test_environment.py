from pathlib import Path

import pytest

from agent.errors import CommandRefused
from agent.security.environment import (
    child_environment,
    complaint_about,
    complaint_about_server,
    names,
    own_environment,
)
from tests.canaries import secret

HOME = Path("/w")
# Each makes some program load, run or trust something else; a name that is gone here is a hole
STEERING = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "SHELL", "USER", "LOGNAME", "TMPDIR", "PWD", "OLDPWD"),
    *("ENV", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "IFS", "CDPATH", "CLASSPATH", "GREP_OPTIONS"),
    *("PAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE", "MANPAGER", "TERMINFO"),
    *("NLSPATH", "LOCPATH", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN", "GOFLAGS", "GODEBUG"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "NOTIFY_SOCKET"),
    *("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "GIT_SSH", "NODE_OPTIONS", "NPM_CONFIG"),
    *("DENO_DIR", "BUN_INSTALL", "UV_INDEX", "PIP_INDEX_URL", "BASH_ENV", "PERL5LIB", "RUBYOPT"),
    *("GEM_HOME", "BUNDLE_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "DOTNET_ROOT"),
    *("MALLOC_CONF", "GLIBC_TUNABLES", "GCONV_PATH", "SSL_CERT_FILE", "SSH_AUTH_SOCK"),
    *("OPENSSL_CONF", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "LC_ALL", "XDG_CONFIG_HOME"),
    *("BARNACLE_CONFIG", "lower", "1DIGIT", "A-B", "A" * 65, "TOKEN\n", ""),
)


@pytest.mark.parametrize("name", STEERING)
def test_what_steers_a_program_is_told_to_no_server(name: str) -> None:
    assert complaint_about_server(name) != ""


@pytest.mark.parametrize("name", ["TOKEN", "API_KEY", "WEATHER_URL", "PATHS", "A" * 64])
def test_a_server_gets_tokens_by_names_of_its_own(name: str) -> None:
    assert complaint_about_server(name) == ""


def test_what_may_be_added_is_how_things_look_and_nothing_else() -> None:
    looks = ["COLUMNS", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "LINES", "NO_COLOR", "TERM", "TZ"]
    assert names() == looks
    for name in looks:
        assert child_environment(HOME, {name: "x"})[name] == "x"
        assert complaint_about(name, "x" * 128) == ""
        for value in ("x" * 129, "a\nb", "\x1b[0m"):
            assert "cannot be used" in complaint_about(name, value)


@pytest.mark.parametrize("zone", [":/etc/shadow", "/etc/shadow", "../../etc/shadow", "Europe/../x"])
def test_a_zone_is_none_of_the_file_system(zone: str) -> None:
    with pytest.raises(CommandRefused, match="TZ has a value"):
        child_environment(HOME, {"TZ": zone})
    assert complaint_about("TERM", zone) == ""


def test_a_child_is_told_where_it_is_and_nothing_of_us() -> None:
    told = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/w"}
    assert child_environment(HOME) == told
    with pytest.raises(CommandRefused, match="PATH may not be"):
        child_environment(HOME, {"PATH": "/tmp"})


def test_our_own_programs_get_places_and_no_key() -> None:
    environ = {"PATH": "/bin", "TZ": "Europe/Berlin", "OPENAI_API_KEY": secret("openai")}
    assert own_environment(environ) == {"PATH": "/bin", "TZ": "Europe/Berlin"}
