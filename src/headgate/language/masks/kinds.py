"""All masks: the one list that everything else reads. An incomplete record stops the program here, by name."""

from collections.abc import Iterable, Mapping
from typing import Final

from headgate.language.masks.digests import SHA256, SHA256_QUERY_LOCAL, TOKEN
from headgate.language.masks.expressions import CONSTANT, EXPRESSION
from headgate.language.masks.fixed import MASK_TO_FIXED_VALUE, REPLACE_WITH_NULL
from headgate.language.masks.kind import MaskKind, missing
from headgate.language.masks.moments import DATE_RANGE, TRUNCATE_TO_MONTH, TRUNCATE_TO_YEAR
from headgate.language.masks.numbers import BUCKET
from headgate.language.masks.other_rows import K_ANONYMOUS, NOISY
from headgate.language.masks.texts import (
    MASK_ALPHANUM,
    PREFIX,
    SHOW_FIRST_4,
    SHOW_FIRST_4_STRICT,
    SHOW_LAST_4,
    SHOW_LAST_4_STRICT,
)


def register(kinds: Iterable[MaskKind]) -> Mapping[str, MaskKind]:
    """The masks by name; refused if a record lacks a part, or two have the same name."""
    found: dict[str, MaskKind] = {}
    for kind in kinds:
        wrong = list(missing(kind))
        if kind.name in found:
            wrong.append(f"there are two masks called '{kind.name}'")
        if wrong:
            raise TypeError("; ".join(wrong))
        found[kind.name] = kind
    return found


KINDS: Final = register(
    (
        MASK_ALPHANUM,
        SHOW_FIRST_4,
        SHOW_LAST_4,
        SHOW_FIRST_4_STRICT,
        SHOW_LAST_4_STRICT,
        MASK_TO_FIXED_VALUE,
        REPLACE_WITH_NULL,
        TRUNCATE_TO_YEAR,
        TRUNCATE_TO_MONTH,
        SHA256,
        SHA256_QUERY_LOCAL,
        TOKEN,
        BUCKET,
        DATE_RANGE,
        PREFIX,
        K_ANONYMOUS,
        NOISY,
        EXPRESSION,
    )
)
NAMED: Final = {name: kind for name, kind in KINDS.items() if kind is not EXPRESSION}
"""Those that a policy calls by their names."""
MASK_NAMES: Final = frozenset({*NAMED, CONSTANT})
ICEBERG_ACTIONS: Final = {name: action for name, kind in NAMED.items() if (action := kind.iceberg_action)}
"""The nine actions of Iceberg's read restrictions, by the name of the mask that does the same."""
