"""Data to try the library on: an invented catalogue, MovieLens, and the paper's protocol for any ratings.

Ratings become positives (:func:`positives`), users are split (:func:`split_users`), items get categories
(:func:`genre`, :func:`decade`, :func:`popularity`, or :func:`from_column` of a table of one's own).
"""

from excalibr.datasets._attributes import NO_GENRES, Attribute, decade, from_column, genre, popularity
from excalibr.datasets._catalogue import Candidates, Catalogue, Film, User, make_catalogue
from excalibr.datasets._download import download_movielens
from excalibr.datasets._interactions import HeldOutUsers, Interactions, Split, hold_out, positives, split_users
from excalibr.datasets._movielens import OFFICIAL, Counts, Items, MovieLens, Ratings, load_movielens

__all__ = [
    "NO_GENRES",
    "OFFICIAL",
    "Attribute",
    "Candidates",
    "Catalogue",
    "Counts",
    "Film",
    "HeldOutUsers",
    "Interactions",
    "Items",
    "MovieLens",
    "Ratings",
    "Split",
    "User",
    "decade",
    "download_movielens",
    "from_column",
    "genre",
    "hold_out",
    "load_movielens",
    "make_catalogue",
    "popularity",
    "positives",
    "split_users",
]
