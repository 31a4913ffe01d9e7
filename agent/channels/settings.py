"""Settings of the channels."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.channels.speech_settings import SpeechSettings, VoiceSettings
from agent.config import PORT, PORT_LIMIT, WEB_URL, ConfigSection, Secret

_URL = f"a URL such as https://chat.example.org, {PORT_LIMIT}"
Address = Annotated[str, Meta(pattern=rf"^{WEB_URL}\Z", description=_URL)]
ReplyAddress = Annotated[str, Meta(pattern=rf"^({WEB_URL})?\Z", description=_URL)]
BrokerAddress = Annotated[
    str,
    Meta(
        pattern=rf"^mqtts?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(:{PORT})?/?\Z",
        description=f"a URL such as mqtts://broker.example:8883, {PORT_LIMIT}",
    ),
]
BaseTopic = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+){0,5}\Z",
        max_length=100,
        description="levels of letters, digits, - and _, such as home/greenhouse",
    ),
]
DiscoveryPrefix = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_/-]{0,100}\Z",
        description="levels of letters, digits, - and _, such as homeassistant",
    ),
]
Account = Annotated[
    str,
    Meta(
        pattern=r"^(\+[1-9][0-9]{4,14}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?\Z",
        description="a telephone number such as +4915112345678, or an account id",
    ),
]


Digits = Annotated[
    str, Meta(pattern=r"^[0-9]{0,32}\Z", description="digits alone, in quotes: an id")
]
Mail = Annotated[
    str,
    Meta(
        pattern=r"^[^\s@<>\"]{1,64}@[A-Za-z0-9.-]{1,253}\Z",
        description="a mail address, such as barnacle@example.org",
    ),
]
MailAddress = Annotated[
    str,
    Meta(
        pattern=rf"^((imaps?|submissions?)://[^/\s?#@:]+(:{PORT})?)?\Z",
        description="a server, such as imaps://imap.example.org or submissions://smtp.example.org, "
        f"{PORT_LIMIT}",
    ),
]
IrcAddress = Annotated[
    str,
    Meta(
        pattern=rf"^ircs?://[^/\s?#@:]+(:{PORT})?\Z",
        description=f"a server, such as ircs://irc.libera.chat:6697, {PORT_LIMIT}",
    ),
]
Nick = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z\[\]\\`_^{|}][A-Za-z0-9\[\]\\`_^{|}-]{0,29}\Z",
        description="a nick of IRC",
    ),
]
IrcChannelName = Annotated[
    str,
    Meta(pattern=r"^[#&+!][^\s,\x00\x07]{1,63}\Z", description="a channel of IRC, such as #lab"),
]


XmppAddress = Annotated[
    str,
    Meta(
        pattern=r"^([^\s@/\"&'<>:\x00]{1,256}@[A-Za-z0-9.-]{1,253})?\Z",
        description="an address such as barnacle@example.org",
    ),
]
XmppServer = Annotated[
    str,
    Meta(
        pattern=rf"^(xmpps?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(:{PORT})?)?\Z",
        description=f"a server, such as xmpp://xmpp.example.org:5222, {PORT_LIMIT}",
    ),
]


class TerminalSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[terminal]` section: the chat in a terminal."""

    prompt: Annotated[str, Meta(max_length=40)] = "> "
    # Lines of what was typed that are kept between chats; 0 keeps none
    history_lines: Annotated[int, Meta(ge=0, le=100_000)] = 1000


class TelegramSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.telegram]` section: a bot that people write to."""

    # What @BotFather gave; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # A Bot API server of one's own is named here
    base_url: Address = "https://api.telegram.org"
    # In groups it hears those who speak to it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class SignalSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.signal]` section: an account that a signal-cli daemon holds the keys of."""

    # Where `signal-cli daemon --http` listens; it asks nobody who they are, so on this machine
    base_url: Address = "http://127.0.0.1:8080"
    # Its number, or its id where it has none; needed where the daemon has several
    account: Account = ""
    # In groups it hears those who speak to it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"
    # Where the account is a person's own: it answers what they write to themselves
    note_to_self: bool = False


class DingTalkSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.dingtalk]` section: the robot of an app of DingTalk, by Stream mode."""

    # Of the app's page Credentials; both needed
    client_id: Annotated[str, Meta(max_length=100)] = ""
    client_secret: Secret = Secret()
    client_secret_file: str = ""
    # Outside China https://api.dingtalk.io
    base_url: Address = "https://api.dingtalk.com"
    # In groups it hears those who mention it, or nobody: of others the platform tells it nothing
    groups: Literal["mention", "off"] = "mention"


class DiscordSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.discord]` section: a bot that people write to, in private and in servers."""

    # Of the application's page Bot; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # Something of one's own in between is named here
    base_url: Address = "https://discord.com"
    # In servers it hears those who mention or answer it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class SlackSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.slack]` section: an app of a workspace, by Socket Mode or the Events API."""

    # Of the app in the workspace, xoxb-...; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # Of the app itself, xapp-..., with the right connections:write: it comes by Socket Mode
    app_token: Secret = Secret()
    app_token_file: str = ""
    # Instead of it, what Slack signs posts with: it comes by the gateway
    signing_secret: Secret = Secret()
    signing_secret_file: str = ""
    # Something of one's own in between is named here
    base_url: Address = "https://slack.com"
    # In channels it hears those who mention it or answer it in a thread, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class MattermostSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.mattermost]` section: a bot on a server of one's own."""

    # The server, such as https://chat.example.org; needed
    base_url: ReplyAddress = ""
    # Of Integrations > Bot Accounts; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # In channels it hears those who mention it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class EmailSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.email]` section: a mailbox of the agent's own."""

    # What it is written to at, and answers from
    address: Mail = ""
    # Other addresses whose letters come to that mailbox: one to somebody else is no order
    aliases: Annotated[tuple[Mail, ...], Meta(max_length=50)] = ()
    # imaps:// with TLS; imap:// only on this machine
    imap: MailAddress = ""
    # submissions:// with TLS, submission:// begins it; without either only on this machine
    smtp: MailAddress = ""
    # Empty where it is the address
    user: Annotated[str, Meta(max_length=320)] = ""
    password: Secret = Secret()
    password_file: str = ""
    # The certificate of an authority of one's own
    ca_file: str = ""
    folder: Annotated[
        str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,200}\Z", description="a mailbox, such as INBOX")
    ] = "INBOX"
    # Who says what letters are true: what stands before the first ; of Authentication-Results
    authserv_id: Annotated[
        str, Meta(pattern=r"^[^\s;\x00]{0,253}\Z", description="a name, such as mx.example.org")
    ] = ""


class ImessageSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.imessage]` section: an account on a Mac, by its BlueBubbles server."""

    # The server on the Mac, such as http://mac.local:1234; needed, as its password is
    base_url: ReplyAddress = ""
    password: Secret = Secret()
    password_file: str = ""
    # In groups it hears those who call it barnacle, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class IrcSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.irc]` section: a nick on one server, in its channels and in private."""

    # ircs:// with TLS, irc:// without, which is for servers at home
    url: IrcAddress = "ircs://irc.libera.chat"
    nick: Nick = "barnacle"
    # The certificate of an authority of one's own
    ca_file: str = ""
    # Those it joins, such as "#lab"; with none it is written to in private
    channels: Annotated[tuple[IrcChannelName, ...], Meta(max_length=50)] = ()
    # In channels it hears those who speak to it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"
    # What it logs in with, by SASL or NickServ; without an account its own nick is meant
    account: Annotated[
        str, Meta(pattern=r"^[^\s\x00]{0,64}\Z", description="a name without spaces")
    ] = ""
    password: Secret = Secret()
    password_file: str = ""


class LarkSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.lark]` section: a bot of an app of Lark, or Feishu."""

    # Of the app's page Credentials; both needed
    app_id: Annotated[str, Meta(max_length=100)] = ""
    app_secret: Secret = Secret()
    app_secret_file: str = ""
    # In China https://open.feishu.cn
    base_url: Address = "https://open.larksuite.com"
    # In groups it hears those who mention it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class MatrixSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.matrix]` section: an account on a homeserver."""

    # Where its client-server API answers
    base_url: Address = "https://matrix.org"
    # The certificate of an authority of one's own
    ca_file: str = ""
    # The account's name, and its password; or a file that holds nothing else, which is better
    user: str = ""
    password: Secret = Secret()
    password_file: str = ""
    # Without them, the access token of a login; or a file that holds nothing else
    token: Secret = Secret()
    token_file: str = ""
    # In rooms of several it hears those who speak to it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class QqSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.qq]` section: a bot of QQ's platform for official ones."""

    # Of the bot's page at https://q.qq.com; both needed
    app_id: Digits = ""
    app_secret: Secret = Secret()
    app_secret_file: str = ""
    # For its sandbox https://sandbox.api.sgroup.qq.com
    base_url: Address = "https://api.sgroup.qq.com"
    # Where its tokens are given
    auth_url: Address = "https://bots.qq.com"
    # In groups and guilds it hears those who mention it, or nobody
    groups: Literal["mention", "off"] = "mention"


class WebhookSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.webhook]` section: a program that speaks for people; needs `[gateway]`."""

    # Where it takes answers, by a signed POST; needed
    reply_url: ReplyAddress = ""
    # What both sign with, whsec_ and Base64; or a file that holds nothing else, which is better
    secret: Secret = Secret()
    secret_file: str = ""


class WhatsAppSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.whatsapp]` section: a number at its Cloud API; needs `[gateway]`."""

    # Not the number itself; needed, as the two secrets are
    phone_number_id: Digits = ""
    # Of a system user of the business; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # What posts are signed with
    app_secret: Secret = Secret()
    app_secret_file: str = ""
    # Something of one's own in between is named here
    base_url: Address = "https://graph.facebook.com"


class MqttSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.mqtt]` section: a broker at which people and programs write."""

    # mqtts:// with TLS; without a port 1883, or 8883 with TLS
    url: BrokerAddress = "mqtt://127.0.0.1"
    user: Annotated[str, Meta(max_length=200)] = ""
    password: Secret = Secret()
    password_file: str = ""
    # The certificate of an authority of one's own
    ca_file: str = ""
    # Everything of this device is below it; another device needs another
    topic: BaseTopic = "barnacle"
    # Where Home Assistant looks for devices; empty shows it nothing
    home_assistant: DiscoveryPrefix = "homeassistant"
    # How often the boards' values are looked at
    every_s: Annotated[int, Meta(ge=5, le=3600)] = 30
    # The newest value of every recorded reading, too, for whoever may read at the broker
    readings: bool = False


class NtfySettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.ntfy]` section: a topic that telephones subscribe to."""

    base_url: Address = "https://ntfy.sh"
    # Needed; whoever knows it may write there, unless the server has access rules
    topic: Annotated[
        str,
        Meta(pattern=r"^[-_A-Za-z0-9]{0,64}\Z", description="up to 64 letters, digits, - and _"),
    ] = ""
    # Where it has: what the server gave, tk_...; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""


class XmppSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.xmpp]` section: an account on any server; needs the extra `xmpp`."""

    # Its own, which the server knows it by
    address: XmppAddress = ""
    password: Secret = Secret()
    password_file: str = ""
    # Where the address does not lead: xmpp:// begins TLS, xmpps:// has it from the first byte
    server: XmppServer = ""
    # The certificate of an authority of one's own
    ca_file: str = ""
    # Those it is in, where it hears who speaks to it
    rooms: Annotated[tuple[XmppAddress, ...], Meta(max_length=50)] = ()


class ChannelsSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels]` tables; a platform is used if its table is there."""

    telegram: TelegramSettings | None = None
    signal: SignalSettings | None = None
    dingtalk: DingTalkSettings | None = None
    discord: DiscordSettings | None = None
    slack: SlackSettings | None = None
    mattermost: MattermostSettings | None = None
    email: EmailSettings | None = None
    imessage: ImessageSettings | None = None
    irc: IrcSettings | None = None
    matrix: MatrixSettings | None = None
    lark: LarkSettings | None = None
    qq: QqSettings | None = None
    webhook: WebhookSettings | None = None
    whatsapp: WhatsAppSettings | None = None
    mqtt: MqttSettings | None = None
    ntfy: NtfySettings | None = None
    xmpp: XmppSettings | None = None
    voice: VoiceSettings | None = None
    speech: SpeechSettings | None = None
