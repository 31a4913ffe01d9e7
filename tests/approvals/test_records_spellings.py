"""A rule of the owner's holds however a model spells a path, an address or a name."""

import json
from pathlib import Path

import pytest

from agent.approvals.records import texts_of
from agent.messages import Provenance
from agent.security.policy import Autonomy, GateCall, Policy, PolicyRule, Verdict, decide
from agent.tools.base import AnyTool
from agent.tools.content_search import ContentSearchTool
from agent.tools.file_edit import FileEditTool
from agent.tools.files import FileListTool, FileReadTool, FileWriteTool
from agent.tools.glob_search import GlobSearchTool
from agent.tools.http_request import HttpRequestTool
from agent.tools.image_info import ImageInfoTool
from agent.tools.send_message import Addressee, SendMessageTool
from agent.tools.web_fetch import WebFetchTool
from tests.fakes.pages import PreparedWeb
from tests.tools.test_send_message import KeptPost, PairedPeople

WORKSPACE = Path("workspace")
WEB = PreparedWeb({}).web
TOOLS: dict[str, AnyTool] = {
    tool.name: tool
    for tool in (
        *(FileReadTool(WORKSPACE), FileWriteTool(WORKSPACE), FileEditTool(WORKSPACE)),
        *(FileListTool(WORKSPACE), GlobSearchTool(WORKSPACE), ContentSearchTool(WORKSPACE)),
        *(ImageInfoTool(WORKSPACE), WebFetchTool(WEB), HttpRequestTool(WEB)),
        SendMessageTool(PairedPeople(Addressee("Anna", "telegram", "4711")), KeptPost()),
    )
}


@pytest.mark.parametrize(
    ("tool", "where", "arguments"),
    [
        ("file_read", {"path": "diary/*"}, {"path": "./diary/may.md"}),
        ("file_write", {"path": "diary/*"}, {"path": "./diary/may.md", "content": ""}),
        ("file_edit", {"path": "diary"}, {"path": "./diary/", "old": "a", "new": ""}),
        ("file_list", {"path": "."}, {"path": ""}),
        ("glob_search", {"path": "diary"}, {"path": "diary/", "pattern": "*"}),
        ("content_search", {"path": "diary"}, {"path": "./diary", "query": "a"}),
        ("image_info", {"path": "diary/*"}, {"path": "./diary/a.png"}),
        ("web_fetch", {"url": "https://a.org/*"}, {"url": "HTTPS://A.org:443/b?C#d"}),
        ("http_request", {"url": "http://a.org:8080/*"}, {"url": "http://A.ORG:8080?b"}),
        ("send_message", {"to": "Anna"}, {"to": " anna", "text": "hello"}),
    ],
)
def test_a_rule_of_the_owner_is_for_every_spelling(
    tool: str, where: dict[str, str], arguments: dict[str, str]
) -> None:
    called = TOOLS[tool].parse(json.dumps(arguments))
    call = GateCall(tool, TOOLS[tool].effect_of(called), texts_of(called))
    rule = PolicyRule("private", tool, where, Verdict.DENY)
    decided = decide(call, Provenance.OWNER, Policy(Autonomy.FULL, (rule,)), {})
    assert decided.rule == "rule:private"
