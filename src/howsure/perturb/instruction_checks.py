"""Check that the texts of a space fit its languages, the places of its instruction and what its prompts demand."""

from __future__ import annotations

import re

from howsure.errors import InputError
from howsure.perturb.dimensions import BUILT_IN_VALUES, Value, find_language
from howsure.perturb.prompt_texts import LANGUAGES
from howsure.perturb.rendering import FIELD
from howsure.perturb.space import Space

#: Dimensions that add sentences to the instruction.
_DEMANDS = ("reasoning", "answer_form")
#: Dimensions whose values are sentences or words of a language.
_OF_LANGUAGE = ("instruction", "reasoning", "markers")
_FOLLOWS = re.compile(r"\b(?:below|(?:the |as )follow(?:ing|s)|that follows?|next question)\b", re.IGNORECASE)


def check_instructions(space: Space) -> None:
    """Check the instructions of a space, and the sentences that other dimensions add to them.

    Raises
    ------
    InputError
        When a dimension adds to an instruction that no template has a place for; the place of an instruction is drawn
        that is part of the system message; an instruction that may stand after the question says that the question
        follows; or a text has no translation into a language that is drawn.
    """
    has_place = "instruction" in FIELD.findall(space.system + space.head)
    for name in _DEMANDS:
        if any(value.content for value in space.values_of(name)) and not has_place:
            remedy = "write {instruction} into head or system"
            raise InputError("no template has a place for it", where=f"dimension {name}", remedy=remedy)
    places = {str(value.content) for value in space.values_of("placement")}
    if places != {"before"}:
        _check_places(space, places)
    languages = sorted({find_language(value) for value in space.values_of("language")} - {LANGUAGES[0]})
    own = [dimension.name for dimension in space.dimensions if dimension.name not in BUILT_IN_VALUES]
    for name in (*_OF_LANGUAGE, *own):
        for value in space.values_of(name):
            _check_translations(name, value, languages)


def _check_places(space: Space, places: set[str]) -> None:
    """Check that an instruction can stand in the places that are drawn."""
    if "instruction" in FIELD.findall(space.system):
        remedy = "move {instruction} from system to head, or leave placement out"
        raise InputError("the instruction is part of the system message", where="dimension placement", remedy=remedy)
    for value in space.values_of("instruction"):
        text = value.after or str(value.content)
        if "after" in places and (match := _FOLLOWS.search(text)):
            remedy = 'add after = "..." with the words for that place, or leave the value after out'
            what = f"it says {match[0]!r}, and placement puts it after the question"
            raise InputError(what, where=f"instruction {value.name!r}", remedy=remedy)


def _check_translations(name: str, value: Value, languages: list[str]) -> None:
    """Check that a text has its translations."""
    texts = value.content if isinstance(value.content, tuple) else (str(value.content),)
    if not any(character.isalpha() for text in texts for character in FIELD.sub("", text)):
        return
    if missing := [code for code in languages if code not in value.translations]:
        where = f"{name} {value.name!r}"
        form = (
            f'translations.{missing[0]} = "..."'
            if name == "instruction"
            else f"{{NAME: {{en: ..., {missing[0]}: ...}}}}"
        )
        raise InputError(f"it has no translation into {', '.join(missing)}", where=where, remedy=f"write {form}")
