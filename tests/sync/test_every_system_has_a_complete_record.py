"""A system is one package with one record. What is forgotten in it fails at once, by name."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from headgate.model.errors import IllegalArgument
from headgate.model.secrets import Secret
from headgate.sync import connectors
from headgate.sync.connections import Connection
from headgate.sync.connectors.hive import SYSTEM as HIVE
from headgate.sync.connectors.postgresql import SYSTEM as POSTGRESQL
from headgate.sync.connectors.postgresql.capabilities import CAPABILITIES
from headgate.sync.registry import connectable, opened, records, systems
from headgate.sync.systems import IncompleteRecord, SystemKind, SystemRecord
from tests.sync.conftest import SYSTEMS

PAGE = Path(__file__).parents[2] / "docs" / "sync" / "systems.md"
LIBRARIES = ("boto3", "botocore", "psycopg", "pymysql", "pymetastore", "thrift")


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.title)
def test_a_record_is_complete(system: SystemRecord) -> None:
    assert not list(system.gaps())
    for kind in system.kinds:
        assert kind.kind in SYSTEMS, "the suite over all systems must run over it: tests/sync/conftest.py"
        assert (kind.kind in connectable()) is not system.local


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.title)
def test_a_record_stands_in_the_documents(system: SystemRecord) -> None:
    page = PAGE.read_text()
    assert f"\n## {system.title}\n" in page
    options = ", ".join(f"`{option}`" for option in system.options)
    for kind in system.kinds:
        assert f"| `{kind.kind}` | {system.title} | `{system.address}` | {options} |" in page


def connection(system: SystemRecord, kind: str, besides: str | None = None) -> Connection:
    """A connection with just what the record asks for, or with one option less."""
    options = {option: "eu-west-1" for option in system.options if option != besides}
    return Connection(kind=kind, url=Secret(system.address), catalog="c", metalake="m", options=options)


@pytest.mark.parametrize(
    ("system", "kind"),
    [
        pytest.param(system, kind, id=f"record of {kind.kind}")
        for system in systems()
        for kind in system.kinds
        if not system.local
    ],
)
def test_a_connection_needs_what_the_record_says_and_no_more(system: SystemRecord, kind: SystemKind) -> None:
    name = f"{kind.kind}:main"
    connector = opened(name, connection(system, kind.kind))
    assert connector.name == name
    connector.close()
    for option in system.options:
        with pytest.raises(IllegalArgument, match=f"does not say its {option}"):
            opened(name, connection(system, kind.kind, besides=option))


@pytest.mark.parametrize("part", ["title", "kinds", "address", "options"])
def test_a_part_that_is_not_given_is_named(part: str) -> None:
    parts = {name: getattr(POSTGRESQL, name) for name in POSTGRESQL.__struct_fields__ if name != part}
    with pytest.raises(TypeError, match=f"'{part}'"):
        SystemRecord(**parts)


@pytest.mark.parametrize("part", ["kind", "capabilities", "open"])
def test_a_part_of_a_kind_that_is_not_given_is_named(part: str) -> None:
    (kind,) = POSTGRESQL.kinds
    parts = {name: getattr(kind, name) for name in kind.__struct_fields__ if name != part}
    with pytest.raises(TypeError, match=f"'{part}'"):
        SystemKind(**parts)


@pytest.mark.parametrize(
    ("record", "kind", "gap"),
    [
        ({"title": ""}, {}, "title"),
        ({"kinds": ()}, {}, "kinds"),
        ({"address": ""}, {}, "address"),
        ({}, {"open": None}, "postgresql: open"),
        ({"local": True}, {}, "postgresql: open"),
        ({}, {"kind": "postgres"}, "postgres: capabilities .they are those of 'postgresql'."),
        ({}, {"capabilities": msgspec.structs.replace(CAPABILITIES, dialect=None)}, "capabilities.dialect"),
        (
            {},
            {
                "capabilities": msgspec.structs.replace(
                    CAPABILITIES, semantics=msgspec.structs.replace(CAPABILITIES.semantics, natives={})
                )
            },
            "capabilities.semantics.natives",
        ),
    ],
)
def test_a_part_that_is_empty_is_named(record: dict[str, object], kind: dict[str, object], gap: str) -> None:
    (whole,) = POSTGRESQL.kinds
    kinds = (msgspec.structs.replace(whole, **kind),)
    with pytest.raises(IncompleteRecord, match=f"lacks .*{gap}"):
        msgspec.structs.replace(POSTGRESQL, **({"kinds": kinds} | record))


def package(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An importable package with these folders in it."""
    monkeypatch.syspath_prepend(str(folder.parent))
    (folder / "__init__.py").write_text("")
    return import_module(name)


def test_a_folder_without_a_record_fails_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = tmp_path / "some_connectors" / "oracle"
    forgotten.mkdir(parents=True)
    (forgotten / "__init__.py").write_text("")
    made = package(tmp_path / "some_connectors", "some_connectors", monkeypatch)
    with pytest.raises(IncompleteRecord, match=r"some_connectors\.oracle exports no SYSTEM"):
        records(made)


def test_two_systems_of_one_kind_fail_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / "twin_connectors" / name).mkdir(parents=True)
        text = "from headgate.sync.connectors.hive import SYSTEM as SYSTEM\n"
        (tmp_path / "twin_connectors" / name / "__init__.py").write_text(text)
    made = package(tmp_path / "twin_connectors", "twin_connectors", monkeypatch)
    with pytest.raises(IncompleteRecord, match=", ".join(sorted(kind.kind for kind in HIVE.kinds))):
        records(made)


def test_every_folder_is_a_system() -> None:
    folders = {path.parent.name for path in Path(connectors.__path__[0]).glob("*/__init__.py")}
    assert len(systems()) == len(folders)
    assert all(import_module(f"headgate.sync.connectors.{name}").SYSTEM in systems() for name in folders)


def test_the_records_load_no_library_and_no_connector() -> None:
    """A server reads the records when it starts. It must not pay for systems that it does not use."""
    code = (
        "import sys, headgate.settings; from headgate.sync.registry import connectable; connectable();"
        f"print(*[m for m in sys.modules if m in {LIBRARIES} or m.endswith('.connector')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ran.stdout.split()
