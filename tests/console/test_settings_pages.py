"""Pages of the settings: forms for the owner alone, mistakes at their fields, nothing lost."""

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.console.reception import ConsoleView
from tests.fakes.console_home import ConsoleHome, Page, console_home

INPUT: dict[str, Any] = {
    "name": "name",
    "kind": "text",
    "choices": [],
    "wanted": "text",
    "usual": "Barnacle",
    "about": "What the device calls itself.",
    "is_set": True,
    "value": "Rosa",
}
FIELDS = [
    INPUT,
    {**INPUT, "name": "summaries", "kind": "flag", "choices": ["true", "false"], "value": ""},
    {**INPUT, "name": "rooms", "kind": "lines", "value": "a\nb", "usual": ""},
    {**INPUT, "name": "token", "kind": "secret", "value": "", "usual": ""},
]
PLANNED: dict[str, Any] = {
    "verdict": "planned",
    "problems": [],
    "diff": ["@@ -1 +1 @@", '-name = "Rosa"', '+name = "Iris <b>"'],
    "secrets": ["token"],
    "openings": [],
    "change": "number",
}


class PlayedSettings:
    """The agent's side: keeps what comes, and answers as a test wants."""

    def __init__(self, home: ConsoleHome, **told: Any) -> None:
        section = {"where": "agent", "is_set": True, "is_optional": True}
        self.told: dict[str, Any] = {
            "state": "ready",
            "path": "/etc/barnacle.toml",
            "seen": "hash",
            "name": "Greenhouse",
            "sections": [{"where": "agent", "is_set": True}, {"where": "log", "is_set": False}],
            "takes_names": ["boards"],
            "section": {**section, "takes_names": ["rules"], "fields": FIELDS},
            **told,
        }
        self.answers: dict[str, dict[str, Any]] = {"check": PLANNED, "take": PLANNED}
        self.asked: list[Mapping[str, str]] = []
        home.agent.views["settings"] = ConsoleView(PersonRole.OWNER, self.read)
        home.agent.acts["settings_check"] = ConsoleView(PersonRole.OWNER, self.check)
        home.agent.acts["settings_take"] = ConsoleView(PersonRole.OWNER, self.take)

    async def read(self, person: Person, arguments: Mapping[str, str]) -> Any:
        self.asked.append(arguments)
        whole = {**self.told}
        if not arguments.get("section"):
            whole.pop("section", None)
        return whole

    async def check(self, person: Person, arguments: Mapping[str, str]) -> Any:
        self.asked.append(arguments)
        return self.answers["check"]

    async def take(self, person: Person, arguments: Mapping[str, str]) -> Any:
        self.asked.append(arguments)
        return self.answers["take"]


async def send(home: ConsoleHome, path: str, session: str, **fields: str) -> Page:
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return await home.post_form(path, session, **named)


async def test_the_settings_are_the_owners_alone(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        PlayedSettings(home)
        owner, user = await home.session(), await home.session("user")
        assert (await home.get("/settings", owner)).status == 200
        assert (await home.get("/settings", user)).status == 403
        assert (await send(home, "/settings/check", user, section="agent")).status == 403
        assert (await send(home, "/settings/take", user, change="number")).status == 403
        assert (await home.get("/settings")).status == 404
        forged = {"token": "x", "section": "agent"}
        assert (await send(home, "/settings/check", owner, **forged)).status == 403


async def test_a_section_is_a_form_with_its_sentences(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        PlayedSettings(home)
        page = (await home.get("/settings?section=agent", await home.session())).text
        assert 'value="Rosa"' in page
        assert "What the device calls itself." in page
        assert 'type="password"' in page
        assert "<option" in page
        index = (await home.get("/settings", await home.session())).text
        assert "/settings?section=log" in index
        assert 'value="boards"' in index


async def test_a_table_of_ones_own_name_has_a_form(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedSettings(home)
        await home.get("/settings?below=boards&name=shed", await home.session())
        assert played.asked[-1]["section"] == "boards.shed"


async def test_only_what_was_changed_goes_to_the_agent(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        page = await send(
            *(home, "/settings/check", session),
            section="agent",
            seen="hash",
            v__name="Iris <b>",
            was__name="Rosa",
            v__summaries="",
            was__summaries="",
            v__rooms="a\r\nb",
            was__rooms="a\nb",
            v__token="typed-secret",
            was__token="",
            drop__old="yes",
        )
        asked = next(one for one in played.asked if "seen" in one)
        values = {name: value for name, value in asked.items() if name.startswith("v.")}
        assert values == {"v.name": "Iris <b>", "v.token": "typed-secret"}
        assert (asked["seen"], asked["dropped"], asked["is_removed"]) == ("hash", "old", "")
        # The change is shown, what it holds escaped, and no secret comes back
        assert "+name = &#34;Iris &lt;b&gt;&#34;" in page.text
        assert "typed-secret" not in page.text
        assert 'name="change" value="number"' in page.text
        assert 'id="confirmed"' not in page.text


async def test_a_mistake_is_at_its_field_with_what_was_typed(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        problems = [{"key": "name", "text": "must be <short>"}, {"key": "", "text": "and so on"}]
        played.answers["check"] = {**PLANNED, "verdict": "refused", "problems": problems}
        page = await send(
            *(home, "/settings/check", session), section="agent", v__name="x" * 70, was__name="Rosa"
        )
        assert 'aria-invalid="true"' in page.text
        assert 'id="f-name-wrong">must be &lt;short&gt;' in page.text
        assert f'value="{"x" * 70}"' in page.text
        assert 'name="was.name" value="Rosa"' in page.text
        assert "and so on" in page.text


async def test_a_file_that_changed_meanwhile_loses_nothing(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        played.answers["take"] = {**PLANNED, "verdict": "changed_meanwhile"}
        page = await send(
            *(home, "/settings/take", session), section="agent", change="number", v__name="Iris"
        )
        assert "changed meanwhile" in page.text
        assert 'value="Iris"' in page.text
        assert "in the file now: Rosa" in page.text
        # The next check is of the file as it is
        assert 'name="seen" value="hash"' in page.text


async def test_what_opens_something_asks_for_the_name(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        opening = {**PLANNED, "openings": ["ways_in", "limits"]}
        played.answers = {"check": opening, "take": {**opening, "verdict": "confirm"}}
        page = await send(
            *(home, "/settings/check", session), section="agent", v__name="Iris", was__name=""
        )
        assert "type the name of the device: Greenhouse" in page.text
        page = await send(
            *(home, "/settings/take", session), section="agent", change="number", confirmed="no"
        )
        assert "That is not its name" in page.text
        assert [one["confirmed"] for one in played.asked if "confirmed" in one] == ["no"]


async def test_a_change_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        played.answers["take"] = {**PLANNED, "verdict": "taken"}
        page = await send(home, "/settings/take", session, section="agent", change="number")
        assert (page.status, page.header("location")) == (
            *(303, "/settings?section=agent&taken=yes"),
        )
        assert "Written" in (await home.get("/settings?section=agent&taken=yes", session)).text


async def test_one_goes_back_to_the_form_with_what_was_typed(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        page = await send(
            *(home, "/settings/edit", session), section="agent", v__name="Iris", v__rooms="x\r\ny"
        )
        assert 'value="Iris"' in page.text
        assert "x\r\ny</textarea>" in html.unescape(page.text)
        assert all("seen" not in one for one in played.asked)


async def test_a_file_of_roots_is_checked_and_not_written(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        played = PlayedSettings(home, state="not_ours")
        played.answers["check"] = {**PLANNED, "openings": ["ways_in"]}
        assert "sudo barnacle setup" in (await home.get("/settings", session)).text
        page = await send(home, "/settings/check", session, section="agent", v__name="Iris")
        assert "+name" in page.text
        assert "sudo barnacle setup" in page.text
        assert "Write it" not in page.text
        assert 'id="confirmed"' not in page.text


async def test_a_file_that_cannot_be_changed_is_said_to_be(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played, session = PlayedSettings(home), await home.session()
        played.told = {"state": "no_file"}
        page = await home.get("/settings", session)
        assert "no configuration file" in page.text
        played.told = {"state": "broken", "why": "`agent.nme`: unknown key"}
        assert "unknown key" in (await home.get("/settings", session)).text
