import pytest
from hypothesis import given

from agent.channels.render.html import to_html_telegram
from agent.channels.render.plain import to_plain
from tests.fakes.markdown import answers
from tests.fakes.telegram_html import text_of


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**b** *i* ~~s~~ `c`", "<b>b</b> <i>i</i> <s>s</s> <code>c</code>"),
        ("# Head", "<b>Head</b>"),
        ("a < b & c", "a &lt; b &amp; c"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("[t](https://e.org/?a=1&b=2)", '<a href="https://e.org/?a=1&amp;b=2">t</a>'),
        ("[t](javascript:alert(1))", "[t](javascript:alert(1))"),
        ("[t](file.txt)", "t (file.txt)"),
        ("**bold `code`**", "<b>bold </b><code>code</code>"),
        ("> a\n> **b**", "<blockquote>a\n<b>b</b></blockquote>"),
        ("> a\n> > b", "<blockquote>a\n\nb</blockquote>"),
        ("```py\nx < 1\n```", '<pre><code class="language-py">x &lt; 1</code></pre>'),
        ("```\nx\n```", "<pre>x</pre>"),
        ("- a\n- b", "• a\n• b"),
        ("2. a\n3. b", "2. a\n3. b"),
        ("| a | b |\n|--|--|\n| 1 | **2** |", "<pre>a | b\n--+--\n1 | 2</pre>"),
        ("a\nb", "a\nb"),
        ("***", "———"),
    ],
)
def test_markdown_becomes_the_few_tags_that_telegram_knows(markdown: str, html: str) -> None:
    assert to_html_telegram(markdown) == html
    text_of(html)


@given(answers)
def test_whatever_a_model_writes_telegram_can_read(markdown: str) -> None:
    text = text_of(to_html_telegram(markdown))
    if not {">", "("} & set(to_plain(markdown)):
        assert text == to_plain(markdown)


def test_a_language_cannot_break_out_of_its_attribute() -> None:
    html = to_html_telegram('```"><b>\nx\n```')
    assert html == '<pre><code class="language-&quot;&gt;&lt;b&gt;">x</code></pre>'
