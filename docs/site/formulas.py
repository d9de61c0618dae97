"""An extension of the reference: formulas of docstrings as MathML, which browsers draw without script or network."""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import Any

from griffe import Extension
from latex2mathml.converter import convert

DISPLAYED = re.compile(r"^( *)\.\. math::(.*)\n((?:\n|\1 +.*\n)*)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]+)`")
AS_DRAWN = {r"\arg\max": r"\mathrm{arg\,max}", r"\top": r"\mathsf{T}"}
"""What the converter does not know, or sets as an operator, in other words."""


class Formulas(Extension):  # type: ignore[misc]
    """Formulas as they are drawn, in place of their LaTeX."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change what a docstring says, before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = drawn(obj.docstring.value)


def drawn(text: str) -> str:
    """A docstring with its formulas as MathML."""
    return INLINE.sub(lambda match: _mathml(match[1], "inline"), DISPLAYED.sub(_displayed, text + "\n")).rstrip("\n")


def _displayed(match: re.Match[str]) -> str:
    """A block of its own; several rows are aligned."""
    latex = f"{match[2].strip()} {dedent(match[3]).strip()}".strip()
    if "\\\\" in latex or "&" in latex:
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    return indent(f'<div class="formula">{_mathml(latex, "block")}</div>\n\n', match[1])


def _mathml(latex: str, display: str) -> str:
    for written, better in AS_DRAWN.items():
        latex = latex.replace(written, better)
    return str(convert(" ".join(latex.split()), display=display))
