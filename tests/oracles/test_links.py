"""No answer that others had a part in has a link, by the rules of the programs that show it."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.channels.dingtalk import markup as dingtalk
from agent.channels.discord import markup as discord
from agent.channels.matrix import markup as matrix
from agent.channels.render.parser import read
from agent.channels.render.plain import to_plain
from agent.channels.render.styled import Style
from agent.channels.slack import markup as slack
from agent.channels.telegram.markup import parts as telegram_parts
from agent.messages import Provenance
from agent.turn.untrusted_links import without_strange_links
from tests.fakes.link_finders import RULES, absence, by_programs, by_rules
from tests.fakes.link_forms import FORMS
from tests.fakes.markdown import answers

# What each platform is sent for an answer; Mattermost, webhooks and the terminal get Markdown
PLATFORMS: Mapping[str, Callable[[str], str]] = {
    "telegram, signal": lambda text: read(text).text,
    "discord": lambda text: str(discord.shown(text)["content"]),
    "slack": slack.shown,
    "matrix": lambda text: str(matrix.content_of(text)["body"]),
    "dingtalk": lambda text: dingtalk.shown(text).text,
    "email, irc, xmpp, whatsapp, imessage, lark, qq, ntfy, mqtt": to_plain,
    "mattermost, webhook, terminal": str,
}


def safe(text: str) -> str:
    return without_strange_links(text, Provenance.WEB, "")


def sent(text: str) -> dict[str, str]:
    return {name: shown(text) for name, shown in PLATFORMS.items()}


def leads(text: str) -> list[str]:
    return [span.value for span in read(text).spans if span.style is Style.LINK]


def test_every_finder_finds_links_and_most_forms_are_links() -> None:
    finders, unknown = Counter[str](), list[str]()
    for form in FORMS:
        found = {name for name, links in by_rules(read(form).text).items() if links}
        unknown += [] if found or leads(form) else [form]
        finders.update(found)
    assert set(finders) == {*RULES, "linkify-it-py"}
    assert min(finders.values()) > len(FORMS) / 4
    # What some browser or version may take for one
    assert len(unknown) <= 10, unknown


def test_no_form_is_a_link_on_any_platform() -> None:
    checks = 0
    for form in FORMS:
        assert leads(safe(form)) == []
        for platform, text in sent(safe(form)).items():
            found = {name: links for name, links in by_rules(text).items() if links}
            assert found == {}, (platform, form, text)
            checks += len(RULES) + 1
    sys.stdout.write(
        f"\n{len(FORMS)} forms on {len(PLATFORMS)} kinds of platforms by {len(RULES) + 1} rules: "
        f"{checks} checks, 0 links\n"
    )


def test_no_form_is_a_link_for_the_programs_that_show_it() -> None:
    if reason := absence():
        pytest.skip(reason)
    before = by_programs(FORMS)
    assert all(sum(bool(one[name]) for one in before) > len(FORMS) / 4 for name in before[0])
    texts = [(platform, text) for form in FORMS for platform, text in sent(safe(form)).items()]
    found = by_programs([text for _, text in texts])
    linked = [
        (*text, links) for text, links in zip(texts, found, strict=True) if any(links.values())
    ]
    assert linked == []
    sys.stdout.write(f"\n{len(texts)} texts by {', '.join(found[0])}: 0 links\n")


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("evil", "com", "www", "a", "x1", "例え", "рф", "json", "md", "1", "2", "😀"),
                *(
                    ".",
                    "。",
                    "．",
                    ":",
                    "/",
                    "//",
                    "://",
                    "@",
                    "#",
                    "?",
                    "=",
                    "&",
                    "-",
                    "_",
                    "~",
                    "*",
                ),
                *(
                    "`",
                    "\\",
                    "&#46;",
                    "&period;",
                    "**",
                    "[",
                    "]",
                    "(",
                    ")",
                    "<",
                    ">",
                    " ",
                    "\n",
                    "|",
                ),
                *(
                    "https",
                    "mailto:",
                    "tg:",
                    "tel:",
                    "\u200b",
                    "\u00ad",
                    "\ufe0f",
                    "\u0301",
                    "!",
                    "```",
                ),
                "](https://evil.com)",
            ]
        ),
        st.characters(codec="utf-8"),
    ),
    max_size=16,
).map("".join)


@given(_PIECES | answers | st.sampled_from(FORMS))
def test_no_text_has_a_link_by_any_rule(text: str) -> None:
    shown = safe(text)
    assert leads(shown) == []
    for platform, what in sent(shown).items():
        assert not any(by_rules(what).values()), (platform, what)
    for part in telegram_parts(shown):
        assert not any(by_rules(read(part).text).values())


@settings(max_examples=40)
@given(st.lists(_PIECES, min_size=40, max_size=40))
def test_no_text_has_a_link_for_any_program(texts: list[str]) -> None:
    if reason := absence():
        pytest.skip(reason)
    every = [what for text in texts for what in sent(safe(text)).values()]
    assert not [one for one in zip(every, by_programs(every), strict=True) if any(one[1].values())]


@given(_PIECES | answers)
def test_what_has_no_links_any_more_stays_as_it_is(text: str) -> None:
    once = to_plain(safe(text))
    assert to_plain(safe(safe(text))) == once
