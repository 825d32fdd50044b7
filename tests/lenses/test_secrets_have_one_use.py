"""Promise: another purpose draws no new noise, no secret serves two uses, and no name of a view confirms a guess."""

import statistics
from pathlib import Path

import pytest

from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.masks.other_rows import noisy_value
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.steward.reads.table_read import GovernedRead
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register
from tests.doors.settled import done, give, securable
from tests.lenses.copyist import copy_all

TABLE = f"{ICE}/namespaces/s/tables/t"


@pytest.fixture(autouse=True)
def readable(api: Api, register: Register, steward: Steward) -> None:
    steward.waiting.patience = 0.05
    register()
    for user in ("ann", "bob"):
        give(
            api,
            user,
            f"reader-{user}",
            securable("catalog", "cat", "use_catalog", "use_schema", "select_table"),
        )


def read_of(steward: Steward, user: str = "ann", purpose: str | None = None) -> GovernedRead:
    authority = steward.kernel.authority()
    node = authority.find(ObjectRef.parse("lake", ObjectType.TABLE, "cat.s.t"))
    assert node is not None
    found = steward.reads.as_seen_by(authority, node, Identity(user, purpose=purpose))
    assert found is not None
    return found


def test_averaging_noise_over_purposes_gains_nothing(api: Api, steward: Steward) -> None:
    applied(
        api,
        "policy: noise\non: lake\nto: [everyone]\nmask: {id: 'noisy(id, 100)'}\n---\n"
        "policy: by-purpose\non: lake\nto: [everyone]\nrows: name <> context.purpose\n",
    )
    reads = [read_of(steward, purpose=f"purpose-{n}") for n in range(16)]
    assert len({read.copy_id for read in reads}) == 16, "every purpose is a lens of its own"
    schema = reads[0].shape.schema
    mask = bind_mask(parse_mask("noisy(id, 100)"), schema, schema.named("id").field.id)  # type: ignore[union-attr]
    for value in range(20):
        drawn = [noisy_value(mask, value, read.rendered.secrets["_headgate_noise"]) for read in reads]
        assert statistics.pstdev(drawn) == 0


def test_every_use_has_a_secret_of_its_own(api: Api, steward: Steward) -> None:
    applied(
        api,
        "policy: masks\non: lake\nto: [everyone]\nmask: {id: 'noisy(id, 100)', name: sha256_query_local(name)}\n",
        "policy: ann\non: lake\nto: [user:ann]\nrows: id <> 1\n",
        "policy: bob\non: lake\nto: [user:bob]\nrows: id <> 2\n",
    )
    found = {}
    for user in ("ann", "bob"):
        sql = read_of(steward, user).rendered
        found[user] = {**sql.secrets, "order": sql.order}
    ann, bob = found["ann"], found["bob"]
    assert len(set(ann.values())) == 3
    assert ann["_headgate_salt"] != bob["_headgate_salt"], "digests of two lenses cannot be joined"
    assert ann["_headgate_noise"] == bob["_headgate_noise"]
    assert ann["order"] == bob["order"]


def test_no_name_of_a_view_confirms_a_guess(api: Api, steward: Steward) -> None:
    """Whoever knows the form of a policy could otherwise try constants until the id fits."""
    applied(api, "policy: rows\non: lake\nto: [user:ann, user:bob]\nrows: name LIKE '%acme-7'\n")
    assert api("ann", "GET", TABLE).status_code == 503
    copy_all(steward)
    loaded = api("ann", "GET", TABLE)
    assert loaded.status_code == 200
    plain = read_of(steward).lens.id
    answers = [
        loaded.text,
        api("ann", "POST", f"{TABLE}/plan", {}).text,
        api("ann", "GET", "/api/headgate/lenses/mine?metalake=lake&table=cat.s.t").text,
        api("admin", "GET", "/api/headgate/lenses?metalake=lake").text,
        api(
            "admin", "POST", "/api/headgate/lens", {"metalake": "lake", "table": "cat.s.t", "user": "ann"}
        ).text,
    ]
    folder = Path(loaded.json()["metadata"]["location"].removeprefix("file://"))
    answers += [str(path) for path in folder.parent.rglob("*")]
    assert len(answers) > 6
    assert not [answer for answer in answers if plain[:12] in answer]
    # Whoever sees the same still shares it.
    assert read_of(steward, "bob").copy_id == read_of(steward).copy_id
    (view,) = done(api("admin", "GET", "/api/headgate/lenses?metalake=lake"))["views"]
    assert view["view"] == read_of(steward).copy_id
