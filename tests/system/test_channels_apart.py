"""What a platform costs an agent that does not use it, and all of them one that does."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from agent.channels.catalog import NAMES, platform
from tests.fakes.daemon_process import DaemonProcess
from tests.waits import wait_until_sync

# Of everything with every platform over everything with one
MOST_MORE_KIB = 25 * 1024
_BASE = (
    '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n[gateway]\nlisten = "unix"\n'
)
# Nobody answers there: each tries with all it has
_NOBODY = "127.0.0.1:1"
_BOT = "123456:AAE-a_token-of-the-tests"
TABLES = {
    "telegram": f'base_url = "http://{_NOBODY}"\ntoken = "{_BOT}"',
    "signal": f'base_url = "http://{_NOBODY}"',
    "email": f'address = "b@example.org"\nimap = "imap://{_NOBODY}"\npassword = "x-of-the-tests"\n'
    f'smtp = "submission://{_NOBODY}"\nauthserv_id = "mx"',
    "imessage": f'base_url = "http://{_NOBODY}"\npassword = "x-of-the-tests"',
    "irc": f'url = "irc://{_NOBODY}"',
    "lark": f'base_url = "http://{_NOBODY}"\napp_id = "cli_x"\napp_secret = "x-of-the-tests"',
    "qq": f'base_url = "http://{_NOBODY}"\nauth_url = "http://{_NOBODY}"\napp_id = "1"\n'
    'app_secret = "x-of-the-tests"',
    "matrix": f'base_url = "http://{_NOBODY}"\ntoken = "syt_token-of-the-tests"',
    "mqtt": f'url = "mqtt://{_NOBODY}"',
    "ntfy": f'base_url = "http://{_NOBODY}"\ntopic = "topic-of-the-tests-0123456789"',
    "dingtalk": f'base_url = "http://{_NOBODY}"\nclient_id = "dingx"\n'
    'client_secret = "x-of-the-tests"',
    "discord": f'base_url = "http://{_NOBODY}"\ntoken = "MTIz.abc.token-of-the-tests"',
    "slack": f'base_url = "http://{_NOBODY}"\ntoken = "xoxb-1-of-the-tests"\n'
    'app_token = "xapp-1-of-the-tests"',
    "whatsapp": f'base_url = "http://{_NOBODY}"\nphone_number_id = "1"\n'
    'token = "x-of-the-tests"\napp_secret = "x-of-the-tests"',
    "mattermost": f'base_url = "http://{_NOBODY}"\ntoken = "token-of-the-tests"',
    "xmpp": f'address = "b@example.org"\nserver = "xmpp://{_NOBODY}"\npassword = "x-of-the-tests"',
    "voice": 'microphone = "none"\n[channels.speech]\nkind = "wyoming"\n'
    f'server = "tcp://{_NOBODY}"\n[channels.speech.speaker]\nkind = "espeak-ng"',
    "webhook": f'reply_url = "http://{_NOBODY}/"\nsecret = "whsec_{"A" * 43}="',
}


def table(*names: str) -> str:
    return _BASE + "".join(f"[channels.{name}]\n{TABLES[name]}\n" for name in names)


def tried(names: Iterable[str]) -> set[str]:
    """Those that look for their platform; others wait until it comes."""
    return {name for name in names if not platform(name).is_pushed}


def says(agent: DaemonProcess, wanted: set[str]) -> bool:
    return all(one in agent.log() for one in wanted)


def test_every_platform_is_looked_at() -> None:
    assert set(TABLES) == set(NAMES)


def test_all_of_them_take_little_more_memory_than_one(tmp_path: Path) -> None:
    used = {}
    for kind, names in (("one", ("telegram",)), ("all", tuple(TABLES))):
        folder = tmp_path / kind
        folder.mkdir()
        with DaemonProcess(folder, table(*names)) as agent:
            wanted = {f"supervisor: {name}" for name in tried(names)}
            wait_until_sync(partial(says, agent, wanted), told=agent.log)
            used[kind] = agent.rss_kib
    assert used["all"] - used["one"] <= MOST_MORE_KIB
