"""The hostile reader: asks every question, keeps every byte of every answer, opens every path it was told or can guess."""

import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from tests.leaks.canaries import Forbidden
from tests.leaks.files import laid_open

Ask = Callable[..., httpx.Response]
"""`ask("GET", "/iceberg/v1/…", body, headers={})` as the reader."""

_PATH = re.compile(r"(?:file:)?/+[^\s\"'\\,;:<>{}()\[\]|]+?/[^\s\"'\\,;:<>{}()\[\]|]+")
CLIENTS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"X-Client-Version": "Apache Iceberg 1.12.0 (commit 0)"},
    {"X-Client-Version": "Apache Iceberg 1.5.0"},
)
DELEGATIONS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"},
)


@dataclass
class Loot:
    """What a reader holds: answers by what was asked, and files."""

    answers: dict[str, bytes] = field(default_factory=dict)
    files: set[Path] = field(default_factory=set)
    leaks: list[str] = field(default_factory=list)
    folder: str = ""


class HostileReader:
    """`table` is `schema.table`; `guesses` are names that the reader heard of elsewhere and tries."""

    def __init__(self, ask: Ask, table: str, guesses: Sequence[str], forbidden: Forbidden) -> None:
        self.ask = ask
        self.schema, _, self.table = table.partition(".")
        self.guesses = guesses
        self.forbidden = forbidden
        self.loot = Loot()

    def hunt(self) -> Loot:
        self.question()
        self.follow()
        return self.loot

    # -- questions ----------------------------------------------------------------------------------------------

    def question(self) -> None:
        """Ask the doors all there is to ask about the table."""
        iceberg = f"/iceberg/v1/lake.cat/namespaces/{self.schema}"
        place = f"{iceberg}/tables/{self.table}"
        self._keep("GET", "/iceberg/v1/config?warehouse=lake.cat")
        self._keep("GET", iceberg)
        self._keep("GET", f"{iceberg}/tables")
        self._keep("GET", f"{iceberg}/views")
        snapshots: list[int] = []
        for client in CLIENTS:
            for delegation in DELEGATIONS:
                for which in ("all", "refs"):
                    loaded = self._keep("GET", f"{place}?snapshots={which}", headers={**client, **delegation})
                    if loaded.status_code == 200:
                        metadata = loaded.json()["metadata"]
                        self.loot.folder = metadata["location"]
                        snapshots = [s["snapshot-id"] for s in metadata["snapshots"]]
        for body in self._scans(snapshots):
            planned = self._keep("POST", f"{place}/plan", body)
            if planned.status_code == 200 and "plan-id" in planned.json():
                id = planned.json()["plan-id"]
                self._keep("GET", f"{place}/credentials?planId={id}")
                # A plan over what is not copied yet may be done soon, or much later.
                for _ in range(20):
                    if self._keep("GET", f"{place}/plan/{id}").json().get("status") != "submitted":
                        break
                    time.sleep(0.25)
                self._keep("DELETE", f"{place}/plan/{id}")
            for task in planned.json().get("plan-tasks", []):
                self._keep("POST", f"{place}/tasks", {"plan-task": task})
        self._keep("POST", f"{place}/tasks", {"plan-task": "guess"})
        self._keep("GET", f"{place}/credentials")
        self._keep("POST", place, {"requirements": [], "updates": []})
        drop = {"action": "set-properties", "updates": {"a": "b"}}
        self._keep("POST", place, {"requirements": [], "updates": [drop]})
        self._keep("DELETE", place)
        self._gravitino()

    def _scans(self, snapshots: Sequence[int]) -> Iterable[dict[str, Any]]:
        """Every kind of scan: of every snapshot, between snapshots, with statistics, by columns that are not there."""
        yield {}
        yield {"min-rows-requested": 1}
        for snapshot in snapshots:
            yield {"snapshot-id": snapshot, "use-snapshot-schema": True}
        for start, end in itertools.pairwise(snapshots):
            yield {"start-snapshot-id": start, "end-snapshot-id": end}
        for end in {*snapshots[:1], *snapshots[-1:]}:
            for name in self.guesses:
                at = {"snapshot-id": end, "use-snapshot-schema": True}
                yield {**at, "select": [name]}
                yield {**at, "stats-fields": [name]}
                yield {**at, "filter": {"type": "not-null", "term": name}}
                yield {**at, "filter": {"type": "eq", "term": name, "value": "zq"}}

    def _gravitino(self) -> None:
        lake = "/api/metalakes/lake"
        tables = f"{lake}/catalogs/cat/schemas/{self.schema}/tables"
        full = f"cat.{self.schema}.{self.table}"
        for path in (
            "/api/metalakes",
            lake,
            f"{lake}/catalogs?details=true",
            f"{lake}/catalogs/cat",
            f"{lake}/catalogs/cat/schemas",
            f"{lake}/catalogs/cat/schemas/{self.schema}",
            tables,
            f"{tables}/{self.table}",
            f"{tables}/{self.table}/partitions",
            f"{tables}/{self.table}/partitions?details=true",
            f"{lake}/objects/table/{full}/statistics",
            f"{lake}/objects/table/{full}/statistics/partitions",
            f"{lake}/objects/table/{full}/tags?details=true",
            f"{lake}/objects/table/{full}/policies?details=true",
            f"{lake}/objects/table/{full}/credentials",
            f"{lake}/objects/table/{full}/roles",
            f"{lake}/tags?details=true",
            f"{lake}/tags/kind",
            f"{lake}/tags/kind/objects",
            f"{lake}/policies?details=true",
            f"{lake}/policies/{self.table}-1",
            f"{lake}/users?details=true",
            f"{lake}/groups?details=true",
            f"{lake}/roles",
            "/api/headgate/audit?metalake=lake",
            "/api/headgate/policies/export?metalake=lake",
            "/health/ready",
            "/metrics",
        ):
            self._keep("GET", path)
        for name in self.guesses:
            self._keep("GET", f"{lake}/objects/column/{full}.{quote(name)}/tags?details=true")
        ask = {"metalake": "lake", "table": full}
        self._keep("POST", "/api/headgate/lens", {**ask, "as": "admin"})
        self._keep("POST", "/api/headgate/lens", ask)

    def _keep(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        answer = self.ask(method, path, body, **more)
        key = f"{method} {path} {json.dumps(body)} {more}"
        heard = answer.content + repr(answer.headers.multi_items()).encode()
        self.loot.answers[key] = heard
        # What the reader itself has said is no news to them.
        said = re.findall(r"zq[a-z0-9]{10}", f"{path} {json.dumps(body)}")
        for found in self.forbidden.in_bytes(heard):
            if found not in said:
                self.loot.leaks.append(f"{found} in the answer to {key[:300]}")
        return answer

    # -- files --------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Open all that was named, all that those files name, and all that lies in the lens's folder."""
        todo = {path for heard in self.loot.answers.values() for path in mentioned(heard)}
        if self.loot.folder:
            todo.add(local(self.loot.folder))
        while todo:
            path = todo.pop()
            if path in self.loot.files:
                continue
            try:
                listed = path.is_dir()
            except OSError:
                # Bytes that only look like a path.
                continue
            if listed:
                # A folder that was named may be listed only if it is the lens's own.
                if self._governed(path):
                    todo |= {file for file in path.rglob("*") if file.is_file()}
                continue
            if path.is_file():
                self.loot.files.add(path)
                todo |= self._open(path)

    def _governed(self, path: Path) -> bool:
        """Whether it lies in the folder that the reader was told is the table's."""
        return bool(self.loot.folder) and path.is_relative_to(local(self.loot.folder))

    def _open(self, path: Path) -> set[Path]:
        opened = laid_open(path)
        for found in (*self.forbidden.in_bytes(opened.bytes), *self.forbidden.among(opened.values)):
            self.loot.leaks.append(f"{found} in {path}")
        if opened.blooms and self._governed(path):
            # It can be asked for any value, and nothing in the file says which values it was made from.
            self.loot.leaks.append(f"{opened.blooms} bloom filters in the copy {path}")
        return set() if path.suffix == ".parquet" else mentioned(opened.bytes)


def mentioned(data: bytes) -> set[Path]:
    """The paths in a heap of bytes."""
    return {
        local(match) for match in _PATH.findall(data.decode("utf-8", "replace")) if "/iceberg/" not in match
    }


def local(location: str) -> Path:
    return Path("/" + location.removeprefix("file:").lstrip("/"))
