"""MODIFY_TABLE includes selecting data, on every route; policies bind such a reader like any other."""

from datetime import UTC, datetime
from itertools import product

import pytest

from headgate.decide import Op
from headgate.decide.verdict import allowed
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.steward.reads.history import Reader
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register, failed
from tests.doors.lake import LAKE
from tests.doors.scans import scanned
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"
AT = f"{LAKE}/catalogs/cat/schemas/s/tables/t"
COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
READS = [
    ("GET", TABLE, None),
    ("POST", f"{TABLE}/plan", {}),
    ("GET", f"{TABLE}/credentials", None),
    ("GET", AT, None),
    ("GET", f"{AT}/partitions", None),
    ("GET", f"{LAKE}/objects/table/cat.s.t/statistics", None),
    ("GET", "/api/headgate/lenses/mine?metalake=lake&table=cat.s.t", None),
]
"""Everything that reads a table and needs nothing else."""

SAYS = ("", "allow", "deny")


def files(api: Api, user: str) -> list[str]:
    """The files that a plan of the whole table names."""
    tasks = scanned(api, user, TABLE)["file-scan-tasks"]
    return sorted(task["data-file"]["file-path"].rpartition("/")[2] for task in tasks)


@pytest.fixture(autouse=True)
def table(register: Register, people: People) -> None:
    register()
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")


@pytest.mark.parametrize(("select", "modify"), list(product(SAYS, SAYS)))
def test_each_privilege_reads_by_itself_and_no_denial_of_the_other_takes_it_away(
    api: Api, people: People, select: str, modify: str
) -> None:
    for privilege, says in (("SELECT_TABLE", select), ("MODIFY_TABLE", modify)):
        if says:
            people.may("ann", privilege, "table", "cat.s.t", deny=says == "deny")
    reads, writes = "allow" in (select, modify), modify == "allow"
    for method, path, body in READS:
        answer = api("ann", method, path, body)
        # Local files come without credentials, and an unpartitioned table lists no partitions.
        told = answer.status_code < 300 or answer.status_code in (204, 405)
        assert told == reads, (method, path, answer.text)
        assert reads or answer.status_code in (403, 404), (method, path, answer.text)
    answer = api("ann", "POST", TABLE, COMMIT)
    assert answer.status_code == (200 if writes else 403 if reads else 404), answer.text


def test_every_reading_operation_has_one_answer(steward: Steward, people: People) -> None:
    people.may("mod", "USE_CATALOG USE_SCHEMA MODIFY_TABLE", "metalake", "lake")
    people.may("sel", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    people.may("mod", "SELECT_TABLE", "metalake", "lake", deny=True)
    authority = steward.kernel.authority()
    node = authority.find(ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "t")))
    assert node is not None
    for user, reads in (("mod", True), ("sel", True), ("ann", False), ("admin", True)):
        caller = authority.caller(Identity(user), node.metalake)
        for op in (Op.LOAD_TABLE, Op.READ_TABLE, Op.READ_PARTITIONS, Op.READ_STATISTICS):
            assert allowed(authority, caller, op, node) == reads, (user, op)


def test_a_policy_binds_whoever_reads_by_modify_and_they_write_nothing(api: Api, people: People) -> None:
    people.may("ann", "MODIFY_TABLE", "table", "cat.s.t")
    assert files(api, "ann") == files(api, "admin") == ["f0.parquet", "f1.parquet", "f2.parquet"]
    assert api("ann", "POST", TABLE, COMMIT).status_code == 200
    applied(api, "policy: some\non: lake\nto: [user:ann]\nrows: id = 1\n")
    assert files(api, "ann") == ["f1.parquet"], "the only file that the policy lets through as it is"
    assert failed(api("ann", "POST", TABLE, COMMIT)) == (403, "ForbiddenException")
    assert api("ann", "GET", f"{AT}?privileges=MODIFY_TABLE").status_code == 403


def test_losing_modify_is_losing_the_table(steward: Steward, people: People, api: Api) -> None:
    """What reconciliation calls the right to read is the same right."""
    people.may("ann", "MODIFY_TABLE", "table", "cat.s.t")
    permit = steward.kernel.permit(Identity("admin"), Op.READ_AUDIT, ObjectRef("lake", ObjectType.METALAKE))
    since = datetime(2000, 1, 1, tzinfo=UTC)
    assert steward.history.losses(permit, since, [Reader("ann", "cat.s.t")]).losses == []
    people.may("ann", "MODIFY_TABLE", "table", "cat.s.t", deny=True)
    [loss] = steward.history.losses(permit, since, [Reader("ann", "cat.s.t")]).losses
    assert (loss.user, loss.object, loss.until) == ("ann", "cat.s.t", None)
