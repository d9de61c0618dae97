"""A hook of the documentation site: the notebooks, run when it is built, as pages with what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"

QUIET = ["--IPKernelApp.log_level=ERROR"]
"""A kernel warns that it listens on this machine, unencrypted, which is where it is asked."""


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a page for each notebook."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page_of(path)))
    return files


def page_of(path: Path) -> str:
    """The notebook as Markdown, after a run of it."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", extra_arguments=QUIET)
    client.execute(cwd=str(path.parent))
    parts = [part for cell in notebook.cells for part in _cell(cell)]
    title, *rest = parts
    heading, _, introduction = title.partition("\n")
    download = f'[The notebook itself]({path.name}){{ download="{path.name}" }}'
    return "\n\n".join([heading, introduction.strip(), download, *rest]) + "\n"


def _cell(cell: Any) -> list[str]:
    if cell.cell_type != "code":
        return [cell.source]
    return [f"```python\n{cell.source}\n```", *(_output(output) for output in cell.outputs)]


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    if "image/png" in output.data:
        return f'<img alt="What the cell draws" src="data:image/png;base64,{output.data["image/png"].strip()}">'
    if "text/html" in output.data:
        lines = [line for line in output.data["text/html"].splitlines() if line.strip()]
        return '<div class="notebook-output">' + "\n".join(lines) + "</div>"
    return f"```text\n{output.data['text/plain']}\n```"
