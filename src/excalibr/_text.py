"""Text from data shown as the text that it is: in Markdown, HTML, a CSV cell that a spreadsheet opens, a figure."""

from __future__ import annotations

import html
import re

html_text = html.escape
"""Text for the inside of an HTML element or of an attribute in quotes."""

_MARKDOWN = re.compile(r"([\\`*_\[\]|$~])")
_NUMBER = re.compile(r"[+-]?(\d[\d,_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s?%?|[+-]?(nan|inf)")


def markdown_text(text: str) -> str:
    r"""Text for a line or a table cell of Markdown, with nothing in it that is taken for Markdown or HTML.

    >>> markdown_text("<b>A|B</b> & `c`")
    '&lt;b&gt;A\\|B&lt;/b&gt; &amp; \\`c\\`'
    """
    line = " ".join(text.split())  # a new line would end the cell
    return _MARKDOWN.sub(r"\\\1", html.escape(line, quote=False))


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula; numbers stay as they are.

    >>> [csv_cell(text) for text in ("=HYPERLINK(1)", "-0.5", "-drama", "+3%", "art")]
    ["'=HYPERLINK(1)", '-0.5', "'-drama", '+3%', 'art']
    """
    is_formula = text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def figure_text(text: str) -> str:
    r"""Text that matplotlib draws as it is, whatever dollar signs it has.

    >>> print(figure_text("$_{b$"))
    \$_{b\$
    """
    return text.replace("$", r"\$")
