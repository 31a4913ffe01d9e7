"""Search for tools by name, description, arguments and pins.

A rare word counts for more than one that many tools have. Nothing here runs a tool.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from agent.link.devices.device_table import ROWS
from agent.memory.text import asked_tokens, normalise, tokens
from agent.messages import Effect, ToolResult, ToolSpec
from agent.passage import Fact, Passage, Provenance, fields, joined, own
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import Arguments, Tool, ToolContext

# The words of our tools; then English, German and Spanish; then Chinese, Japanese and Korean.
# Those of devices stand in their rows
_ROWS = (
    (
        "reflex rule board",
        "automat itself regel selbst regla automátic",
        "规则 自动 ルール 規則 自動 규칙 자동",
    ),
    (
        "watch tell owner",
        "notify alert alarm warn inform benachrichtig melde bescheid überwach avisa avísame vigil",
        "通知 提醒 告诉我 监视 监控 知らせ 監視 알려 감시 알림",
    ),
    (
        "memory remember",
        "gedächtnis erinner merke memoria recuerd",
        "记忆 记住 记得 記憶 覚え 기억",
    ),
    ("forget delete memory", "vergiss vergessen olvid", "忘记 忘掉 忘れ 잊어"),
    ("delete remove", "erase lösch entfern borra elimina", "删除 移除 削除 消し 삭제 지워 제거"),
    ("list", "show overview zeig liste übersicht muestra", "列出 显示 列表 一覧 表示 목록 보여"),
    ("stop pause", "suspend anhalt pausier detén pausa", "停止 暂停 止め 中断 멈춰 중지"),
    ("temperature", "thermometer celsius warm temperatur", "温度 気温 온도"),
    ("humidity climate", "moist feucht humedad", "湿度 습도"),
    ("pressure climate", "druck presión", "气压 压力 気圧 기압"),
    ("supply voltage", "batter akku spannung voltaje", "电压 电池 電圧 電池 전압 배터리"),
    (
        "datasheet documents search",
        "manual datenblatt handbuch dokument documento",
        "数据手册 文档 手册 データシート 資料 데이터시트 문서",
    ),
    ("memory source who said", "quelle gesagt fuente quién", "来源 谁说 出典 誰が 출처 누가"),
    ("file write", "save datei schreib archivo escrib guarda", "文件 保存 ファイル 파일 저장"),
    *(words for row in ROWS for words in row.words),
    ("system", "gerät zustand sistema estado", "系统 状态 システム 状態 시스템 상태"),
)


def words_for(query: str) -> Iterator[str]:
    """Yield the tools' words for a query in any of the languages.

    A word may stand inside a compound, as "feucht" in "Luftfeuchtigkeit".
    """
    said = normalise(query)
    for ours, alphabetic, others in _ROWS:
        if any(word in said for word in (*alphabetic.split(), *others.split())):
            yield from ours.split()


TOOL_SEARCH = "tool_search"
# As many as one looks through, and few enough to be shown from then on
MAX_FOUND = 5
MAX_NEAREST = 3
# Where dozens of tools wait, their names would cost more than the search saves
MAX_NAMES_BYTES = 640
_MAX_ASKED_TOKENS = 32
# What a tool is called says more than what is said about it, and that more than its choices
_NAME_WEIGHT, _ABOUT_WEIGHT, _ARGUMENT_WEIGHT = 3.0, 2.0, 1.0
# "pins" for "pin": the beginning of a word is worth half of it
_BEGINNING_WORTH = 0.5
_SHORTEST_BEGINNING = 3
# Two names that are this alike are one and its misspelling
_ALIKE = 0.6


class ToolSearchArguments(Arguments, frozen=True):
    """Query for tools."""

    query: Annotated[str, Meta(min_length=1, max_length=200, description="in any language")]


class ToolSearchTool(Tool[ToolSearchArguments]):
    """Shows a model further tools.

    Args:
        specs: every tool there is at the moment.
    """

    reads = Provenance.WEB
    name = TOOL_SEARCH
    description = own(
        "Find further tools by what they do, before you say that something cannot be done; what is "
        "found can be called from then on."
    )
    effect = Effect.READ
    shown = NOTHING_PRIVATE
    arguments_type = ToolSearchArguments

    def __init__(self, specs: Callable[[], Sequence[ToolSpec]]) -> None:
        self._specs = specs

    def spec_naming(self, waiting: Sequence[ToolSpec]) -> ToolSpec:
        """Return the tool's spec with the names of what can be found."""
        plain = self.spec()
        about = joined(" ", [plain.about, _names(waiting)])
        return ToolSpec(plain.name, about, plain.parameters, plain.effect)

    async def execute(self, arguments: ToolSearchArguments, context: ToolContext) -> ToolResult:
        specs = self._specs()
        found = best(arguments.query, specs, MAX_FOUND)
        told: dict[str, Fact] = {
            "tools": [
                {"name": spec.about.saying(spec.name), "description": spec.about} for spec in found
            ]
        }
        if not found:
            told["there_are"] = _names(specs)
        return ToolResult.done(fields(told))


def best(query: str, specs: Sequence[ToolSpec], limit: int) -> list[ToolSpec]:
    """Return the best matching tools; equal ones in order of their names."""
    asked = dict.fromkeys([*asked_tokens(query, _MAX_ASKED_TOKENS), *words_for(query)])
    words = [_Words.of(spec) for spec in specs]
    scores = [0.0] * len(specs)
    for token in asked:
        worths = [one.worth(token) for one in words]
        if having := sum(worth > 0 for worth in worths):
            rarity = math.log(1 + len(specs) / having)
            scores = [score + rarity * worth for score, worth in zip(scores, worths, strict=True)]
    ranked = sorted(zip(scores, specs, strict=True), key=lambda one: (-one[0], one[1].name))
    return [spec for score, spec in ranked if score > 0][:limit]


def nearest(name: str, specs: Sequence[ToolSpec]) -> list[str]:
    """Return existing names that are close to an unknown one."""
    import difflib  # noqa: PLC0415 - only after a mistake

    names = [spec.name for spec in specs]
    alike = difflib.get_close_matches(name, names, MAX_NEAREST, _ALIKE)
    found = [spec.name for spec in best(name, specs, MAX_NEAREST)]
    return list(dict.fromkeys([*alike, *found]))[:MAX_NEAREST]


class _Words(Struct, frozen=True):
    """Weight of each word of a tool."""

    weights: Mapping[str, float]

    @classmethod
    def of(cls, spec: ToolSpec) -> "_Words":
        weights = dict.fromkeys(tokens(" ".join(_texts(spec.parameters))), _ARGUMENT_WEIGHT)
        weights |= dict.fromkeys(tokens(spec.description), _ABOUT_WEIGHT)
        weights |= dict.fromkeys(tokens(spec.name), _NAME_WEIGHT)
        return cls(weights)

    def worth(self, token: str) -> float:
        if token in self.weights:
            return self.weights[token]
        begun = [weight for word, weight in self.weights.items() if _is_beginning(word, token)]
        return _BEGINNING_WORTH * max(begun, default=0.0)


def _is_beginning(word: str, token: str) -> bool:
    shorter, longer = sorted((word, token), key=len)
    return len(shorter) >= _SHORTEST_BEGINNING and longer.startswith(shorter)


def _texts(schema: object) -> Iterator[str]:
    """Yield names, choices and descriptions of the arguments."""
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            yield from map(str, value)
            for field in value.values():
                yield from _texts(field)
        elif key == "enum" and isinstance(value, (list, tuple)):
            yield from map(str, value)
        elif key == "description":
            yield str(value)


def _names(specs: Sequence[ToolSpec]) -> Passage:
    """Return as many names as there is room for."""
    shown: list[Passage] = []
    for spec in specs:
        name = spec.about.saying(spec.name)
        if len(joined(", ", [*shown, name]).text.encode()) > MAX_NAMES_BYTES:
            left = len(specs) - len(shown)
            return own("There are {} and {} more.", joined(", ", shown), left)
        shown.append(name)
    return own("There are {}.", joined(", ", shown))
