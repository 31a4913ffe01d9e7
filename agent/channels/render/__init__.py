"""An answer's Markdown as each platform can show it, and in pieces that a platform takes.

`split` cuts, `to_html_telegram`, `to_plain` and `to_styles` render; the library behind them is
loaded by the first answer.
"""

from agent.channels.render.html import to_html_telegram
from agent.channels.render.signal import to_styles
from agent.channels.render.spelling import to_plain
from agent.channels.render.splitting import split
from agent.channels.render.styled import utf8_bytes, utf16_units

__all__ = ["split", "to_html_telegram", "to_plain", "to_styles", "utf8_bytes", "utf16_units"]
