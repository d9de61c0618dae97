"""What the package and some of its extras require, a line each: for environments that have the package as sources.

``python build_backend/excalibr_requirements.py lenskit`` prints what ``pip install 'excalibr[lenskit]'`` would add.
"""

import re
import sys
import tomllib
from pathlib import Path

OWN = re.compile(r"excalibr\[(.+)\]")


def requirements(extras: list[str]) -> set[str]:
    """Those of the core and of the extras, with extras of extras in their place."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found, open_extras = set(project["dependencies"]), list(extras)
    while open_extras:
        for each in project["optional-dependencies"][open_extras.pop()]:
            own = OWN.fullmatch(each)
            open_extras += own[1].split(",") if own else []
            found |= set() if own else {each}
    return found


if __name__ == "__main__":
    for requirement in sorted(requirements(sys.argv[1:])):
        print(requirement.replace(" ", ""))
