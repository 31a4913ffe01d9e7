"""What a model did is asked about once without it, then done; and all that is never learnt."""

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.app.phrase_learner import PhraseLearner
from agent.channels.base import Answer
from agent.config import Secret
from agent.messages import (
    Attachment,
    Effect,
    Inbound,
    Provenance,
    ToolCall,
)
from agent.providers.fallback import FallbackProvider
from agent.providers.offline import learned_phrases
from agent.providers.offline.provider import OfflineProvider
from agent.security.redact import Redactor
from agent.storage import documents
from agent.storage.files import write_atomic
from agent.storage.phrases import MAX_PER_PERSON, Phrases, PhraseState
from agent.tools.base import AnyTool
from agent.tools.registry import Registry
from agent.turn.outcome import TurnOutcome
from tests.fakes.channel import FakeChannel, message
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import Around, Running, running
from tests.fakes.leaving_model import LeavingModel
from tests.fakes.said import assistant_said, tool_said
from tests.fakes.tools import PageTool
from tests.fakes.watering import NoPumpTool, NoteTool, PulseTool, SoilTool

SAID = "give the tomatoes a splash"
FIVE_S = ("board_pulse", '{"pin":"pump","duration":5000}')
READ = ("board_soil_read", "{}")
QUESTION = "Last time that meant"


class Garden:
    """Somebody who writes to an agent, online and offline."""

    def __init__(self, agent: Running, channel: FakeChannel, model: LeavingModel) -> None:
        self.agent, self.channel, self.model = agent, channel, model

    async def say(self, text: str, sender: str = "owner", **told: object) -> str:
        count = len(self.channel.sent) + 1
        said = replace(message(text, f"m{count}-{id(self)}", sender), **told)  # type: ignore[arg-type]
        await self.agent.dispatcher.deliver(said, self.agent.tasks)
        return (await self.channel.wait_for(count))[-1]


@asynccontextmanager
async def garden(
    folder: Path,
    tools: Sequence[AnyTool],
    taught: dict[str, tuple[tuple[str, str], ...]] | None = None,
    clock: SteppedClock | None = None,
    answer: Answer = Answer.NONE,
) -> AsyncIterator[Garden]:
    phrases = Phrases(folder / "phrases.json", clock or SteppedClock())
    model = LeavingModel(taught or {SAID: (FIVE_S,)})
    provider = FallbackProvider(model, OfflineProvider(None, lambda: phrases))
    channel = FakeChannel(answer)
    async with running(
        folder, provider, channel, tools=tools, around=Around(phrases=phrases)
    ) as agent:
        yield Garden(agent, channel, model)


def book(folder: Path) -> Phrases:
    return Phrases(folder / "phrases.json", SteppedClock())


async def test_the_first_use_asks_a_yes_makes_it_known_and_it_stays_known_over_a_restart(
    tmp_path: Path,
) -> None:
    online = PulseTool()
    async with garden(tmp_path, [online]) as one:
        assert await one.say(SAID) == "Done."
    assert online.done == [("pump", 5000)]
    first = PulseTool()
    async with garden(tmp_path, [first]) as two:
        two.model.is_away = True
        asked = await two.say("Give the tomatoes a  splash!")
        assert QUESTION in asked
        assert "pump" in asked
        assert "5" in asked
        assert first.done == []
        await two.say("yes")
        assert first.done == [("pump", 5000)]
        await two.say(SAID)
        assert first.done == [("pump", 5000)] * 2
    later = PulseTool()
    async with garden(tmp_path, [later]) as three:
        three.model.is_away = True
        assert QUESTION not in await three.say(SAID)
    assert later.done == [("pump", 5000)]


async def test_a_no_forgets_it(tmp_path: Path) -> None:
    pulse = PulseTool()
    async with garden(tmp_path, [pulse]) as one:
        await one.say(SAID)
        one.model.is_away = True
        assert QUESTION in await one.say(SAID)
        await one.say("no")
        assert QUESTION not in await one.say(SAID)
    assert pulse.done == [("pump", 5000)]
    assert book(tmp_path).of("owner") == []


async def test_a_no_in_another_conversation_than_the_one_it_was_learnt_in_forgets_it_too(
    tmp_path: Path,
) -> None:
    async with garden(tmp_path, [PulseTool()]) as one:
        await one.say(SAID)
        one.model.is_away = True
        assert QUESTION in await one.say(SAID, thread="another")
        await one.say("no", thread="another")
    assert book(tmp_path).of("owner") == []


@pytest.mark.parametrize(
    "correction", ["no, not that", "undo that", "that was wrong", "falsch!", "不对", "違う", "아니"]
)
async def test_what_is_corrected_in_the_next_message_is_not_learnt(
    tmp_path: Path, correction: str
) -> None:
    async with garden(tmp_path, [PulseTool()]) as one:
        await one.say(SAID)
        await one.say(correction)
    assert book(tmp_path).of("owner") == []


async def test_a_known_one_that_is_corrected_after_its_use_is_forgotten(tmp_path: Path) -> None:
    async with garden(tmp_path, [PulseTool()]) as one:
        await one.say(SAID)
        one.model.is_away = True
        for said in (SAID, "yes", "what time is it?", SAID, "wrong!"):
            await one.say(said)
    assert book(tmp_path).of("owner") == []


async def test_a_correction_long_after_other_messages_takes_nothing_back(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with garden(tmp_path, [PulseTool()], clock=clock) as one:
        await one.say(SAID)
        await one.say("how is the weather in Rome?")
        clock.advance(301)
        await one.say("no")
    assert len(book(tmp_path).of("owner")) == 1


async def test_the_same_thing_set_otherwise_soon_after_takes_it_back(tmp_path: Path) -> None:
    other = (("board_pulse", '{"pin":"pump","duration":900}'),)
    taught = {SAID: (FIVE_S,), "only a drop for the roses": other}
    async with garden(tmp_path, [PulseTool()], taught) as one:
        await one.say(SAID)
        await one.say("only a drop for the roses")
    assert [one.text for one in book(tmp_path).of("owner")] == ["only a drop for the roses"]


async def test_another_person_has_other_phrases(tmp_path: Path) -> None:
    pulse = PulseTool()
    async with garden(tmp_path, [pulse]) as one:
        await one.say(SAID)
        one.model.is_away = True
        assert QUESTION not in await one.say(SAID, sender="guest")
        assert QUESTION in await one.say(SAID)
    assert pulse.done == [("pump", 5000)]


async def test_what_is_passed_on_is_nobodys_phrase(tmp_path: Path) -> None:
    """A forwarded sentence meets no phrase, and no yes in it is a yes."""
    pulse = PulseTool()
    async with garden(tmp_path, [pulse]) as one:
        await one.say(SAID)
        one.model.is_away = True
        web = {"provenance": Provenance.WEB, "is_forwarded": True}
        assert QUESTION not in await one.say(SAID, **web)
        assert QUESTION in await one.say(SAID)
        await one.say("yes", **web)
    assert book(tmp_path).of("owner")[0].state is PhraseState.HEARD
    assert pulse.done == [("pump", 5000)]


async def test_a_pin_that_is_gone_is_said_and_nothing_is_done(tmp_path: Path) -> None:
    async with garden(tmp_path, [PulseTool()]) as one:
        await one.say(SAID)
    async with garden(tmp_path, [NoPumpTool()]) as two:
        two.model.is_away = True
        assert "the pump, which is not available now" in await two.say(SAID)
    async with garden(tmp_path, [SoilTool()]) as three:
        three.model.is_away = True
        answer = await three.say(SAID)
        assert "the pump, which is not available now" in answer
        assert "board_pulse" not in answer
    assert len(book(tmp_path).of("owner")) == 1


async def test_another_number_is_another_sentence(tmp_path: Path) -> None:
    taught = {"splash them for 5 seconds": (FIVE_S,)}
    pulse = PulseTool()
    async with garden(tmp_path, [pulse], taught) as one:
        await one.say("splash them for 5 seconds")
        one.model.is_away = True
        for said in ("splash them for 6 seconds", "splash them for 5.5 seconds"):
            assert QUESTION not in await one.say(said)
    assert pulse.done == [("pump", 5000)]


async def test_the_same_sentence_with_another_value_is_asked_about_again(tmp_path: Path) -> None:
    async with garden(tmp_path, [PulseTool()]) as one:
        await one.say(SAID)
        one.model.is_away = True
        await one.say(SAID)
        await one.say("yes")
    assert book(tmp_path).of("owner")[0].state is PhraseState.KNOWN
    taught = {SAID: (("board_pulse", '{"pin":"pump","duration":9000}'),)}
    async with garden(tmp_path, [PulseTool()], taught) as two:
        await two.say(SAID)
    (phrase,) = book(tmp_path).of("owner")
    assert phrase.state is PhraseState.HEARD
    assert "9000" in phrase.calls[0].arguments_json


async def test_the_gate_asks_about_a_hazard_as_always(tmp_path: Path) -> None:
    hazard = PulseTool(Effect.HAZARD)
    async with garden(tmp_path, [hazard], answer=Answer.YES) as one:
        await one.say(SAID)
        one.model.is_away = True
        await one.say(SAID)
        await one.say("yes")
        await one.say(SAID)
        assert len(one.channel.questions) == 3
    async with garden(tmp_path, [refused := PulseTool(Effect.HAZARD)]) as two:
        two.model.is_away = True
        await two.say(SAID)
    assert refused.done == []


async def test_an_order_that_words_understand_needs_no_phrase(tmp_path: Path) -> None:
    said = "pulse the pump for 250 ms"
    pulse = PulseTool()
    async with garden(tmp_path, [pulse], {said: (FIVE_S,)}) as one:
        await one.say(said)
        one.model.is_away = True
        await one.say(said)
    assert pulse.done == [("pump", 5000), ("pump", 250)]


@pytest.mark.parametrize(
    "said",
    [
        "do it again",
        "turn it off",
        "the same for the others",
        "water them until eight",
        "every morning",
        "if it is dry, give a splash",
        "yes please",
        "a bit more for the tomatoes",
        "mach das nochmal",
        "apágalo",
        "把它关掉",
        "それを止めて",
        "그거 꺼",
    ],
)
async def test_a_sentence_that_leans_on_something_else_is_not_learnt(
    tmp_path: Path, said: str
) -> None:
    async with garden(tmp_path, [PulseTool()], {said: (FIVE_S,)}) as one:
        await one.say(said)
    assert book(tmp_path).of("owner") == []


async def test_a_reply_to_a_question_of_the_agent_is_not_learnt(tmp_path: Path) -> None:
    outcome = replace(_outcome(FIVE_S), is_reply=True)
    assert await _learnt(tmp_path, message("splash"), outcome) == 0


def _outcome(*made: tuple[str, str], is_error: bool = False) -> TurnOutcome:
    wanted = [ToolCall(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(made)]
    added = [assistant_said("", tuple(wanted))]
    added += [tool_said(call, "{}", is_error=is_error) for call in wanted]
    return TurnOutcome("ok", tuple(added), Provenance.OWNER, is_by_model=True)


async def _learnt(folder: Path, inbound: Inbound, outcome: TurnOutcome, secret: str = "") -> int:
    phrases = Phrases(folder / "phrases.json", SteppedClock())
    tools = [PulseTool(), SoilTool(), NoteTool(), PageTool()]
    redactor = Redactor([Secret(secret)] if secret else [])
    learner = PhraseLearner(phrases, Registry(tools), redactor)
    await learner.turn_ended(inbound, outcome)
    await learner.settle()
    return len(phrases.of(inbound.who))


async def test_nothing_is_read_or_written_in_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small machine reads the vocabularies for seconds; a board waits half a second."""
    in_loop: list[bool] = []

    def watched(text: str) -> bool:
        in_loop.append(threading.current_thread() is threading.main_thread())
        return text == SAID

    def written(path: Path, content: bytes) -> None:
        if path.name == "phrases.json":
            watched(path.name)
        write_atomic(path, content)

    for name in ("stands_alone", "corrects"):
        monkeypatch.setattr(learned_phrases, name, watched)
    monkeypatch.setattr(documents, "write_atomic", written)
    async with garden(tmp_path, [PulseTool()]) as one:
        await one.say(SAID)
        await one.say("hello")
    # Learnt and written, heard and written
    assert in_loop == [False] * 4


async def test_each_turn_writes_once_whatever_it_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []

    def write(path: Path, content: bytes) -> None:
        if path.name == "phrases.json":
            written.append(content)
        write_atomic(path, content)

    monkeypatch.setattr(documents, "write_atomic", write)
    async with garden(tmp_path, [PulseTool()]) as one:
        for _ in range(3):
            await one.say(SAID)
    assert len(written) == 3


async def test_a_plain_turn_is_learnt(tmp_path: Path) -> None:
    assert await _learnt(tmp_path, message(SAID), _outcome(FIVE_S, READ)) == 1


@pytest.mark.parametrize(
    ("inbound", "outcome"),
    [
        (replace(message(SAID), provenance=Provenance.WEB), _outcome(FIVE_S)),
        (replace(message(SAID), is_forwarded=True), _outcome(FIVE_S)),
        (replace(message(SAID), quoted="water them"), _outcome(FIVE_S)),
        (replace(message(SAID), strand="job-1"), _outcome(FIVE_S)),
        (replace(message(SAID), attachments=(Attachment("a", "text/plain"),)), _outcome(FIVE_S)),
        (message(SAID), replace(_outcome(FIVE_S), provenance=Provenance.SENSOR)),
        (message(SAID), replace(_outcome(FIVE_S), is_by_model=False)),
        (message(SAID), replace(_outcome(FIVE_S), is_answer=False)),
        (message(SAID), _outcome(FIVE_S, is_error=True)),
        (message(SAID), _outcome()),
        (message(SAID), _outcome(READ, FIVE_S)),
        (message(SAID), _outcome(*[FIVE_S] * 9)),
        (message(SAID), _outcome(("note", '{"text":"hi"}'))),
        (message(SAID), _outcome(("gone", "{}"))),
        (message(SAID), _outcome(("board_pulse", f'{{"x":"{"y" * 600}"}}'))),
        (message("x " * 150), _outcome(FIVE_S)),
    ],
)
async def test_what_is_not_the_persons_own_plain_and_finished_order_is_not_learnt(
    tmp_path: Path, inbound: Inbound, outcome: TurnOutcome
) -> None:
    assert await _learnt(tmp_path, inbound, outcome) == 0


async def test_no_secret_gets_into_a_phrase(tmp_path: Path) -> None:
    secret = "swordfish-9"
    assert await _learnt(tmp_path, message(f"say {secret}"), _outcome(FIVE_S), secret) == 0
    masked = ("board_pulse", '{"pin":"***","duration":5}')
    assert await _learnt(tmp_path, message(SAID), _outcome(masked), secret) == 0
    assert not (tmp_path / "phrases.json").exists()


async def test_the_oldest_of_too_many_makes_room(tmp_path: Path) -> None:
    for number in range(MAX_PER_PERSON + 3):
        await _learnt(tmp_path, message(f"splash number {number}"), _outcome(FIVE_S))
    assert len(book(tmp_path).of("owner")) == MAX_PER_PERSON
