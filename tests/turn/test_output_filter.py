from agent.messages import Provenance
from agent.turn.output_filter import StreamedDraft

NOTE = "[Used tools: shell]"


class Shown:
    """What a channel was given, draft after draft."""

    def __init__(self, said: str = "") -> None:
        self.drafts: list[str] = []
        self._growing = StreamedDraft(self._show, said)

    async def _show(self, text: str) -> None:
        self.drafts.append(text)

    async def grow(
        self, text: str, trust: Provenance = Provenance.OWNER, *, used_tools: bool = False
    ) -> str:
        """The last draft, of a text that came letter by letter."""
        for end in range(1, len(text) + 1):
            await self._growing(text[:end], trust, used_tools)
        return self.drafts[-1] if self.drafts else ""


async def test_text_is_shown_as_it_comes() -> None:
    shown = Shown()
    assert await shown.grow("It is on.") == "It is on."
    assert shown.drafts[0] == "I"


async def test_a_note_among_the_words_is_never_seen() -> None:
    shown = Shown()
    said = await shown.grow(f"It is on.\n{NOTE}\nAnything else?")
    # Of a longer text not every letter is worth a look
    assert said in ("It is on.\n\nAnything else", "It is on.\n\nAnything else?")
    assert not any("[" in draft for draft in shown.drafts)


async def test_where_nothing_is_left_nothing_is_shown() -> None:
    shown = Shown()
    assert await shown.grow(NOTE) == ""
    assert shown.drafts == []


async def test_talk_before_a_deed_goes_when_the_deed_is_done() -> None:
    shown = Shown()
    assert await shown.grow("Let me check the lamp...\n") == "Let me check the lamp..."
    assert await shown.grow("Let me check the lamp...\nIt is on.", used_tools=True) == "It is on."


async def test_a_strange_link_is_text_from_the_first_letter_on() -> None:
    shown = Shown()
    text = "See [the page](https://evil.example/?q=1) and https://evil.example/more of it."
    said = await shown.grow(text, Provenance.WEB)
    # The last word of a draft may go on
    assert said == (
        "See the page (https[:]//evil[.]example/?q=1) and https[:]//evil[.]example/more of"
    )
    assert all(said.startswith(draft) for draft in shown.drafts)


async def test_a_link_that_the_person_wrote_stays() -> None:
    shown = Shown("what is on https://ours.example/a ?")
    assert await shown.grow("See https://ours.example/a now.", Provenance.WEB) == (
        "See https://ours.example/a"
    )


async def test_a_long_text_is_not_looked_at_for_every_letter() -> None:
    shown = Shown()
    await shown.grow("word " * 800)
    assert len(shown.drafts) < 500
    assert len(shown.drafts[-1]) > 3900
