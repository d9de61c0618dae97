"""Data to try the library on: an invented catalogue that is made from a seed."""

from excalibr.datasets.catalogue import Candidates, Catalogue, Film, User, make_catalogue

__all__ = ["Candidates", "Catalogue", "Film", "User", "make_catalogue"]
