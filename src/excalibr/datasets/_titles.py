"""Words for an invented catalogue: genres, who goes with whom, and titles that sound like their genre.

A title is a frame filled with a genre's own words. All fillings are listed, so a catalogue takes them in a shuffled
order and never has one twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

LONGEST_TITLE = 22


@dataclass(frozen=True, slots=True)
class Genre:
    """A genre: how common it is, the genres it is seen with, and the words of its titles."""

    name: str
    frequency: float
    companions: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


_GENRES = """\
Drama 0.20: Romance Crime Mystery
  Quiet Unfinished Borrowed Distant Patient Fragile Ordinary Northern
  Harbour Letter Orchard Inheritance Winter Kitchen Promise Photograph Season Garden
Comedy 0.16: Romance Animation Adventure Drama
  Accidental Reluctant Unlikely Hopeless Perfect Disastrous Awkward Generous
  Wedding Landlord Holiday Understudy Caterer Lodger Reunion Chauffeur Mayor Honeymoon
Thriller 0.11: Crime Mystery Sci-fi Horror
  Silent Hidden Blind Burning Double Second Narrow Final
  Witness Signal Frequency Exchange Border Alibi Passenger Deadline Courier Corridor
Romance 0.10: Drama Comedy
  Tender Unsent Moonlit Improbable Stolen Faithful Slow Early
  Summer Waltz Bouquet Promenade Serenade Dance Ferry Postcard Violin Balcony
Crime 0.08: Drama Thriller Mystery Comedy
  Crooked Cold Broken Unmarked Honest Careful Forged Midnight
  Ledger Heist Detective Verdict Docks Syndicate Confession Getaway Informer Jeweller
Sci-fi 0.08: Adventure Thriller Horror
  Orbital Quantum Last Artificial Infinite Parallel Frozen Electric
  Colony Horizon Engine Satellite Paradox Machine Eclipse Archive Beacon Navigator
Adventure 0.07: Fantasy Sci-fi Comedy
  Lost Golden Forgotten Uncharted Emerald Great Southern Wild
  Expedition Compass Island River Caravan Summit Treasure Voyage Canyon Lighthouse
Documentary 0.05: Drama Adventure
  Unseen Vanishing Living Working Changing Open Everyday Common
  Glacier Market Reef Orchestra Railway Weavers Bakery Bridge Vineyard Archipelago
Animation 0.05: Comedy Adventure Fantasy
  Little Flying Runaway Clockwork Brave Curious Paper Upside-Down
  Fox Lantern Balloon Kite Toymaker Hedgehog Whale Acorn Penguin Snowman
Horror 0.05: Thriller Mystery Fantasy
  Hollow Crimson Sleepless Whispering Drowned Pale Waiting Empty
  Attic Cellar Mirror Chapel Lullaby House Scarecrow Lake Orphanage Masquerade
Fantasy 0.04: Adventure Romance Animation
  Enchanted Silver Thirteenth Sleeping Amber Winged Ancient Winter
  Kingdom Dragon Oracle Crown Forest Sorcerer Gate Raven Tower Apprentice
Mystery 0.04: Crime Thriller Drama
  Missing Locked Seventh Vanished Unsigned Velvet Wrong Twelfth
  Room Portrait Manuscript Key Guest Clockmaker Envelope Staircase Archivist Tenant
"""  # a name, how common it is: companions; then adjectives and nouns


def _genres(lines: list[str]) -> Iterator[Genre]:
    for head, adjectives, nouns in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        (name, frequency), companions = (_words(part) for part in head.split(":"))
        yield Genre(name, float(frequency), companions, _words(adjectives), _words(nouns))


GENRES = tuple(_genres(_GENRES.splitlines()))

PEOPLE = _words(
    "Ada Bruno Chidi Dalia Emre Freya Goran Hana Ilya Jun Kemi Lucia "
    "Mateo Nadia Oskar Priya Quinn Rosa Samir Tove Uma Viktor Wanjiru Yusuf"
)

_PLACES = _words("Bergen Cardiff Galway Hobart Lisbon Oaxaca Quito Riga Tangier Trieste Varna Kyoto")
_HEROES = _words("Anders Greta Imani Kenji Leila Mira Noor Otto Pilar Ravi Sol Tomas")


def titles_of(genre: Genre) -> tuple[str, ...]:
    """Every title that the genre's words make, none too long for a table, each once.

    >>> "The Quiet Harbour" in titles_of(GENRES[0])
    True
    """
    made = chain(
        (f"The {adjective} {noun}" for adjective in genre.adjectives for noun in genre.nouns),
        (f"{adjective} {noun}" for adjective in genre.adjectives for noun in genre.nouns),
        (f"The {noun} in {place}" for noun in genre.nouns for place in _PLACES),
        (f"{hero} and the {noun}" for noun in genre.nouns for hero in _HEROES),
        (f"{hero}'s {noun}" for noun in genre.nouns for hero in _HEROES),
    )
    return tuple(dict.fromkeys(title for title in made if len(title) <= LONGEST_TITLE))
