"""Changes to an object as clients list them: rename, comment, properties."""

import msgspec

from headgate.model.errors import IllegalArgument


class Updates(msgspec.Struct, frozen=True):
    """What a list of updates comes to. None leaves a part as it is; properties are set and removed in order."""

    name: str | None = None
    comment: str | None = None
    properties: tuple[tuple[str, str | None], ...] = ()

    @property
    def put(self) -> tuple[str, ...]:
        """The properties that are set, by name."""
        return tuple(key for key, value in self.properties if value is not None)

    def applied_to(self, properties: dict[str, str]) -> dict[str, str] | None:
        """The properties after the updates, or None if they stay as they are."""
        after = dict(properties)
        for key, value in self.properties:
            if value is None:
                after.pop(key, None)
            else:
                after[key] = value
        return None if after == properties else after


def checked_properties(properties: dict[str, str] | None) -> dict[str, str]:
    """Refuse what belongs to Headgate itself."""
    for key in properties or {}:
        if key == "in-use":
            raise IllegalArgument(
                "property 'in-use' cannot be set", hint="enable or disable the object instead"
            )
    return dict(properties or {})
