"""The real Home Assistant: its REST interface under our tools, its voice integration before us."""

import json
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.access.roles import PersonRole
from agent.app.home import probe
from agent.channels.base import Answer
from agent.config import Secret
from agent.errors import HomeAssistantRefused
from agent.net.http import HttpClient
from agent.security.audit import rows_of
from agent.system.clock import SystemClock
from agent.tools.base import AnyTool
from agent.tools.home_assistant.client import HomeAssistant
from agent.tools.home_assistant.entities import EntityRules
from agent.tools.home_assistant.tools import home_tools
from agent.tools.settings import HomeAssistantSettings
from tests.fakes.board_sim import BoardSim
from tests.fakes.home_assistant_process import HomeAssistantProcess, home_assistant
from tests.fakes.irc_server import free_port
from tests.fakes.lent_agent import lent
from tests.fakes.lives import lives_of
from tests.fakes.llm_server import Call, Json, Reply, Respond, running, streamed
from tests.fakes.workspace import refused, told
from tests.faults.test_x50_spoken_restart import order
from tests.waits import wait_until

RULES = EntityRules(
    {"light.*": "actuate", "lock.*": "hazard", "cover.garage": "hazard", "input_boolean.*": "read"}
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[HomeAssistantProcess]:
    async with home_assistant(tmp_path / "home-assistant") as made:
        yield made


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {}, "script": []}) as started:
        yield started


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    made = HttpClient()
    yield made
    await made.aclose()


def tools_at(home: HomeAssistantProcess, http: HttpClient, token: str) -> dict[str, AnyTool]:
    client = HomeAssistant(home.url, Secret(token), http)
    return {tool.name: tool for tool in home_tools(client, RULES, SystemClock())}


async def test_its_entities_are_listed_switched_and_read_back(
    home: HomeAssistantProcess, http: HttpClient
) -> None:
    tools = tools_at(home, http, home.token)
    office = await told(tools["home_list"], area="office")
    assert office["entities"] == [
        {"entity": "light.desk", "name": "desk", "state": "off", "area": "Office"}
    ]
    call = tools["home_call"]
    on = await told(call, entity="light.desk", service="turn_on")
    assert (on["before"], on["state"]) == ("off", "on")
    # The lamp behind it, and the garage that follows it, have changed, too
    assert on["changed"] == 3
    unlocked = await told(call, entity="lock.front_door", service="unlock")
    assert (unlocked["before"], unlocked["state"]) == ("locked", "unlocked")
    closed = await told(call, entity="cover.garage", service="close_cover")
    assert (closed["before"], closed["state"]) == ("open", "closed")
    looked = await told(tools["home_state"], entity="light.desk")
    assert looked["state"] == "off"
    assert "supported_color_modes" in str(looked["attributes"])


async def test_its_refusals_are_understood(home: HomeAssistantProcess, http: HttpClient) -> None:
    call = tools_at(home, http, home.token)["home_call"]
    stuck = await refused(call, entity="light.stuck", service="turn_on")
    assert stuck == "turn_on was called on light.stuck, but it reads off"
    missing = await refused(call, entity="light.nowhere", service="turn_on")
    assert "knows no such entity" in missing
    wrong = await refused(call, entity="light.desk", service="turn_on", data={"bogus": 1})
    assert "refused the call as wrong (400)" in wrong
    assert "does not take the token (401)" in await refused(
        tools_at(home, http, "wrong")["home_list"]
    )


async def test_a_plain_users_token_calls_and_is_told_no_areas(
    home: HomeAssistantProcess, http: HttpClient
) -> None:
    tools = tools_at(home, http, home.plain_token)
    assert (await told(tools["home_call"], entity="light.desk", service="turn_on"))["state"] == "on"
    assert "administrator" in str((await told(tools["home_list"]))["areas"])


async def test_doctor_tells_if_it_answers(home: HomeAssistantProcess) -> None:
    wanted = {"base_url": home.url, "entities": RULES.patterns}
    settings = HomeAssistantSettings(**wanted, token=Secret(home.token))  # type: ignore[arg-type]
    assert "takes the token; 6 of its 6 entities are allowed" in await probe(settings, {})
    with pytest.raises(HomeAssistantRefused, match="does not take the token"):
        await probe(HomeAssistantSettings(**wanted, token=Secret("wrong")), {})  # type: ignore[arg-type]


async def test_its_voice_integration_uses_the_agent(
    home: HomeAssistantProcess, tmp_path: Path
) -> None:
    (tmp_path / "agent").mkdir()
    async with lent(tmp_path / "agent", gateway='[wyoming]\nlisten = "127.0.0.1:0"\n') as made:
        port = await wait_until(lambda: made.voice_port)
        stranger = await home.say(port, "what time is it?")
        made.pair_voice(PersonRole.GUEST)
        answer = await home.say(port, "what time is it?", "01JCR8")
    assert stranger["type"] == "error"
    assert "barnacle pair --wyoming 127.0.0.1" in stranger["speech"]
    assert (answer["name"], answer["type"]) == ("Barnacle", "action_done")
    assert "weekday" in answer["speech"]
    assert {"en", "de"} <= set(answer["languages"])


HOME = """
[wyoming]
listen = "127.0.0.1:0"
[home_assistant]
base_url = "{url}"
token = "{token}"
[home_assistant.entities]
"light.*" = "actuate"
"lock.*" = "actuate"
"""


def calling(entity: str, service: str) -> Respond:
    """A model that calls a service, whatever it is asked."""

    def respond(request: Json) -> Reply:
        messages = request["messages"]
        assert isinstance(messages, list)
        if messages[-1]["role"] == "tool":
            return streamed("Done.")
        order = json.dumps({"entity": entity, "service": service})
        return streamed("", Call("home_call", order))

    return respond


@pytest.mark.parametrize(("answer", "state"), [(Answer.NO, "locked"), (Answer.YES, "unlocked")])
async def test_a_lock_is_the_owners_to_open_whoever_asks(
    home: HomeAssistantProcess, http: HttpClient, tmp_path: Path, answer: Answer, state: str
) -> None:
    (tmp_path / "agent").mkdir()
    config = HOME.format(url=home.url, token=home.token)
    unlock = calling("lock.front_door", "unlock")
    autonomy = 'autonomy = "full"'
    async with lent(
        tmp_path / "agent", unlock, gateway=config, answer=answer, agent=autonomy
    ) as made:
        room = await made.hear(PersonRole.USER)
        assert await room.asked("the post is here") == "Done."
        [question] = made.owner.questions
        rows = [row for row in rows_of(made.agent.paths.audit) if row["kind"] == "decision"]
    assert question.words == "call lock.unlock of Home Assistant on lock.front_door"
    assert {row["effect"] for row in rows if row["tool"] == "home_call"} == {"hazard"}
    looked = await told(tools_at(home, http, home.token)["home_state"], entity="lock.front_door")
    assert looked["state"] == state


@pytest.mark.parametrize("point", ["effect.acted", "effect.recorded", "answer.committed"])
async def test_killed_between_act_and_answer_it_does_not_act_twice(
    home: HomeAssistantProcess, http: HttpClient, sim: BoardSim, tmp_path: Path, point: str
) -> None:
    (state := tmp_path / "state").mkdir(mode=0o700)
    config, port = tmp_path / "barnacle.toml", free_port()
    async with running(calling("light.desk", "toggle")) as model:
        voice = HOME.format(url=home.url, token=home.token).replace(":0", f":{port}")
        board = f'[board]\nport = "{sim.port}"\n[embeddings]\nprovider = "none"\n'
        provider = f'[provider]\nbase_url = "{model.base_url}"\nmodel = "fake"\n'
        config.write_text(f"{provider}offline_last = false\n{board}{voice}")
        config.chmod(0o600)
        with lives_of("tests.fakes.killed_voice_agent") as lives:
            async with lives.begin(str(config), str(state), point) as life:
                assert await order(port, life) == ("", {})
                assert await life.ended() == -signal.SIGKILL
            async with lives.begin(str(config), str(state), "") as life:
                kind, _ = await order(port, life)
    assert kind == "handled"
    # Twice it would be off again
    looked = await told(tools_at(home, http, home.token)["home_state"], entity="light.desk")
    assert looked["state"] == "on"
