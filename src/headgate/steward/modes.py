"""The ways in which a restricted view can be enforced, as a catalog's properties name them."""

from typing import Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

MATERIALISE: Final = "materialise"
DELEGATE: Final = "delegate"
REFUSE: Final = "refuse"
PROPERTY: Final = "headgate.enforce"
"""On a catalog: what is done for those who see only a part of a table."""
TRUSTED: Final = "headgate.trusted-engines"
"""On a metalake: the users that `delegate` means, separated by commas."""


def check_mode(properties: dict[str, str]) -> None:
    """Refuse a catalog that asks for what nobody knows to do."""
    mode = properties.get(PROPERTY, MATERIALISE)
    if mode not in (MATERIALISE, DELEGATE, REFUSE):
        raise IllegalArgument(
            f"'{PROPERTY}' is '{clip(mode)}'", hint=f"use {MATERIALISE}, {DELEGATE} or {REFUSE}"
        )
