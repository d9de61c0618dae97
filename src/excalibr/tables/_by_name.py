"""Options that name categories and attributes, as tables do, with the numbers that the arrays have for them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from excalibr._messages import Message, Option
from excalibr._options import Options
from excalibr._problem import AttributeSpan
from excalibr.errors import InputError, InputTypeError, unknown_name
from excalibr.tables._arrow import pa
from excalibr.tables._ids import by_label, codes_in
from excalibr.tables._items import ItemArrays

Own = TypeVar("Own", bound=Options)

BY_CATEGORY = ("category_weights", "floors", "caps", "max_per_category")
"""Options with a value for each category, which tables name and :func:`excalibr.calibrate` numbers."""


def with_numbers(options: Own, items: ItemArrays) -> Own:
    """The same options with the categories' names turned into their numbers.

    Where there are several attributes these options go by attribute, ``{"genre": {"drama": 0.1}}``.
    """
    given = {name: value for name in BY_CATEGORY if (value := getattr(options, name)) is not None}
    if not items.attributes:
        changes = {name: _numbered(name, value, items.categories) for name, value in given.items()}
    else:
        changes = {name: _by_attribute(name, value, items) for name, value in given.items()}
    _check_attributes("attribute_weights", options.attribute_weights, items.attributes)
    return dataclasses.replace(options, **changes) if changes else options


def with_names(message: str, items: ItemArrays) -> str:
    """What an error says of such options, with the categories' names in place of their numbers."""
    starts, options = {each.name: each.start for each in items.attributes}, "|".join(BY_CATEGORY)
    categories = items.categories

    def name(found: re.Match[str]) -> str:
        number = int(found["number"]) + starts.get(found["attribute"] or "", 0)
        named = repr(categories[number].as_py()) if number < len(categories) else found["number"]
        return f"{found['before']}[{named}]" if "before" in found.groupdict() else f"category {named}"

    def named(text: str) -> str:
        text = re.sub(rf"\b({options}): element (?=\d)", r"\1: of category ", text)
        text = re.sub(r"category (?P<number>\d+)(?: of '(?P<attribute>[^']*)')?", name, text)
        return re.sub(rf"\b(?P<before>(?:{options})(?:\['(?P<attribute>[^']*)'\])?)\[(?P<number>\d+)\]", name, text)

    if isinstance(message, Message) and str(message.parts[0]) in BY_CATEGORY:  # the name and the element are two parts
        message = _with_texts(message, lambda text: re.sub(r"\Aelement (?=\d)", "of category ", text))
    return _with_texts(message, named)


def with_ranks_and_items(message: str, item_of: Callable[[int], Hashable]) -> str:
    """What is said of a user's pins and candidates, with ranks from 1 for slots from 0, and with ids for places.

    >>> with_ranks_and_items("pinned: has the slot 8, must have whole numbers from 0 to 2.", str)
    'pinned: has the rank 9, must have whole numbers from 1 to 3.'
    """

    def named(text: str) -> str:
        if "has the slot " in message:
            text = re.sub(r"has the slot (\d+)", lambda found: f"has the rank {int(found[1]) + 1}", text)
            text = re.sub(r"from 0 to (\d+)", lambda found: f"from 1 to {int(found[1]) + 1}", text)
        return re.sub(r"of which row (\d+)", lambda found: f"of which item {item_of(int(found[1]))!r}", text)

    return _with_texts(message, named)


@contextmanager
def named_categories(items: ItemArrays) -> Iterator[None]:
    """Around what reads options by category: its errors have the names of categories in place of their numbers."""
    try:
        yield
    except (InputError, InputTypeError) as error:
        raise type(error)(with_names(error.args[0], items)) from error


def _with_texts(message: str, change: Callable[[str], str]) -> str:
    """The message with its texts changed, and the options that it names as they are."""
    if not isinstance(message, Message):
        return change(message)
    return Message(*(change(part) if isinstance(part, str) else part for part in message.parts))


def _numbered(option_name: str, value: Any, categories: Any) -> Any:
    """A value by category, with numbers for names; one for all categories as it is."""
    if not isinstance(value, Mapping):
        return value
    named = by_label(value, option_name)
    numbers = codes_in(pa.array(list(named), categories.type), categories).tolist()
    for label, number in zip(named, numbers, strict=True):
        if number < 0:
            raise unknown_name(option_name, label, categories.to_pylist())
    return dict(zip(numbers, named.values(), strict=True))


def _by_attribute(option_name: str, value: Any, items: ItemArrays) -> Any:
    _check_attributes(option_name, value, items.attributes)
    columns = {each.name: each.columns for each in items.attributes}
    return {
        name: _numbered(f"{option_name}[{name!r}]", part, items.categories[columns[name]])
        for name, part in value.items()
    }


def _check_attributes(option_name: str, value: Any, attributes: Sequence[AttributeSpan]) -> None:
    """What goes by attribute names attributes that there are."""
    if value is None:
        return
    names = [each.name for each in attributes]
    if not names:
        hint = Message("name the columns of the attributes, ", Option("category", ["genre", "decade"]), ".")
        raise InputError(option_name, f"is {value!r}", "go with several attributes", hint)
    if not isinstance(value, Mapping):
        raise InputError(option_name, f"is {value!r}", f"be a mapping by attribute, of {names}")
    for name in value:
        if name not in names:
            raise unknown_name(option_name, name, names)
