"""The Python reference of every mask; the Spark SQL must give the same bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from headgate.language.masks.kind import ColumnMask, Nulls, Refusal

MIN_SALT: Final = 16
SecretUse = Literal["salt", "noise", "order", "names"]


@dataclass(frozen=True)
class Secrets:
    """What keyed and salted masks need; never shown.

    INVARIANT: every use has a secret of its own, so nothing that one of them shows helps against another.
    """

    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The keys of `token`, by name."""
    salt: bytes = field(default=b"", repr=False)
    """Of `sha256_query_local`: one per read or lens."""
    noise: bytes = field(default=b"", repr=False)
    """Of `noisy`: one per table, whatever the lens, so that many lenses draw no more noise than one."""
    order: bytes = field(default=b"", repr=False)
    """Orders the rows of copies: one per table."""
    names: bytes = field(default=b"", repr=False)
    """Names views, so that a name cannot be guessed from what a policy may say: one per table."""

    def key(self, name: str) -> bytes:
        """The key of that name; KeyError, without the names of the others, if there is none."""
        found = self.keys.get(name)
        if not found or len(found) < 16:
            raise KeyError(f"no key {name!r} of at least 16 bytes is configured")
        return found

    def of(self, use: SecretUse) -> bytes:
        """The secret of one use; refused if it is too short to protect anything."""
        found: bytes = getattr(self, use)
        if len(found) < MIN_SALT:
            raise ValueError(f"the secret for {use} needs at least {MIN_SALT} random bytes")
        return found


def apply(mask: ColumnMask, value: Any, secrets: Secrets | None = None) -> Any:
    """The masked value of one cell."""
    kind = mask.kind
    if kind.needs_other_rows or isinstance(kind.python, Refusal):
        raise ValueError(f"{mask.name} depends on other rows; a pipeline makes it")
    if value is None and kind.nulls is not Nulls.REPLACES:
        return None
    return kind.python(mask, value, secrets or Secrets())
