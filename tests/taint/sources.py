"""Every source outside: what it is called, and the most that words from it may be trusted.

A world plants a canary at one of them at a time. Who adds a way for words to come in adds a line.
"""

from agent.messages import Provenance

WEB, TOOL, SENSOR = Provenance.WEB, Provenance.TOOL, Provenance.SENSOR

SOURCES: dict[str, Provenance] = {
    # The network
    "page body": WEB,
    "page title": WEB,
    "page content type": WEB,
    "page charset": WEB,
    "page status line": WEB,
    "page header": WEB,
    "redirect host": WEB,
    "redirect path": WEB,
    "network failure": WEB,
    "hit title": WEB,
    "hit address": WEB,
    "hit text": WEB,
    "browser address": WEB,
    "browser title": WEB,
    "browser text": WEB,
    "browser element": WEB,
    "browser event": WEB,
    "browser way": WEB,
    "browser failure": WEB,
    # Files
    "file bytes": TOOL,
    "file name": TOOL,
    "folder name": TOOL,
    "link target": TOOL,
    "link name": TOOL,
    "pdf page": TOOL,
    "broken pdf": TOOL,
    "kept result": WEB,
    "git settings": TOOL,
    "skill text": TOOL,
    "skill description": TOOL,
    "skill file name": TOOL,
    "skill front matter": TOOL,
    # Programs
    "program output": TOOL,
    "program complaint": TOOL,
    "program end": TOOL,
    "program failure": TOOL,
    "picture complaint": WEB,
    # Hardware
    "board text": SENSOR,
    "board bytes": SENSOR,
    "board choice": SENSOR,
    "board refusal": SENSOR,
    "board unknown outcome": SENSOR,
    "board absence": SENSOR,
    "board trouble": SENSOR,
    "board method name": SENSOR,
    "board method text": SENSOR,
    "board field name": SENSOR,
    "board unit": SENSOR,
    "board result name": SENSOR,
    "board interlock": SENSOR,
    "board pin name": SENSOR,
    "reading name": SENSOR,
    "reading unit": SENSOR,
    "board pin alias": SENSOR,
    "board pin capability": SENSOR,
    "board name": SENSOR,
    "board firmware": SENSOR,
    "board link refusal": SENSOR,
    "i2c bytes": SENSOR,
    "i2c failure": SENSOR,
    "gpio failure": SENSOR,
    # Servers of others
    "mcp text": WEB,
    "mcp error": WEB,
    "mcp trouble": WEB,
    # The house
    "home state": WEB,
    "home name": WEB,
    "home attribute": WEB,
    "home area": WEB,
    "home refusal": WEB,
    # Another device of the owner
    "device answer": SENSOR,
    "device refusal": SENSOR,
    # What others ordered
    "job name": WEB,
    "job prompt": WEB,
    "job message": WEB,
    "job result": Provenance.MODEL,
    "timer name": WEB,
    "timer order": WEB,
    "timer text": WEB,
    "watch name": WEB,
    "watch words": WEB,
    "watch order": WEB,
    "watch trouble": SENSOR,
    # What is remembered
    "memory text": WEB,
    "memory key": WEB,
    "memory source": WEB,
    "memory category": WEB,
    "memory failure": WEB,
    "document text": WEB,
    "document source": WEB,
    "library failure": WEB,
    # People
    "person name": WEB,
    "person answer": Provenance.USER,
    "post failure": WEB,
}
# Nothing of these is ever shown to a model; that it stays so is looked at as well
HIDDEN = frozenset(
    {
        *("page status line", "page header", "page charset", "network failure"),
        *("link target", "link name", "board method text"),
    }
)
