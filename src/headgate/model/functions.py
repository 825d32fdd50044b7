"""Functions as clients describe them: definitions by parameters, each with implementations by runtime."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.tables import DataType, Expression, checked_depth

TYPES: Final = ("scalar", "aggregate", "table")
RUNTIMES: Final = ("SPARK", "TRINO")

_CODE: Final = {"SQL": "sql", "JAVA": "class_name", "PYTHON": "handler"}
"""The part that carries the code, by language."""


class Parameter(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    data_type: DataType
    comment: str | None = None
    default_value: Expression | None = None


class ReturnColumn(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    data_type: DataType
    comment: str | None = None


class Resources(msgspec.Struct, frozen=True):
    jars: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    archives: tuple[str, ...] | None = None


class Implementation(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The code of a definition for one runtime."""

    language: str
    runtime: str
    sql: str | None = None
    class_name: str | None = None
    handler: str | None = None
    code_block: str | None = None
    resources: Resources | None = None
    properties: dict[str, str] | None = None

    def checked(self) -> "Implementation":
        """The same with its words in upper case, or a refusal."""
        language, runtime = self.language.upper(), self.runtime.strip().upper()
        if language not in _CODE:
            raise IllegalArgument(
                f"'{clip(self.language)}' is not a language", hint=f"use one of {', '.join(_CODE)}"
            )
        if runtime not in RUNTIMES:
            raise IllegalArgument(
                f"'{clip(self.runtime)}' is not a runtime", hint=f"use one of {', '.join(RUNTIMES)}"
            )
        if not (getattr(self, _CODE[language]) or "").strip():
            raise IllegalArgument(f"an implementation in {language} needs '{_CODE[language]}'")
        return msgspec.structs.replace(self, language=language, runtime=runtime)


class Definition(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a function does for one list of parameters."""

    parameters: tuple[Parameter, ...] | None = None
    return_type: DataType | None = None
    return_columns: tuple[ReturnColumn, ...] | None = None
    impls: tuple[Implementation, ...] | None = None

    def checked(self, type: str) -> "Definition":
        """The same with its implementations checked, or a refusal of what a function of this type cannot be."""
        if type == "table" and not self.return_columns:
            raise IllegalArgument("each definition of a table function needs 'returnColumns'")
        if type != "table" and self.return_type is None:
            raise IllegalArgument(f"each definition of a {type} function needs 'returnType'")
        for data_type in self._types():
            checked_depth(data_type)
        impls = tuple(impl.checked() for impl in self.impls or ())
        runtimes = [impl.runtime for impl in impls]
        if not impls:
            raise IllegalArgument("a definition needs at least one implementation")
        if len(set(runtimes)) != len(runtimes):
            raise IllegalArgument("a definition has one implementation for each runtime")
        return msgspec.structs.replace(self, parameters=self.parameters or (), impls=impls)

    def _types(self) -> Iterator[DataType]:
        yield from (parameter.data_type for parameter in self.parameters or ())
        yield from (column.data_type for column in self.return_columns or ())
        if self.return_type is not None:
            yield self.return_type


def signature(parameters: tuple[Parameter, ...] | None) -> tuple[bytes, ...]:
    """What tells definitions apart: the types of their parameters."""
    return tuple(msgspec.json.encode(parameter.data_type) for parameter in parameters or ())


def calls(definition: Definition) -> list[tuple[bytes, ...]]:
    """Every list of types that a definition can be called with: those with a default may be left out."""
    parameters = definition.parameters or ()
    whole = signature(parameters)
    optional = [parameter.default_value is not None for parameter in parameters]
    first = optional.index(True) if True in optional else len(optional)
    if not all(optional[first:]):
        raise IllegalArgument(
            "a parameter without a default follows one that has it", hint="put those with defaults last"
        )
    return [whole[:count] for count in range(first, len(whole) + 1)]


def checked_definitions(type: str, definitions: tuple[Definition, ...]) -> tuple[Definition, ...]:
    """Definitions of a function of this type. INVARIANT: no call could mean two of them."""
    if not definitions:
        raise IllegalArgument("a function needs at least one definition")
    good = tuple(definition.checked(type) for definition in definitions)
    seen: set[tuple[bytes, ...]] = set()
    for definition in good:
        for call in calls(definition):
            if call in seen:
                raise IllegalArgument(
                    "two definitions can be called with the same types of parameters",
                    hint="change the parameters or their defaults",
                )
            seen.add(call)
    return good


def checked_type(text: str) -> str:
    """The type of a function in lower case; `agg` is short for aggregate."""
    word = "aggregate" if text.lower() == "agg" else text.lower()
    if word not in TYPES:
        raise IllegalArgument(
            f"'{clip(text)}' is not a type of function", hint=f"use one of {', '.join(TYPES)}"
        )
    return word


# -- changes ------------------------------------------------------------------------------------------------------


class _FunctionChange(msgspec.Struct, frozen=True, tag_field="@type", rename="camel"):
    pass


class AddDefinition(_FunctionChange, frozen=True, tag="addDefinition"):
    definition: Definition


class RemoveDefinition(_FunctionChange, frozen=True, tag="removeDefinition"):
    parameters: tuple[Parameter, ...] | None = None


class AddImpl(_FunctionChange, frozen=True, tag="addImpl"):
    implementation: Implementation
    parameters: tuple[Parameter, ...] | None = None


class UpdateImpl(_FunctionChange, frozen=True, tag="updateImpl"):
    runtime: str
    implementation: Implementation
    parameters: tuple[Parameter, ...] | None = None


class RemoveImpl(_FunctionChange, frozen=True, tag="removeImpl"):
    runtime: str
    parameters: tuple[Parameter, ...] | None = None


FunctionChange = AddDefinition | RemoveDefinition | AddImpl | UpdateImpl | RemoveImpl


def changed(definitions: tuple[Definition, ...], change: FunctionChange) -> tuple[Definition, ...]:
    """The definitions after a change; whether they still make a function is for `checked_definitions`."""
    if isinstance(change, AddDefinition):
        return (*definitions, change.definition)
    wanted = signature(change.parameters)
    place = next((i for i, d in enumerate(definitions) if signature(d.parameters) == wanted), None)
    if place is None:
        raise IllegalArgument(
            "no definition has these parameters", hint="load the function to see those it has"
        )
    if isinstance(change, RemoveDefinition):
        return definitions[:place] + definitions[place + 1 :]
    impls = _implementations(definitions[place].impls or (), change)
    after = msgspec.structs.replace(definitions[place], impls=impls)
    return (*definitions[:place], after, *definitions[place + 1 :])


def _implementations(
    impls: tuple[Implementation, ...], change: AddImpl | UpdateImpl | RemoveImpl
) -> tuple[Implementation, ...]:
    if isinstance(change, AddImpl):
        return (*impls, change.implementation)
    runtime = change.runtime.strip().upper()
    if runtime not in [impl.runtime for impl in impls]:
        raise IllegalArgument(f"the definition has no implementation for '{clip(change.runtime)}'")
    if isinstance(change, RemoveImpl):
        return tuple(impl for impl in impls if impl.runtime != runtime)
    if change.implementation.runtime.strip().upper() != runtime:
        raise IllegalArgument("the implementation is for another runtime than the one it replaces")
    return tuple(change.implementation if impl.runtime == runtime else impl for impl in impls)


def stored(definitions: tuple[Definition, ...]) -> Any:
    return msgspec.to_builtins(definitions)


def read(kept: Any) -> tuple[Definition, ...]:
    return msgspec.convert(kept, tuple[Definition, ...])
