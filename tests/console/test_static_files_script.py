"""The pages' script in Node, on as much of a page as it touches."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path("agent/console/static/console.js")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node here: apt-get install nodejs")

# A page: what it listens to is in `heard`, its streams in `streams`, what was sent in `sent`
PAGE = """
const heard = {}, streams = [], sent = [];
const listen = (type, what) => (heard[type] ??= []).push(what);
const tell = (type, event = {}) => (heard[type] ?? []).forEach((one) => one(event));
globalThis.HTMLTextAreaElement = class {};
globalThis.HTMLInputElement = class {};
globalThis.HTMLFormElement = class {};
globalThis.EventSource = class {
  constructor(address) {
    Object.assign(this, { address, isOpen: true, heard: {} });
    streams.push(this);
  }
  addEventListener(name, what) { this.heard[name] = what; }
  tell(name) { this.heard[name]({ data: "" }); }
  close() { this.isOpen = false; }
};
globalThis.fetch = () => new Promise(() => {});
globalThis.window = globalThis;
globalThis.addEventListener = listen;
globalThis.scrollTo = () => {};
const button = { disabled: false };
const form = {
  elements: { files: { value: "" }, token: { value: "t" }, text: { value: "" } },
  querySelector: () => button,
  requestSubmit: () => sent.push(form.elements.text.value),
};
const nothing = () => {};
const part = () => ({
  append: nothing, addEventListener: nothing, setAttribute: nothing, replaceChildren: nothing,
  content: { cloneNode: nothing },
});
const waiting = [];
globalThis.setTimeout = (what) => waiting.push(what);
globalThis.clearTimeout = (number) => { delete waiting[number - 1]; };
globalThis.document = {
  hidden: false,
  body: { dataset: { stream: "/live?page=chat" } },
  documentElement: {},
  addEventListener: listen,
  createElement: part,
  getElementById: part,
  querySelector: () => null,
  querySelectorAll: () => [],
};
const open = () => streams.filter((one) => one.isOpen).map((one) => one.address);
const isSeen = (seen) => { document.hidden = !seen; tell("visibilitychange"); };
"""


def ran(doing: str, before: str = "") -> Any:
    """Return what the script has made of it: the value of `told`."""
    lines = [PAGE, before, SCRIPT.read_text(), "let told;", doing]
    # A page waits for its stream for ever; this one ends
    lines.append("process.stdout.write(JSON.stringify(told)); process.exit(0);")
    done = subprocess.run(
        [str(NODE), "-"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_enter_sends_nothing_while_a_file_is_on_its_way() -> None:
    """The message would go without it, and the file would be forgotten."""
    doing = """
    const field = Object.assign(new HTMLTextAreaElement(), { form, value: "what is this?" });
    form.elements.text = field;
    field.dataset = { submits: "" };
    const place = Object.assign(new HTMLInputElement(), { form });
    place.dataset = { uploads: "", most: "10", limit: "20" };
    place.files = [{ name: "picture.png", type: "image/png", size: 10 }];
    const enter = { target: field, key: "Enter", preventDefault() {} };
    tell("change", { target: place });
    tell("keydown", enter);
    told = [[...sent]];
    button.disabled = false;
    tell("keydown", enter);
    told.push([...sent]);
    """
    assert ran(doing) == [[], ["what is this?"]]


def test_a_page_that_has_to_rest_waits_until_it_is_seen() -> None:
    doing = """
    told = [open()];
    isSeen(false);
    streams[0].tell("rest");
    told.push(open());
    isSeen(true);
    told.push(open());
    isSeen(true);
    told.push(open());
    """
    again = ["/live?page=chat&again=yes"]
    assert ran(doing) == [["/live?page=chat"], [], again, again]


def test_a_page_that_is_seen_says_that_it_is_lost_and_tries_again() -> None:
    doing = "streams[0].tell('rest'); told = [open(), waiting.length > 0];"
    assert ran(doing) == [[], True]
