"""Whatever is done, no two objects that are or ever were have places of which one lies in the other.

Random sequences over two metalakes, native, federated and fileset catalogs. Places are read from the documents that the
doors answer, never from the registry; opened files are watched where they are opened, not where they are checked.
"""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headgate.catalogs.iceberg.storage import GuardedIO
from headgate.steward import Steward
from headgate.store import Store
from tests.catalogs.any_rest import any_rest
from tests.conftest import in_process
from tests.openings import opened
from tests.people import People

COLUMNS = {"type": "struct", "fields": [{"id": 1, "name": "a", "type": "int", "required": False}]}
NAMES = st.sampled_from(["t", "u", "v"])
SCHEMAS = st.sampled_from(["s", "z"])
CATALOGS = st.sampled_from(["lake.one", "lake.two", "pond.one"])
USERS = st.sampled_from(["admin", "admin", "bob"])
PICK = st.integers(0, 10_000)
PATHS = ("write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.path")


_EVENTS = frozenset({"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove"})


class _Opened:
    """Every file and folder that is opened while it watches, by whatever means."""

    watching: ClassVar["_Opened | None"] = None
    _hooked: ClassVar[bool] = False

    def __init__(self) -> None:
        self.paths: set[str] = set()
        if not _Opened._hooked:
            # A hook stays for good, so it asks whether anybody watches.
            sys.addaudithook(_Opened._audited)
            _Opened._hooked = True

    @staticmethod
    def _audited(event: str, args: tuple[Any, ...]) -> None:
        watching = _Opened.watching
        if watching is not None and event in _EVENTS and args and isinstance(args[0], str):
            watching.paths.add(os.path.abspath(args[0]))

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Arrow opens files past Python, so it is watched where each location becomes a path of a file system."""
        parse = GuardedIO.parse_location

        def parsed(location: str, *more: Any, **named: Any) -> Any:
            self.paths.add(_real(location))
            return parse(location, *more, **named)

        patched = pytest.MonkeyPatch()
        patched.setattr(GuardedIO, "parse_location", staticmethod(parsed))
        _Opened.watching = self
        try:
            yield
        finally:
            _Opened.watching = None
            patched.undo()


def _real(place: str) -> str:
    """One spelling, worked out without asking the program."""
    text = place.rstrip("/")
    for alias in ("s3a://", "s3n://"):
        text = "s3://" + text.removeprefix(alias) if text.startswith(alias) else text
    if "://" in text and not text.startswith("file:"):
        return text
    return os.path.realpath("/" + text.removeprefix("file:").lstrip("/"))


def _overlap(one: str, other: str) -> bool:
    a, b = one.split("/"), other.split("/")
    return a[: len(b)] == b or b[: len(a)] == a


class Places(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.root = Path(tempfile.mkdtemp(prefix="headgate-places-"))
        self.stack.callback(shutil.rmtree, self.root, ignore_errors=True)
        self.secret = self.root / "secret"
        (self.secret / "metadata").mkdir(parents=True)
        store = Store(f"sqlite:///{self.root}/store.db")
        store.prepare()
        self.stack.callback(store.close)
        self.steward = Steward(
            store,
            service_admins=frozenset({"admin"}),
            warehouse=str(self.root / "warehouse"),
            openings=opened(self.root / "warehouse", self.root / "shared", "s3://bucket"),
        )
        self.stack.callback(self.steward.close)
        self.api = self.stack.enter_context(in_process(self.steward))
        self.remote = self.stack.enter_context(any_rest())
        self.opened = _Opened()
        self.stack.enter_context(self.opened.watch())
        self.owned: dict[int, set[str]] = {}
        """The places that each object ever said it has."""
        self.gone: set[int] = set()
        self.files: list[str] = []
        """Metadata files that were ever told of."""
        self.staged: list[dict[str, Any]] = []
        self.candidates: list[str] = [
            f"{self.root}/shared/{name}" for name in ("a", "b", "a/x", "a/x/y", "ab", "")
        ]
        self.candidates += [
            f"file://{self.root}/shared/b",
            "s3://bucket/a",
            "s3a://bucket/a/b",
            "s3://bucket",
        ]
        self.candidates += [str(self.secret), f"{self.secret}/metadata"]

    @initialize()
    def lakes(self) -> None:
        (self.root / "shared" / "a").mkdir(parents=True)
        (self.root / "shared" / "link").symlink_to(self.root / "shared" / "a")
        self.candidates.append(f"{self.root}/shared/link/x")
        for lake in ("lake", "pond"):
            self.ok("POST", "/api/metalakes", {"name": lake})
            people = People(self.steward, lake)
            people.may("bob", "USE_CATALOG USE_SCHEMA CREATE_TABLE CREATE_FILESET", "metalake", lake)
        native = {"allowed-locations": f"{self.root}/shared"}
        for full in ("lake.one", "lake.two", "pond.one"):
            lake, name = full.split(".")
            self.catalog(lake, name, "relational", "lakehouse-iceberg", native)
            for schema in ("s", "z"):
                self.ok("POST", f"/iceberg/v1/{full}/namespaces", {"namespace": [schema]})
        fed = {"catalog-backend": "rest", "uri": self.remote.url, "allowed-locations": "s3://bucket"}
        self.catalog("lake", "fed", "relational", "lakehouse-iceberg", fed)
        self.catalog("pond", "files", "fileset", "fileset", {"location": f"{self.root}/shared/files"})
        self.ok("POST", "/api/metalakes/pond/catalogs/files/schemas", {"name": "s"})
        self.opened.paths.clear()

    def catalog(self, lake: str, name: str, type: str, provider: str, properties: dict[str, str]) -> None:
        body = {"name": name, "type": type, "provider": provider, "properties": properties}
        self.ok("POST", f"/api/metalakes/{lake}/catalogs", body)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.api("admin", method, path, body)
        assert answer.status_code < 300, answer.text
        return answer

    def ask(self, user: str, method: str, path: str, body: Any = None) -> Any:
        answer = self.api(user, method, path, body)
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        return answer

    def place(self, pick: int) -> str:
        """One that somebody has or had, what lies in it or around it; else one of the first."""
        which, how = divmod(pick, 4)
        known = sorted({place for places in self.owned.values() for place in places})
        if how == 0 or not known:
            return self.candidates[which % len(self.candidates)]
        place = known[which % len(known)]
        near = (place, f"{place}/data", place.rpartition("/")[0])[how - 1]
        return near if "://" in near else f"file://{near}"

    def table(self, pick: int) -> tuple[str, str, str]:
        """The catalog, schema and name of one of the native tables."""
        authority = self.steward.kernel.authority()
        found = []
        for node in authority.objects.values():
            names = [authority.objects[id].name for id, _ in node.chain]
            if node.type == "table" and names[1] != "fed":
                found.append((".".join(names[:2]), names[2], names[3]))
        return sorted(found)[pick % len(found)] if found else ("lake.one", "s", "none")

    def named(self, catalog: str, schema: str, name: str = "") -> str:
        return f"/iceberg/v1/{catalog}/namespaces/{schema}/tables" + (f"/{name}" if name else "")

    # -- what people do -----------------------------------------------------------------------------------------

    @rule(user=USERS, catalog=CATALOGS, schema=SCHEMAS, name=NAMES, pick=st.none() | PICK)
    def create(self, user: str, catalog: str, schema: str, name: str, pick: int | None) -> None:
        body = {"name": name, "schema": COLUMNS}
        if pick is not None:
            body["location"] = self.place(pick)
        answer = self.ask(user, "POST", self.named(catalog, schema), body)
        self.took_over(user, answer, body.get("location"))

    @rule(user=USERS, catalog=CATALOGS, name=NAMES)
    def stage(self, user: str, catalog: str, name: str) -> None:
        body = {"name": name, "schema": COLUMNS, "stage-create": True}
        answer = self.ask(user, "POST", self.named(catalog, "s"), body)
        if answer.status_code == 200:
            self.staged.append(answer.json()["metadata"])

    @rule(user=USERS, catalog=CATALOGS, name=NAMES, pick=PICK, staged=st.booleans(), same=st.booleans())
    def make_staged(self, user: str, catalog: str, name: str, pick: int, staged: bool, same: bool) -> None:
        known = self.staged[pick % len(self.staged)] if staged and self.staged else None
        location = self.place(pick) if known is None else known["location"]
        id = known["table-uuid"] if known is not None and same else str(uuid.uuid4())
        updates = [
            {"action": "assign-uuid", "uuid": id},
            {"action": "set-location", "location": location},
            {"action": "add-schema", "schema": {**COLUMNS, "schema-id": 0}},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ]
        body = {"requirements": [{"type": "assert-create"}], "updates": updates}
        self.took_over(user, self.ask(user, "POST", self.named(catalog, "s", name), body), location)

    @rule(user=USERS, catalog=CATALOGS, schema=SCHEMAS, name=NAMES, pick=PICK)
    def register(self, user: str, catalog: str, schema: str, name: str, pick: int) -> None:
        file = self.files[pick % len(self.files)] if self.files else f"{self.secret}/metadata/x.metadata.json"
        body = {"name": name, "metadata-location": file}
        path = f"/iceberg/v1/{catalog}/namespaces/{schema}/register"
        answer = self.ask(user, "POST", path, body)
        if answer.status_code == 200:
            assert user == "admin", "only the catalog's owner registers"
            self.came_back(_real(answer.json()["metadata"]["location"]))

    def took_over(self, user: str, answer: Any, place: str | None) -> None:
        """Where a table was dropped, only the metalake's owner puts another; what restricted it comes along."""
        if place is None or answer.status_code != 200:
            return
        if any(_real(place) in self.owned.get(id, ()) for id in self.gone):
            assert user == "admin", place
        self.came_back(_real(place))

    def came_back(self, place: str) -> None:
        """What was dropped at exactly this place is the new object now, and nothing else is."""
        for id in list(self.gone):
            if place in self.owned.get(id, ()):
                del self.owned[id]

    @rule(user=USERS, which=PICK, to=NAMES, into=SCHEMAS)
    def rename(self, user: str, which: int, to: str, into: str) -> None:
        catalog, schema, name = self.table(which)
        body = {
            "source": {"namespace": [schema], "name": name},
            "destination": {"namespace": [into], "name": to},
        }
        self.ask(user, "POST", f"/iceberg/v1/{catalog}/tables/rename", body)

    @rule(user=USERS, which=PICK, pick=PICK, key=st.none() | st.sampled_from(PATHS))
    def move_files(self, user: str, which: int, pick: int, key: str | None) -> None:
        catalog, schema, name = self.table(which)
        place = self.place(pick)
        update: dict[str, Any] = {"action": "set-location", "location": place}
        if key is not None:
            update = {"action": "set-properties", "updates": {key: place}}
        body = {"requirements": [], "updates": [update]}
        self.took_over(user, self.ask(user, "POST", self.named(catalog, schema, name), body), place)

    @rule(which=PICK, purge=st.booleans())
    def drop(self, which: int, purge: bool) -> None:
        catalog, schema, name = self.table(which)
        found = self.api("admin", "GET", self.named(catalog, schema, name))
        path = f"{self.named(catalog, schema, name)}?purgeRequested={'true' if purge else 'false'}"
        answer = self.ask("admin", "DELETE", path)
        if answer.status_code == 204 and purge:
            place = _real(found.json()["metadata"]["location"])
            assert not Path(place).exists()
            for places in self.owned.values():
                places.discard(place)

    @rule(catalog=CATALOGS)
    def drop_schema(self, catalog: str) -> None:
        lake, name = catalog.split(".")
        self.ask("admin", "DELETE", f"/api/metalakes/{lake}/catalogs/{name}/schemas/z?cascade=true")
        self.ask("admin", "POST", f"/iceberg/v1/{catalog}/namespaces", {"namespace": ["z"]})

    # -- filesets -----------------------------------------------------------------------------------------------

    FILESETS = "/api/metalakes/pond/catalogs/files/schemas/s/filesets"

    @rule(user=USERS, name=NAMES, kind=st.sampled_from(["managed", "external"]), pick=st.none() | PICK)
    def fileset(self, user: str, name: str, kind: str, pick: int | None) -> None:
        body: dict[str, Any] = {"name": name, "type": kind}
        if pick is not None:
            body["storageLocation"] = self.place(pick)
        answer = self.ask(user, "POST", self.FILESETS, body)
        if answer.status_code == 200:
            places = answer.json()["fileset"]["storageLocations"].values()
            for place in places:
                self.came_back(_real(place))

    @rule(name=NAMES)
    def drop_fileset(self, name: str) -> None:
        found = self.api("admin", "GET", f"{self.FILESETS}/{name}")
        self.ask("admin", "DELETE", f"{self.FILESETS}/{name}")
        if found.status_code == 200:
            for place in map(_real, found.json()["fileset"]["storageLocations"].values()):
                if place.startswith("/") and not Path(place).exists():
                    for places in self.owned.values():
                        places.discard(place)

    # -- what another server says -------------------------------------------------------------------------------

    @rule(name=NAMES, pick=PICK, same=st.booleans(), path=st.booleans())
    def remote_says(self, name: str, pick: int, same: bool, path: bool) -> None:
        place = self.place(pick)
        known = [table["table-uuid"] for table in self.remote.tables.values()]
        id = known[pick % len(known)] if same and known else None
        if path:
            self.remote.put(name, f"s3://bucket/{name}", id, **{"write.data.path": place})
        else:
            self.remote.put(name, place, id)

    @rule(name=NAMES, to=NAMES)
    def remote_renames(self, name: str, to: str) -> None:
        if name in self.remote.tables:
            self.remote.tables[to] = self.remote.tables.pop(name)

    @rule(user=USERS, name=NAMES, pick=PICK, staged=st.booleans())
    def create_there(self, user: str, name: str, pick: int, staged: bool) -> None:
        self.remote.choose = self.place(pick)
        body = {"name": name, "schema": COLUMNS, "stage-create": staged}
        self.ask(user, "POST", self.named("lake.fed", "r"), body)

    @rule(name=NAMES)
    def drop_there(self, name: str) -> None:
        self.ask("admin", "DELETE", self.named("lake.fed", "r", name))

    # -- what must hold -----------------------------------------------------------------------------------------

    @invariant()
    def no_two_objects_overlap(self) -> None:
        there = self.told()
        for id, places in there.items():
            if id not in self.owned:
                # A federated table that another server still has, under another name or after it was dropped here.
                for place in places & self.fed_places():
                    self.came_back(place)
            self.owned.setdefault(id, set()).update(places)
        self.gone = self.owned.keys() - there.keys()
        owned = [(place, id) for id, places in self.owned.items() for place in places]
        for place, id in owned:
            for other, whose in owned:
                assert id == whose or not _overlap(place, other), (place, id, other, whose)

    @invariant()
    def nothing_outside_is_opened(self) -> None:
        mine = [str(self.root / name) for name in ("warehouse", "shared", "store.db")]
        for path in self.opened.paths:
            inside = any(path == one or path.startswith((f"{one}/", f"{one}-")) for one in mine)
            assert inside or not _overlap(path, str(self.root)), path
            assert not path.startswith("s3://"), path

    def fed_places(self) -> set[str]:
        return {_real(table["location"]) for table in self.remote.tables.values()}

    def told(self) -> dict[int, set[str]]:
        """The places of every object that is there, as the doors tell them."""
        authority = self.steward.kernel.authority()
        found: dict[int, set[str]] = {}
        for node in list(authority.objects.values()):
            names = [authority.objects[id].name for id, _ in node.chain]
            if node.type == "table":
                answer = self.api("admin", "GET", self.named(".".join(names[:2]), names[2], names[3]))
                if answer.status_code == 503:
                    answer = self.api("admin", "GET", self.named(".".join(names[:2]), names[2], names[3]))
                if answer.status_code == 200:
                    metadata = answer.json()["metadata"]
                    paths = [metadata.get("properties", {}).get(key) for key in PATHS]
                    found[node.id] = {_real(place) for place in (metadata["location"], *paths) if place}
                    file = answer.json()["metadata-location"]
                    self.files += [file] if file not in self.files else []
                else:
                    assert names[1] == "fed", answer.text
                    found[node.id] = set()
            elif node.type == "fileset":
                answer = self.api("admin", "GET", f"{self.FILESETS}/{names[3]}").json()["fileset"]
                found[node.id] = {_real(place) for place in answer["storageLocations"].values()}
        return found

    def teardown(self) -> None:
        self.stack.close()


TestPlaces = pytest.mark.slow(Places.TestCase)
TestPlaces.settings = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    # Steps are slow: what fails is told as it was found, not made smaller for many minutes.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
