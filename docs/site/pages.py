"""A hook of the documentation site: pages that are made, and links as they are in the repository.

The files at the root become pages, the reference is made from the docstrings, and a link to a file of the repository
leads to its page, or is plain text where the site has none.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parent.parent.parent

PROJECT = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "docs/site/README.md": "project/documentation.md",
    "src/kernel/README.md": "project/kernel.md",
    "tests/README.md": "project/tests.md",
    "README.md": "index.md",
}
"""Files outside docs/ by path, and their pages; the start page stands for the README."""

REFERENCE = {
    "one-user": ("One user", "excalibr.calibrate excalibr.calibrate_path excalibr.frontier excalibr.Band excalibr.Shown"
        " excalibr.Policy excalibr._policy.SolveInfo excalibr._policy.explanation.Explanation"
        " excalibr._policy.explanation.SlateItems excalibr._policy.explanation.CategoryShares"
        " excalibr._solver.frontier.Frontier"),
    "many-users": ("Many users", "excalibr.tables.Reranker excalibr._many_users.calibrate_batch"
        " excalibr.tables._balance.Balance excalibr.tables.from_arrays"),
    "targets": ("Targets and positions", "excalibr.targets excalibr.positions"),
    "metrics": ("Metrics", "excalibr.metrics"),
    "data": ("Data and models", "excalibr.datasets excalibr.models"),
    "methods": ("Other methods", "excalibr.methods excalibr.baselines excalibr.paper"),
    "clusters": ("Clusters", "excalibr.spark excalibr.ray"),
    "errors": ("Errors and warnings", "excalibr.errors"),
}  # fmt: skip

LOG = get_plugin_logger("pages")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
ROW = re.compile(r"^\|.*$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
SHIM = "https://unpkg.com/iframe-worker/shim"
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data):<code>~?(.*?)</code>")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the files at the root and the reference."""
    for path, page in PROJECT.items():
        if page != "index.md":
            files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    for name, (title, objects) in REFERENCE.items():
        text = "\n\n".join([f"# {title}", *(f"::: {each}" for each in objects.split())])
        files.append(File.generated(config, f"api/{name}.md", content=text + "\n"))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links of the repository to pages of the site."""
    here = page.file.src_uri
    sources = {made: path for path, made in PROJECT.items() if made != "index.md"}
    folder = posixpath.dirname(sources.get(here, f"docs/{here}"))

    def lead(match: re.Match[str]) -> str:
        mark, text, link, anchor = match[1], match[2], match[3], match[4] or ""
        path = posixpath.normpath(posixpath.join(folder, link))
        target = PROJECT.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
        if target.startswith("notebooks/"):
            target = target.replace(".ipynb", ".md")
        if files.get_file_from_path(target) is None:
            if not (ROOT / path).exists():
                return match[0]  # the build says that it leads nowhere
            return text
        return f"{mark}[{text}]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{anchor})"

    return ROW.sub(_bars_of_code, LINK.sub(lead, markdown))


def _bars_of_code(row: re.Match[str]) -> str:
    """A row of a table, with the bars in its code as they are: a backslash before them would be shown here."""
    return CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0])


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Roles of docstrings as plain code; a formula that is still LaTeX stops the build."""
    if ".. math::" in html or ":math:" in html:
        LOG.warning("%s shows a formula as it is written", page.file.src_uri)
    return ROLE.sub(r"<code>\1</code>", html)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take the search's script for pages read as files from the site itself."""
    return output.replace(SHIM, get_relative_url("search-from-files.js", page.url))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page that says that there is none."""
    return output_content.replace(SHIM, "search-from-files.js")
