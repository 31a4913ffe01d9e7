"""Every error of the agent, drawn once; types are named by what the caller does next.

* BarnacleError                  something a person can act on; its text is one sentence
  * ConfigRefused                the configuration is wrong: fix the named key
  * StorageCorrupt               a file is damaged: it was set aside
  * StorageFull                  no space, read-only or failing: nothing was written
  * StateInUse                   another agent works in the same state folder
  * LinkError
    * LinkLost                   the board is away; it is being looked for
    * OutcomeUnknown             a call was sent, whether it acted is not known: never repeat it
    * CallRefused                the board answered with a typed error
    * WrongDevice                what answers there is not a Barnacle board
  * NetworkError                 nobody answered over HTTP: no network, cut, too slow
  * ProviderError
    * TransientProviderError     likely to succeed later (network, 5xx, 429)
      * RateLimited              too often with this key: another key, or later
    * ProviderRefused            final: bad request, withheld answer
      * KeyRefused               this key is no good: another one, or a person
      * QuotaExhausted           the account has no money left: another one, or a person
      * ContextOverflow          the conversation is too long: shorten it
      * SpendingLimit            a limit of the configuration is reached: later, or a person
      * ToolsUnsupported         the model takes no tools: describe them in words
      * PicturesRefused          a picture is too large or no good: ask without it
  * ChannelError
    * ChannelUnavailable         the platform is not reached: try again later
    * ChannelRefused             a person has to act: token, rights, a second program on it
    * MessageRefused             the platform will never take this message: a dead letter
  * SpeechUnavailable            nothing was heard or spoken: the text goes on without it
  * MemoryUnavailable            recall or store failed; a turn goes on without it
  * ReadingsUnavailable          the server that keeps readings is away: they wait for it
  * DocumentUnreadable           a file of the documents folder that cannot be read: the others are
  * EmbedderUnavailable          no model: words carry the recall
  * BadArguments                 a tool call that its schema refuses: the model may repair it
  * PathRefused                  a path that leaves the workspace or is not a plain file
  * AddressRefused               a URL that leads where nothing from outside may lead
  * DelegationRefused            another agent may not be asked now
  * McpAway                      an MCP server does not answer, or not as was approved
  * HomeAssistantRefused         Home Assistant did not do it, or not for this token
  * BrowserFailed                a page was not shown or not used; its browser may be gone
  * PinRefused                   a pin or a bus of this machine that cannot be used so
  * CommandRefused               a command line that no grammar knows, or an environment
  * SandboxBroken                what keeps programs apart does not work: nothing was run
  * UpdateRefused                an update that is not signed, not whole, not for here or not now
  * BackupRefused                a backup that cannot be made, opened or restored; nothing changed
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.passage import Passage, Provenance


class BarnacleError(Exception):
    """An expected failure whose text is a sentence a person can act on.

    Args:
        told: a passage where it is known whose words these are; a plain text may hold anybody's.
    """

    def __init__(self, told: "str | Passage" = "") -> None:
        super().__init__(str(told))
        self._told = told

    @property
    def is_vouched_for(self) -> bool:
        """Return true if the origin of the words is known."""
        return not isinstance(self._told, str)

    def words(self, reads: "Provenance", source: str = "") -> "Passage":
        """The sentence for a model.

        Args:
            reads: how little is trusted whatever was read when it failed; without a passage it
                counts for the sentence, too.
        """
        from agent.passage import Passage  # noqa: PLC0415 - where no model is, errors load little

        if not isinstance(self._told, str):
            return self._told
        return Passage(str(self), reads, source)


class ConfigRefused(BarnacleError):
    """The configuration is wrong; the text names file, key and remedy."""


class StorageCorrupt(BarnacleError):
    """A file of ours is damaged and was set aside."""


class StorageFull(BarnacleError):
    """The disk is full or read-only; nothing was written."""


class StateInUse(BarnacleError):
    """Another agent works in the same state folder."""


class LinkError(BarnacleError):
    """Anything that goes wrong between here and the board."""


class LinkLost(LinkError):
    """The board is not connected; calls fail at once until it is back."""


class OutcomeUnknown(LinkError):
    """The session died after a call was sent: it may or may not have acted."""


class CallRefused(LinkError):
    """The board answered with a typed error.

    Args:
        code: the error's name in the wire format, such as ``bad_pin``.
        detail: what is said about it, cleaned; may be empty. A passage where we say it ourselves.
    """

    def __init__(self, code: str, detail: "str | Passage" = "") -> None:
        text = f"{code}: {detail}" if str(detail) else code
        super().__init__(text if isinstance(detail, str) else detail.saying(text))
        self.code = code
        self.detail = str(detail)


class WrongDevice(LinkError):
    """Something answers on that port, and it is not a board we can use."""


class NetworkError(BarnacleError):
    """No usable HTTP answer: no network, no such host, no trust, cut off or too slow."""


class ProviderError(BarnacleError):
    """The language model service did not give an answer."""


class TransientProviderError(ProviderError):
    """Likely to succeed later: no network, overloaded, rate limited.

    Args:
        retry_after_s: how long the service asked to be left alone, if it did.
    """

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class ProviderRefused(ProviderError):
    """Final until something is changed: key, quota, model name, request."""


class RateLimited(TransientProviderError):
    """Asked too often with this key: another key may do, or the same one later."""


class KeyRefused(ProviderRefused):
    """The service does not take this key; another one may do."""


class QuotaExhausted(ProviderRefused):
    """The account behind this key has nothing left."""


class ContextOverflow(ProviderRefused):
    """The conversation is longer than the model can take.

    Args:
        window_tokens: how much it takes, where the service says so.
    """

    def __init__(self, message: str, window_tokens: int | None = None) -> None:
        super().__init__(message)
        self.window_tokens = window_tokens


class SpendingLimit(ProviderRefused):
    """The configured spending limit is reached; nothing was sent."""


class ToolsUnsupported(ProviderRefused):
    """The model, or the service before it, knows no tools.

    Args:
        is_lasting: it is so of every request, not of a call that the model got wrong.
    """

    def __init__(self, text: str, *, is_lasting: bool = True) -> None:
        super().__init__(text)
        self.is_lasting = is_lasting


class PicturesRefused(ProviderRefused):
    """The service does not take a picture of the request."""


class ChannelError(BarnacleError):
    """A platform did not do what it was asked."""


class ChannelUnavailable(ChannelError):
    """Likely to work later: no network, overloaded, asked too often.

    Args:
        retry_after_s: how long the platform asked to be left alone, if it did.
    """

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class ChannelRefused(ChannelError):
    """Final until a person changes something: token, rights, another program on the account."""


class MessageRefused(ChannelError):
    """The platform will never take this message."""


class SpeechUnavailable(BarnacleError):
    """Nothing was written down or spoken; the text says why, as the end of a sentence."""


class MemoryUnavailable(BarnacleError):
    """Long-term memory cannot be read or written now."""


class ReadingsUnavailable(BarnacleError):
    """The server that keeps readings cannot be read or written now; nothing is lost."""


class DocumentUnreadable(BarnacleError):
    """A document is damaged, too large, or nothing is installed to read it with."""


class EmbedderUnavailable(BarnacleError):
    """The embedding model is missing or damaged."""


class BadArguments(BarnacleError):
    """The arguments of a tool call do not fit its schema."""


class PathRefused(BarnacleError):
    """A path that is not a plain file or folder beneath its root."""


class AddressRefused(BarnacleError):
    """A URL that leads to this machine, its network or nowhere, or that is ambiguous."""


class McpAway(BarnacleError):
    """A server of the Model Context Protocol gives no usable answer now."""


class HomeAssistantRefused(BarnacleError):
    """Home Assistant did not do it.

    Args:
        status: of its answer; 0 where there was none.
    """

    def __init__(self, text: str, *, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class BrowserFailed(BarnacleError):
    """The browser did not do it: the page is busy or refused, or the browser is gone."""


class PinRefused(BarnacleError):
    """A pin or a bus of this machine that is not there, not configured or not to be moved."""


class CommandRefused(BarnacleError):
    """A command that no grammar accepts, or something that no environment may hold."""


class SandboxBroken(BarnacleError):
    """The sandbox could not be made or was lost; the program did not run to its end."""


class DelegationRefused(BarnacleError):
    """Another agent is not asked: too deep, or too often in one turn."""


class UpdateRefused(BarnacleError):
    """An update that cannot be had; the system that runs is as it was."""


class BackupRefused(BarnacleError):
    """A backup that cannot be made, opened or restored; what there was is as it was."""
