"""``excalibr demo``: one user's slate before and after re-ranking, as tables and as a picture."""

from excalibr._cli.demo.command import demo

__all__ = ["demo"]
