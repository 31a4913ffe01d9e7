"""People at real servers of this machine, for the benchmark of the channels."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from scripts.lib.bench.correspondents.base import Correspondents
from scripts.lib.bench.correspondents.irc import on_ngircd
from scripts.lib.bench.correspondents.mail import on_postfix
from scripts.lib.bench.correspondents.matrix import on_synapse
from scripts.lib.bench.correspondents.mqtt import on_mosquitto
from scripts.lib.bench.correspondents.xmpp import on_prosody

Opens = Callable[[Path, int], AbstractAsyncContextManager[Correspondents]]
PLATFORMS: dict[str, Opens] = {
    "email": on_postfix,
    "irc": on_ngircd,
    "matrix": on_synapse,
    "mqtt": on_mosquitto,
    "xmpp": on_prosody,
}
