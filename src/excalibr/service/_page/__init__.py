"""The page on which to choose the trade-off by eye: what it asks, and the answers; its files are in ``service/page``.

The data flow: tables → ``explored`` (arrays of all users, a sample of them) → ``prepared`` (a batch at the page's
``choices``) → ``sample`` (figures of a range of the sample) or ``person`` (one user in full) → ``routes`` (JSON).
Nothing is kept for a client: what is under way ends when the page stops asking for more of it.
"""

from excalibr.service._page.explored import PageSource
from excalibr.service._page.routes import Page
from excalibr.service._page.saving import save_page

__all__ = ["Page", "PageSource", "save_page"]
