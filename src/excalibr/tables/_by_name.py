"""Options that name categories and attributes, as tables do, with the numbers that the arrays have for them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from excalibr._messages import Message, Option
from excalibr._options import Options
from excalibr._problem import AttributeSpan
from excalibr.errors import InputError, unknown_name

Own = TypeVar("Own", bound=Options)

BY_CATEGORY = ("category_weights", "floors", "caps", "max_per_category")
"""Options with a value for each category, which tables name and :func:`excalibr.calibrate` numbers."""


def with_numbers(options: Own, categories: Sequence[str], attributes: Sequence[AttributeSpan] = ()) -> Own:
    """The same options with the categories' names turned into their numbers.

    Where there are several attributes these options go by attribute, ``{"genre": {"drama": 0.1}}``.
    """
    given = {name: value for name in BY_CATEGORY if (value := getattr(options, name)) is not None}
    if not attributes:
        changes = {name: _numbered(name, value, categories) for name, value in given.items()}
    else:
        changes = {name: _by_attribute(name, value, categories, attributes) for name, value in given.items()}
    _check_attributes("attribute_weights", options.attribute_weights, attributes)
    return dataclasses.replace(options, **changes) if changes else options


def with_names(message: str, categories: Sequence[str], attributes: Sequence[AttributeSpan] = ()) -> str:
    """What an error says of such options, with the categories' names in place of their numbers."""
    starts, options = {each.name: each.start for each in attributes}, "|".join(BY_CATEGORY)

    def name(found: re.Match[str]) -> str:
        number = int(found["number"]) + starts.get(found["attribute"] or "", 0)
        named = repr(categories[number]) if number < len(categories) else found["number"]
        return f"{found['before']}[{named}]" if "before" in found.groupdict() else f"category {named}"

    message = re.sub(rf"\b({options}): element (?=\d)", r"\1: of category ", message)
    message = re.sub(r"category (?P<number>\d+)(?: of '(?P<attribute>[^']*)')?", name, message)
    return re.sub(rf"\b(?P<before>(?:{options})(?:\['(?P<attribute>[^']*)'\])?)\[(?P<number>\d+)\]", name, message)


def _numbered(option_name: str, value: Any, categories: Sequence[str]) -> Any:
    """A value by category, with numbers for names; one for all categories as it is."""
    if not isinstance(value, Mapping):
        return value
    numbers = {name: number for number, name in enumerate(categories)}
    for category in value:
        if category not in numbers:
            raise unknown_name(option_name, category, categories)
    return {numbers[category]: amount for category, amount in value.items()}


def _by_attribute(option_name: str, value: Any, categories: Sequence[str], attributes: Sequence[AttributeSpan]) -> Any:
    _check_attributes(option_name, value, attributes)
    columns = {each.name: each.columns for each in attributes}
    return {
        name: _numbered(f"{option_name}[{name!r}]", part, categories[columns[name]]) for name, part in value.items()
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
