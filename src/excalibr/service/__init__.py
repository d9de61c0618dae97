"""A calibrated slate for a request in flight: a WSGI application for any server; it needs the extra ``serve``.

``excalibr serve`` runs it with granian. The data flow: body → ``_requests`` (checked) → ``_ranking`` (a question for
the kernel, from the arrays of a profile) → a policy, drawn → ``_answers``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from excalibr.service._application import Application, application
    from excalibr.service._limits import Limits
    from excalibr.service._profiles import read_profiles

__all__ = ["Application", "Limits", "application", "read_profiles"]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are asked for: a server opens its port before it loads the rest."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("serve"):
        from excalibr.service import _application, _limits, _profiles
    return next(getattr(each, name) for each in (_application, _limits, _profiles) if hasattr(each, name))
