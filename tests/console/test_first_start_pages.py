"""The pages of the first start: the language of the questions, the first sentence."""

from pathlib import Path
from typing import Any

from agent.access.roles import PersonRole
from agent.app.console.reception import ConsoleView
from agent.console.first_start_pages import in_language
from agent.console.wording import LANGUAGES, wording
from tests.fakes.console_home import console_home
from tests.structure.sources import ROOT

ASKED = {"asked": "Its API key", "is_secret": True}


def test_every_translated_question_is_one_that_is_asked() -> None:
    sources = [ROOT / "agent/provision" / f"{name}.py" for name in ("questions", "dialog")]
    asked = "".join(
        path.read_text() for path in (*sources, ROOT / "agent/provision/browser_setup.py")
    )
    for key, text in wording("en").texts.items():
        if key.startswith("question."):
            assert text in asked, key


def test_a_question_is_shown_in_the_language_with_what_it_lists() -> None:
    assert in_language("Which model service? openai, x", wording("de")).startswith("Welcher Modell")
    assert in_language("Which model service? openai, x", wording("de")).endswith("? openai, x")
    for code in LANGUAGES:
        assert in_language("a sentence of a platform", wording(code)) == "a sentence of a platform"


async def test_only_the_owner_sees_the_questions_and_answers_them(tmp_path: Path) -> None:
    said: list[dict[str, str]] = []

    async def read(_person: Any, _arguments: Any) -> dict[str, Any]:
        steps = [{"kind": "said", "text": "! <b>no</b>"}, {"kind": "asked", "text": "Its API key"}]
        told = {"is_open": True, "is_elsewhere": False, "end": "", "steps": steps}
        return {**told, "asked": ASKED, "number": 3}

    async def answer(_person: Any, fields: Any) -> None:
        said.append(dict(fields))

    async with console_home(tmp_path) as home:
        home.agent.views["setup"] = ConsoleView(PersonRole.OWNER, read)
        home.agent.acts["setup_answer"] = ConsoleView(PersonRole.OWNER, answer)
        owner, user = await home.session(), await home.session("user")
        page = await home.get("/setup", owner)
        assert page.status == 200
        assert 'type="password"' in page.text
        assert "&lt;b&gt;no" in page.text
        assert (await home.get("/setup", user)).status == 403
        assert (await home.get("/setup")).status == 404
        done = await home.post_form("/setup/answer", owner, number="3", answer="a key")
        assert done.status == 303
        assert (await home.post("/setup/answer", user, number="3", answer="x")).status == 403
        assert (await home.post("/setup/answer", "x" * 43, number="3", answer="x")).status == 401
        assert [one["answer"] for one in said] == ["a key"]
