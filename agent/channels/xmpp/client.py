"""slixmpp, reduced to a stream with TLS, login and acknowledgements.

Nothing is resumed, no message or presence reaches its own handlers, and a server that sends us
elsewhere is not followed: before TLS that could be anybody.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar
from xml.etree.ElementTree import Element

from slixmpp import ClientXMPP
from slixmpp.plugins.base import register_plugin
from slixmpp.plugins.xep_0198.stream_management import MAX_SEQ, XEP_0198
from slixmpp.stanza import Message, Presence
from slixmpp.xmlstream import StanzaBase

from agent.channels.xmpp.login import XmppLogin

# It tells of passwords when it is talkative; what matters of the rest is said here
logging.getLogger("slixmpp").setLevel(logging.CRITICAL)

# Servers take half a MB of each other, and may write six bytes for one of it (`&quot;`); what is
# longer is no conversation
MAX_STANZA_BYTES = 4 * 1024 * 1024
_MANAGEMENT = "barnacle_0198"


class CommittedAcknowledgement(XEP_0198):
    """Stream Management that acknowledges committed stanzas, not received ones."""

    name = _MANAGEMENT
    default_config: ClassVar = {**XEP_0198.default_config, "allow_resume": False}

    def plugin_init(self) -> None:
        # The numbers of the stanzas that came and are not kept
        self.waiting: deque[int] = deque()
        super().plugin_init()  # type: ignore[no-untyped-call]  # theirs

    def send_ack(self) -> None:
        come = self.handled
        if self.waiting:
            self.handled = (self.waiting[0] - 1) % MAX_SEQ
        try:
            super().send_ack()  # type: ignore[no-untyped-call]  # theirs
        finally:
            self.handled = come


register_plugin(CommittedAcknowledgement)


class XmppClient(ClientXMPP):
    """One stream, dropped when it ends.

    Args:
        hear: takes each message and presence, with its number among the stanzas.
        beat: says that the server was heard.
    """

    def __init__(
        self,
        login: XmppLogin,
        resource: str,
        hear: Callable[[Element, int], None],
        beat: Callable[[], None],
    ) -> None:
        super().__init__(
            f"{login.address}/{resource}", login.password.reveal(), ssl_context=login.context
        )
        self._hear = hear
        self._beat = beat
        self._bytes = 0
        self.enable_direct_tls = login.is_direct or not login.host
        self.enable_starttls = not login.is_direct
        self.max_redirects = -1
        self.whitespace_keepalive = False
        self.register_plugin(_MANAGEMENT)
        self.register_plugin("xep_0199")
        self.management: CommittedAcknowledgement = self.plugin[_MANAGEMENT]  # type: ignore[literal-required]  # ours
        # After that of Stream Management, which counts
        self.add_filter("in", self._taken)

    def support(self, features: Iterable[str]) -> None:
        """Announce the features that we understand."""
        for feature in features:
            self.plugin["xep_0030"].add_feature(feature)

    def hold(self, number: int) -> None:
        """Acknowledge this stanza by `kept`, and none after it before."""
        self.management.waiting.append(number)

    def kept(self) -> None:
        """Acknowledge the oldest held stanza."""
        self.management.waiting.popleft()
        if not self.management.waiting and self.management.enabled_in:
            self.management.send_ack()

    def data_received(self, data: bytes | str) -> None:
        self._beat()
        self._bytes += len(data)
        if self._bytes > MAX_STANZA_BYTES + len(data):
            self.disconnect_reason = "it sent more at once than anybody says"
            self.abort()
            return
        super().data_received(data)

    def let_go(self) -> None:
        """Close the connection at once."""
        self.cancel_connection_attempt()
        self.abort()
        # Else it waits for something to send for as long as the agent lives
        if self._run_out_filters is not None:
            self._run_out_filters.cancel()

    def _spawn_event(self, xml: Element) -> None:
        self._bytes = 0
        super()._spawn_event(xml)

    def _taken(self, stanza: StanzaBase) -> StanzaBase | None:
        if isinstance(stanza, Message | Presence):
            # Before TLS and a login it is nobody's
            if self.bound:
                self._hear(stanza.xml, self.management.handled)
            return None
        return stanza
