"""The conversation alone: what is asked, what comes of the answers."""

from collections.abc import Mapping

import pytest

from agent.channels.settings import ChannelsSettings
from agent.providers.settings import ProviderSettings
from agent.provision.key_proof import Proof, ProofVerdict
from agent.provision.questions import KEPT, SetupQuestions
from agent.provision.secret_values import Place, secrets_in
from agent.provision.toml_text import Table

GOOD = Proof(ProofVerdict.GOOD, "it is there", ("small", "large"))
DISCORD_TOKEN = "hidden.of.discord"
REFUSED = Proof(ProofVerdict.REFUSED, "the key is no good")
UNKNOWN = Proof(ProofVerdict.UNKNOWN, "nobody answers")


class Script:
    """Somebody who answers, in order; who is asked more leaves."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.hidden: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, question: str) -> str:
        self.asked.append(question)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)

    def ask_secret(self, question: str) -> str:
        self.hidden.append(question)
        return self.ask(question)


class KnowsKeys:
    """Knows what each key and token is worth."""

    def __init__(self, worth: Mapping[str, Proof]) -> None:
        self.worth = worth

    def provider(self, settings: ProviderSettings) -> Proof:
        return self.worth[settings.api_key.reveal()]

    def platform(self, name: str, channels: ChannelsSettings) -> Proof:
        said = [secret.reveal() for _, secret in secrets_in(getattr(channels, name))]
        return self.worth[" ".join(said)]


def _questions(
    script: Script, worth: Mapping[str, Proof] | None = None, before: Table | None = None
) -> SetupQuestions:
    return SetupQuestions(script, KnowsKeys(worth or {}), before or {})


def _has_key(place: Place) -> bool:
    return place == ("provider", "api_key")


def test_enter_all_the_way_is_an_agent_without_a_model() -> None:
    script = Script("", "none")
    assert _questions(script).of_agent() == {"provider": {"kind": "offline"}}
    assert "[offline]" in script.asked[0]


@pytest.mark.parametrize("kind", [{}, {"kind": "auto"}])
def test_enter_keeps_a_server_that_the_file_names_by_its_address_alone(kind: Table) -> None:
    own: Table = {"base_url": "http://127.0.0.1:8080/v1", "model": "qwen3-4b", **kind}
    script = Script("", "", "", "", "none")
    worth = {"": Proof(ProofVerdict.GOOD, "it is there", ("qwen3-4b",))}
    table = _questions(script, worth, {"provider": own}).of_agent()
    assert table == {"provider": {**own, "kind": "openai"}}


def test_a_service_and_a_bot() -> None:
    script = Script("mistral", "good-key", "large", "", "good-token")
    table = _questions(script, {"good-key": GOOD, "good-token": GOOD}).of_agent()
    assert table == {
        "provider": {"kind": "mistral", "api_key": "good-key", "model": "large"},
        "channels": {"telegram": {"token": "good-token"}},
    }
    assert [question.partition(" (")[0] for question in script.hidden] == [
        "Its API key",
        "The bot's token",
    ]


def test_a_key_that_is_refused_is_asked_for_again() -> None:
    script = Script("mistral", "bad-key", "good-key", "small", "none")
    table = _questions(script, {"bad-key": REFUSED, "good-key": GOOD}).of_agent()
    assert table["provider"] == {"kind": "mistral", "api_key": "good-key", "model": "small"}
    assert "! the key is no good" in script.said


def test_what_cannot_be_checked_is_the_persons_choice() -> None:
    script = Script("mistral", "some-key", "n", "", "some-key", "y", "small", "none")
    table = _questions(script, {"some-key": UNKNOWN}).of_agent()
    assert table["provider"] == {"kind": "mistral", "api_key": "some-key", "model": "small"}
    assert script.said.count("! nobody answers") == 2


def test_who_will_not_have_it_may_choose_another_service() -> None:
    script = Script("mistral", "some-key", "n", "offline", "none")
    table = _questions(script, {"some-key": UNKNOWN}).of_agent()
    assert table == {"provider": {"kind": "offline"}}
    assert "[mistral]" in script.asked[3]


def test_what_cannot_be_a_key_is_not_sent() -> None:
    script = Script("mistral", "a\tb", "good-key", "small", "none")
    table = _questions(script, {"good-key": GOOD}).of_agent()
    assert table["provider"] == {"kind": "mistral", "api_key": "good-key", "model": "small"}
    assert not any("a\tb" in said for said in script.said)


def test_an_unknown_service_is_asked_for_again() -> None:
    script = Script("opnai", "offline", "none")
    assert _questions(script).of_agent()["provider"] == {"kind": "offline"}
    assert any("openai" in said for said in script.said)


def test_a_service_of_ones_own_needs_its_address() -> None:
    script = Script("custom:http://127.0.0.1:8080/v1", "", "", "small", "none")
    table = _questions(script, {"": GOOD}).of_agent()
    assert table["provider"] == {"kind": "custom:http://127.0.0.1:8080/v1", "model": "small"}


def test_each_platform_that_is_named_is_asked_for_what_it_needs() -> None:
    ntfy = ("https://ntfy.example.org", "topic-of-mine", "")
    script = Script("offline", "Telegram,fax", "discord, ntfy discord", DISCORD_TOKEN, *ntfy)
    assert _questions(script, {DISCORD_TOKEN: GOOD, "": GOOD}).of_agent() == {
        "provider": {"kind": "offline"},
        "channels": {
            "discord": {"token": DISCORD_TOKEN},
            "ntfy": {"base_url": "https://ntfy.example.org", "topic": "topic-of-mine"},
        },
    }
    assert "! unknown platform fax" in script.said
    assert script.hidden[0].startswith("The bot's token")


def test_a_platform_that_posts_to_the_gateway_brings_it_along() -> None:
    secret = "whsec_aGlkZGVuSGlkZGVuSGlkZGVuSGlkZGVuSGlkZGVu"
    script = Script("offline", "webhook", "https://example.org/in", secret)
    webhook: Table = {"reply_url": "https://example.org/in", "secret": secret}
    assert _questions(script, {secret: GOOD}).of_agent() == {
        "provider": {"kind": "offline"},
        "gateway": {},
        "channels": {"webhook": webhook},
    }
    script = Script("offline", "webhook", "https://example.org/in", secret)
    before: Table = {"gateway": {"listen": "unix"}}
    assert "gateway" not in _questions(script, {secret: GOOD}, before).of_agent()


def test_what_is_there_is_what_enter_takes() -> None:
    before: Table = {"channels": {"signal": {}, "telegram": {"token_file": "/etc/token"}}}
    script = Script("", "none")
    assert "channels" not in _questions(script, before=before).of_agent()
    assert "[signal, telegram]" in script.asked[-1]


def test_a_platform_that_is_not_named_is_said_to_stay() -> None:
    """`none` is said of what is asked, and looks like an end of what is there."""
    before: Table = {"channels": {"telegram": {"groups": "all"}, "signal": {}}}
    script = Script("", "none")
    assert _questions(script, before=before).of_agent() == {"provider": {"kind": "offline"}}
    assert script.said[-2:] == [
        f"{name} stays: to end it, remove [channels.{name}] from the file."
        for name in ("telegram", "signal")
    ]


def test_what_is_kept_need_not_be_typed_again() -> None:
    before: Table = {
        "provider": {"kind": "mistral", "model": "large", "daily_limit_usd": 1.0},
        "channels": {"telegram": {"groups": "all"}},
    }
    script = Script("", "", "", "", "")
    questions = SetupQuestions(script, KnowsKeys({}), before, has=lambda _place: True)
    assert questions.of_agent() == {
        "provider": {**before["provider"], "api_key": KEPT},  # type: ignore[dict-item]  # a table
        "channels": {"telegram": {"groups": "all", "token": KEPT}},
    }


def test_another_service_begins_anew() -> None:
    before: Table = {"provider": {"kind": "mistral", "model": "large"}}
    script = Script("openai", "good-key", "", "n")
    questions = SetupQuestions(script, KnowsKeys({"good-key": GOOD}), before, has=_has_key)
    with pytest.raises(EOFError):
        questions.of_agent()
    assert "[keep the present one]" not in script.hidden[0]
    assert "The service does not list" in script.asked[-2]


@pytest.mark.parametrize(("answer", "kept"), [("", {"api_key": KEPT}), ("n", {})])
def test_without_a_service_a_stored_key_goes_only_if_the_person_says_so(
    answer: str, kept: Table
) -> None:
    before: Table = {"provider": {"kind": "mistral", "model": "large", "api_key": "stored"}}
    script = Script("offline", answer, "none")
    questions = SetupQuestions(script, KnowsKeys({}), before, has=_has_key)
    assert questions.of_agent() == {"provider": {"kind": "offline", "model": "large", **kept}}


def test_a_key_that_was_kept_goes_to_a_service_if_the_person_says_so() -> None:
    before: Table = {"provider": {"kind": "offline", "api_key": "stored"}}
    script = Script("mistral", "y", "", "large", "none")
    questions = SetupQuestions(script, KnowsKeys({}), before, has=_has_key)
    wanted = {"kind": "mistral", "model": "large", "api_key": KEPT}
    assert questions.of_agent() == {"provider": wanted}


def test_a_key_that_was_kept_is_not_offered_unasked() -> None:
    before: Table = {"provider": {"kind": "offline", "api_key": "stored"}}
    script = Script("mistral", "")
    questions = SetupQuestions(script, KnowsKeys({}), before, has=_has_key)
    with pytest.raises(EOFError):
        questions.of_agent()
    assert "[keep the present one]" not in script.hidden[0]


def test_limits_on_spending_outlast_their_service() -> None:
    """And whatever else is about every service; what is about the model is not."""
    lasting: Table = {
        "daily_limit_usd": 2.0,
        "conversation_limit_tokens": 50_000,
        "fallbacks": ["ollama"],
        "prices": {"large": {"input": 1.0, "output": 2.0}},
    }
    old = {"kind": "groq", "model": "large", "api_key": "x", "max_tokens": 99, "vision": "yes"}
    script = Script("openai", "good-key", "large", "none")
    questions = _questions(script, {"good-key": GOOD}, {"provider": {**old, **lasting}})
    new = {"kind": "openai", "model": "large", "api_key": "good-key"}
    assert questions.of_agent() == {"provider": {**new, **lasting}}
    assert "[keep the present one]" not in script.hidden[0]


def test_the_machine_is_asked_for_until_it_is_right() -> None:
    named = ("My House", "house", "Berlin", "Europe/Berlin")
    script = Script(*named, "y", "Home", "short", "", "Home", "long enough", "de")
    assert _questions(script).of_machine() == {
        "device": {"hostname": "house", "timezone": "Europe/Berlin"},
        "wifi": {"ssid": "Home", "password": "long enough", "country": "DE"},
    }
    complaints = [said for said in script.said if said.startswith("!")]
    assert ["`device.hostname`" in complaints[0], "`device.timezone`" in complaints[1]] == [
        True
    ] * 2
    assert "8 to 63" in complaints[2]
    assert "short" not in "".join(script.said)


def test_a_question_that_wants_yes_or_no_gets_one() -> None:
    script = Script("maybe", "Yes")
    assert _questions(script).agrees("Write it?")
    assert "! please answer y or n" in script.said
