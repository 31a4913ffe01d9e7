"""Picture of a conversation: talks to the agent through `scripts/run --plain` and draws an SVG.

Nothing in the picture is written by hand: the answers are those of this run.
"""

import argparse
import subprocess
import unicodedata
from collections.abc import Sequence
from html import escape
from pathlib import Path

from scripts.lib.progress import StepFailed
from scripts.lib.setup import ROOT

# Sentences that need no model and no network
SENTENCES = (
    "turn the led on",
    "what is the temperature?",
    "wie warm ist es?",
    "打开水泵",
    "turn on the pump and switch off the led",
    "remember that my sister is called Mei",
    "what is my sister called?",
)
# A first start builds the environment and the embedding model
_LONGEST_RUN_S = 900
_FONT_PX, _LINE_PX, _CELL_PX, _MARGIN_PX, _BAR_PX = 15, 22, 9, 20, 34
_FONTS = "ui-monospace, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', Menlo, Consolas, monospace"
_PAPER, _BAR, _TITLE = "#16181d", "#23262d", "#9aa4b2"
_PERSON, _AGENT = "#8fd3a5", "#e6e9ef"
_LAMPS = ("#ff5f57", "#febc2e", "#28c840")
_FRAME = f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width}} {{height}}"
     width="{{width}}" height="{{height}}" role="img" aria-label="A conversation with the device">
<rect width="100%" height="100%" rx="10" fill="{_PAPER}"/>
<path d="M0 {_BAR_PX}V10a10 10 0 0 1 10-10H{{inner}}a10 10 0 0 1 10 10V{_BAR_PX}z" fill="{_BAR}"/>
<text x="50%" y="{_BAR_PX // 2 + 5}" text-anchor="middle" font-family="{_FONTS}" font-size="13"
      fill="{_TITLE}">barnacle chat</text>"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/picture", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "agent/cli/conversation.svg")
    output = parser.parse_args(arguments).output
    try:
        answers = talk(SENTENCES)
    except StepFailed as failure:
        print(failure)
        return 1
    output.write_text(draw(list(zip(SENTENCES, answers, strict=True))), encoding="utf-8")
    print(f"wrote {output}")
    return 0


def talk(sentences: Sequence[str]) -> list[str]:
    """Return the agent's answer to each sentence.

    Raises:
        StepFailed: the agent ended early, or did not answer each sentence with one line.
    """
    done = subprocess.run(
        [ROOT / "scripts/run", "--plain"],
        input="".join(f"{one}\n" for one in sentences),
        capture_output=True,
        text=True,
        timeout=_LONGEST_RUN_S,
        check=False,
    )
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(sentences):
        raise StepFailed(f"no picture: {len(answers)} answers to {len(sentences)}\n{done.stderr}")
    return answers


def draw(turns: Sequence[tuple[str, str]]) -> str:
    """Return an SVG of a terminal that shows these sentences and answers."""
    lines = [line for said, answer in turns for line in ((f"> {said}", _PERSON), (answer, _AGENT))]
    width_px = max(_columns(text) for text, _ in lines) * _CELL_PX + 2 * _MARGIN_PX
    height_px = _BAR_PX + len(lines) * _LINE_PX + 2 * _MARGIN_PX
    frame = _FRAME.format(width=width_px, height=height_px, inner=width_px - 10)
    texts = (_line(number, text, colour) for number, (text, colour) in enumerate(lines))
    return "\n".join([frame, *_lamps(), *texts, "</svg>\n"])


def _lamps() -> list[str]:
    return [
        f'<circle cx="{_MARGIN_PX + 20 * number}" cy="{_BAR_PX // 2}" r="6" fill="{colour}"/>'
        for number, colour in enumerate(_LAMPS)
    ]


def _line(number: int, text: str, colour: str) -> str:
    y_px = _BAR_PX + _MARGIN_PX + number * _LINE_PX + _FONT_PX
    return (
        f'<text x="{_MARGIN_PX}" y="{y_px}" font-family="{_FONTS}" font-size="{_FONT_PX}" '
        f'fill="{colour}" xml:space="preserve">{escape(text)}</text>'
    )


def _columns(text: str) -> int:
    """Return how many terminal cells the text takes: East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)
