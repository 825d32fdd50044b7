"""A property that Gravitino gives a meaning is read here or refused by name; what is neither is the clients' own."""

import ast
from pathlib import Path
from typing import Any, Final

import pytest

import headgate
from headgate.model.errors import IllegalArgument
from headgate.model.properties import DEFINED, check_read
from headgate.steward import Steward
from headgate.steward.doctor import examine
from headgate.store import objects
from tests.conftest import Api
from tests.doors.lake import LAKE, id_of

BASE: Final = (
    "gravitino.identifier authorization-provider package ops-impl cloud.name cloud.region-code in-use metalake-in-use "
    "gravitino.bypass.x authorization.ranger.admin.url authorization.chain.plugins"
)
KERBEROS: Final = (
    "authentication.type authentication.impersonation-enable authentication.kerberos.principal "
    "authentication.kerberos.keytab-uri authentication.kerberos.check-interval-sec"
)
CREDENTIALS: Final = "credential-providers credential-cache-expire-ratio credential-cache-max-size"
CLOUDS: Final = (
    "s3-endpoint s3-access-key-id s3-secret-access-key s3-region s3-role-arn s3-external-id s3-path-style-access "
    "s3-token-service-endpoint s3-token-expire-in-secs s3-creds-provider s3-credential-list-location-prefix "
    "oss-endpoint oss-access-key-id oss-secret-access-key oss-region oss-role-arn oss-token-expire-in-secs "
    "gcs-service-account-file azure-storage-account-name azure-storage-account-key azure-tenant-id azure-client-id "
    "azure-client-secret adls-token-expire-in-secs cos-endpoint cos-access-key-id"
)
ICEBERG: Final = (
    f"{BASE} {KERBEROS} {CREDENTIALS} {CLOUDS} credential-provider-type catalog-backend uri warehouse io-impl jdbc-user "
    "jdbc-password jdbc-driver jdbc-initialize jdbc.schema-version catalog-backend-name catalog-backend-impl data-access "
    "table-metadata-cache-impl table-metadata-cache-capacity table-metadata-cache-expire-minutes scan-plan-cache-impl "
    "rest-client-connection-timeout-ms rest-client-socket-timeout-ms"
)

JDBC: Final = (
    "jdbc-url jdbc-driver jdbc-user jdbc-password jdbc.pool.min-size jdbc.pool.max-size jdbc.pool.max-wait-ms"
)
GLUE: Final = "aws-region aws-glue-catalog-id aws-glue-endpoint warehouse"

HIVE: Final = (
    f"{BASE} {KERBEROS} {CREDENTIALS} {CLOUDS} metastore-type metastore.uris client.pool-size "
    "client.pool-cache.eviction-interval-ms impersonation-enable kerberos.principal kerberos.keytab-uri list-all-tables "
    "default.catalog"
)

GRAVITINO: Final[dict[str, str]] = {
    "metalake": "in-use gravitino.identifier",
    "lakehouse-iceberg native catalog": ICEBERG,
    "lakehouse-iceberg rest catalog": ICEBERG,
    "lakehouse-iceberg jdbc catalog": ICEBERG,
    "lakehouse-iceberg glue catalog": f"{ICEBERG} {GLUE}",
    "lakehouse-iceberg hive catalog": f"{ICEBERG} metastore.uris",
    "hive glue catalog": f"{HIVE} {GLUE}",
    "hive hive catalog": f"{HIVE} warehouse",
    "glue catalog": f"{BASE} {CREDENTIALS} {GLUE} aws-access-key-id aws-secret-access-key default-table-format "
    "table-format-filter",
    "jdbc-postgresql catalog": f"{BASE} {JDBC} jdbc-database",
    "jdbc-mysql catalog": f"{BASE} {JDBC}",
    "fileset catalog": f"{BASE} {KERBEROS} {CREDENTIALS} {CLOUDS} location location-x filesystem-providers "
    "default-filesystem-provider filesystem-conn-timeout-secs fileset-cache-eviction-interval-ms fileset-cache-max-size "
    "disable-filesystem-ops fs.path.config.x",
    "kafka catalog": f"{BASE} bootstrap.servers gravitino.bypass.security.protocol gravitino.bypass.sasl.mechanism "
    "gravitino.bypass.sasl.jaas.config gravitino.bypass.ssl.truststore.location",
    "topic catalog": f"{BASE} credential-providers bootstrap.servers",
    "model catalog": f"{BASE} credential-providers",
    "relational schema": "gravitino.identifier",
    "fileset schema": f"gravitino.identifier location location-x {KERBEROS} {CREDENTIALS} {CLOUDS}",
    "messaging schema": "gravitino.identifier",
    "model schema": "gravitino.identifier",
    "table": "gravitino.identifier comment creator location current-snapshot-id cherry-pick-snapshot-id sort-order "
    "identifier-fields provider format format-version credential-providers",
    "hive table": "gravitino.identifier comment location table-type format input-format output-format serde-name serde-lib "
    "serde.parameter.x external numFiles totalSize transient_lastDdlTime",
    "fileset": f"gravitino.identifier default-location-name placeholder-x {KERBEROS} {CREDENTIALS} {CLOUDS}",
    "kafka topic": "gravitino.identifier partition-count replication-factor",
    "topic": "gravitino.identifier partition-count replication-factor",
    "model": "gravitino.identifier default-uri-name",
}
"""The keys that Gravitino 1.3 defines for each kind of object that there is here; `x` stands for any word of a prefix."""

CASES: Final = [(kind, key) for kind, keys in GRAVITINO.items() for key in dict.fromkeys(keys.split())]


def test_every_kind_with_properties_is_listed() -> None:
    assert DEFINED.keys() == GRAVITINO.keys()


def _words() -> set[str]:
    """Every text that stands in the source, but for where the properties are listed and told to be secret."""
    folder = Path(headgate.__file__).parent
    skipped = {folder / "model" / "properties.py", folder / "model" / "secrets.py"}
    trees = (ast.parse(path.read_text()) for path in folder.rglob("*.py") if path not in skipped)
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.fixture(scope="module")
def words() -> set[str]:
    return _words()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "key"), CASES)
def test_a_key_of_gravitino_is_refused_or_something_reads_it(kind: str, key: str, words: set[str]) -> None:
    defined = DEFINED[kind]
    if defined.unread_in([key]) or key in defined.noted:
        return
    prefixes = [name[:-1] for name in defined.read if name.endswith("*") and key.startswith(name[:-1])]
    assert key in defined.read or prefixes, f"'{key}' of a {kind} is neither read nor refused"
    assert words & {key, *prefixes}, f"nothing in the source reads '{key}' of a {kind}"


def test_all_that_is_said_to_be_read_is(words: set[str]) -> None:
    for kind, defined in DEFINED.items():
        for name in (*defined.read, *defined.own):
            assert name.removesuffix("*") in words, f"nothing in the source reads '{name}' of a {kind}"


# -- through the door -------------------------------------------------------------------------------------------

PLACES: Final = {
    "lakehouse-iceberg native catalog": "catalogs",
    "fileset catalog": "catalogs",
    "topic catalog": "catalogs",
    "model catalog": "catalogs",
    "relational schema": "catalogs/relational/schemas",
    "fileset schema": "catalogs/fileset/schemas",
    "messaging schema": "catalogs/messaging/schemas",
    "model schema": "catalogs/model/schemas",
    "table": "catalogs/relational/schemas/s/tables",
    "fileset": "catalogs/fileset/schemas/s/filesets",
    "topic": "catalogs/messaging/schemas/s/topics",
    "model": "catalogs/model/schemas/s/models",
}
TYPES: Final = {
    "relational": "lakehouse-iceberg",
    "fileset": "fileset",
    "messaging": "topic",
    "model": "model",
}


@pytest.fixture
def lake(api: Api) -> None:
    assert api("admin", "POST", "/api/metalakes", {"name": "lake"}).status_code == 200
    for type, provider in TYPES.items():
        body = {"name": type, "type": type, "provider": provider}
        assert api("admin", "POST", f"{LAKE}/catalogs", body).status_code == 200
        assert api("admin", "POST", f"{LAKE}/catalogs/{type}/schemas", {"name": "s"}).status_code == 200


def body_of(kind: str, name: str, properties: dict[str, str]) -> dict[str, Any]:
    body: dict[str, Any] = {"name": name, "properties": properties}
    if kind.endswith("catalog"):
        provider = kind.split()[0]
        body |= {"type": next(t for t, p in TYPES.items() if p == provider), "provider": provider}
    if kind == "table":
        body["columns"] = [{"name": "id", "type": "long"}]
    return body


@pytest.mark.parametrize("kind", PLACES)
def test_what_nothing_reads_is_refused_by_name_when_it_is_made_and_when_it_is_altered(
    api: Api, lake: None, kind: str
) -> None:
    path = f"{LAKE}/{PLACES[kind]}"
    made = api("admin", "POST", path, body_of(kind, "own", {"k": "v", "my.own-key": "w"}))
    assert made.status_code == 200, made.text
    for key in DEFINED[kind].unread_in(GRAVITINO[kind].split()):
        update = {"updates": [{"@type": "setProperty", "property": key, "value": "x"}]}
        for answer in (
            api("admin", "POST", path, body_of(kind, "n", {key: "x"})),
            api("admin", "PUT", f"{path}/own", update),
        ):
            assert answer.status_code == 400, f"{key}: {answer.text}"
            assert f"'{key}'" in answer.json()["message"], answer.text
        # The same in other letters is the same property to who reads it in a hurry.
        assert api("admin", "POST", path, body_of(kind, "n", {key.upper(): "x"})).status_code == 400, key
    assert api("admin", "GET", f"{path}/n").status_code == 404


def test_a_metalake_and_a_connection_test_refuse_them_too(api: Api, lake: None) -> None:
    wrong = {"name": "m", "properties": {"gravitino.identifier": "x"}}
    assert api("admin", "POST", "/api/metalakes", wrong).status_code == 400
    body = body_of("fileset catalog", "n", {"authorization-provider": "ranger"})
    tested = api("admin", "POST", f"{LAKE}/catalogs/testConnection", body).json()
    assert tested["code"] == 1001
    assert "'authorization-provider'" in tested["message"]


SLIPS: Final = [
    ("s3-regoin", "s3-region"),
    ("s3_region", "s3-region"),
    ("s3.endpiont", "s3-endpoint"),
    ("Warehouse", "warehouse"),
    ("warehose", "warehouse"),
    ("catalog-backnd", "catalog-backend"),
    ("credential-provider", "credential-providers"),
    ("headgate.enforse", "headgate.enforce"),
    ("headgate.original", "headgate.originals"),
    ("s3-remote-singing", "s3-remote-signing"),
    ("allowed-location", "allowed-locations"),
]


@pytest.mark.parametrize(("slip", "meant"), SLIPS)
def test_a_slip_in_the_name_of_a_property_is_refused_with_what_was_meant(
    api: Api, lake: None, slip: str, meant: str
) -> None:
    path = f"{LAKE}/catalogs"
    update = {"updates": [{"@type": "setProperty", "property": slip, "value": "x"}]}
    for answer in (
        api("admin", "POST", path, body_of("lakehouse-iceberg native catalog", "n", {slip: "x"})),
        api("admin", "PUT", f"{path}/relational", update),
    ):
        assert answer.status_code == 400, answer.text
        assert f"'{slip}'" in answer.json()["message"]
        assert f"'{meant}'" in answer.json()["message"]


def test_what_begins_like_a_setting_of_this_server_is_one_or_refused(api: Api, lake: None) -> None:
    body = body_of("lakehouse-iceberg native catalog", "n", {"headgate.speed": "high"})
    answer = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert answer.status_code == 400
    assert "headgate.enforce" in answer.json()["message"]


def test_own_words_and_everything_that_is_read_are_no_slips() -> None:
    own = (
        "owner",
        "team",
        "stage",
        "region",
        "location",
        "note",
        "cost-centre",
        "s3-notes",
        "my.own-key",
        "zone",
    )
    for kind, defined in DEFINED.items():
        if kind.endswith("catalog"):
            known = [
                name.removesuffix("*") + "x" * name.endswith("*") for name in (*defined.read, *defined.own)
            ]
            aliases = [name.replace("s3-", "s3.", 1) for name in known]
            for key in (*own, *known, *aliases):
                assert defined.meant_by(key) is None, f"'{key}' of a {kind}"


@pytest.mark.parametrize("named", ["s3-secret-key", "gcs-token", "s3-token, s3-secret-key", "s3-token"])
def test_icebergs_clients_name_no_provider_of_credentials_that_there_is_not(
    api: Api, lake: None, named: str
) -> None:
    """Other keys are theirs; this one is read here. The catalog has no role, so it has no s3-token to give either."""
    door, schema = "/iceberg/v1/lake.relational", {"type": "struct", "schema-id": 0, "fields": []}
    tables, put = f"{door}/namespaces/s/tables", {"credential-providers": named}
    assert api("admin", "POST", tables, {"name": "t", "schema": schema}).status_code == 200
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": put}]}
    change = {**commit, "identifier": {"namespace": ["s"], "name": "t"}}
    for path, body in (
        (tables, {"name": "n", "schema": schema, "properties": put}),
        (tables, {"name": "n", "schema": schema, "properties": put, "stage-create": True}),
        (f"{tables}/t", commit),
        (f"{door}/transactions/commit", {"table-changes": [change]}),
    ):
        answer = api("admin", "POST", path, body)
        assert answer.status_code == 400, answer.text
        assert "credential-providers" in answer.json()["error"]["message"]
    assert "credential-providers" not in api("admin", "GET", f"{tables}/t").json()["metadata"]["properties"]
    assert api("admin", "GET", f"{tables}/n").status_code == 404


def test_an_older_store_with_such_properties_opens_and_the_doctor_names_them(
    api: Api, lake: None, steward: Steward
) -> None:
    assert examine(steward.kernel.store) == []
    old = {"authorization-provider": "ranger", "credential-providers": "gcs-token", "s3-endpoint": "http://h"}
    for place in ("catalog fileset", "schema fileset.s"):
        type, name = place.split()
        with steward.kernel.store.write("test", "before") as tx:
            record = objects.present(tx, id_of(steward, type, name))
            objects.alter(tx, record, properties=old)
    catalog = f"{LAKE}/catalogs/fileset"
    assert api("admin", "GET", catalog).status_code == 200
    assert api("admin", "POST", f"{catalog}/schemas/s/filesets", {"name": "f"}).status_code == 200
    assert api("admin", "POST", f"{catalog}/schemas", {"name": "z"}).status_code == 200
    rename = {"updates": [{"@type": "rename", "newName": "renamed"}]}
    assert api("admin", "PUT", catalog, rename).status_code == 200
    found = [(finding.check, finding.problem) for finding in examine(steward.kernel.store)]
    assert found == [
        ("properties", "catalog renamed has properties that nothing reads: 'authorization-provider'"),
        (
            "properties",
            "schema renamed.s has properties that nothing reads: 'credential-providers', 's3-endpoint'",
        ),
    ]
    gone = {"updates": [{"@type": "removeProperty", "property": key} for key in old]}
    for path in (f"{LAKE}/catalogs/renamed", f"{LAKE}/catalogs/renamed/schemas/s"):
        assert api("admin", "PUT", path, gone).status_code == 200
    assert examine(steward.kernel.store) == []


SLIPS: Final = (
    ("lakehouse-iceberg jdbc catalog", "jdbc-usr", "jdbc-user"),
    ("lakehouse-iceberg jdbc catalog", "jdbc.url", "jdbc-url"),
    ("lakehouse-iceberg jdbc catalog", "JDBC_URL", "jdbc-url"),
    ("lakehouse-iceberg glue catalog", "aws-regoin", "aws-region"),
    ("hive glue catalog", "metastore-typ", "metastore-type"),
    ("hive hive catalog", "metastore.uri", "metastore.uris"),
    ("lakehouse-iceberg hive catalog", "metastore-uris", "metastore.uris"),
    ("glue catalog", "table-format-filters", "table-format-filter"),
    ("glue catalog", "aws-sesion-token", "aws-session-token"),
    ("glue catalog", "s3-role-ran", "s3-role-arn"),
    ("lakehouse-iceberg rest catalog", "warehose", "warehouse"),
    ("fileset catalog", "locatoin", "location"),
)


@pytest.mark.parametrize(("kind", "key", "meant"), SLIPS)
def test_a_slip_of_the_pen_is_told_what_was_meant(kind: str, key: str, meant: str) -> None:
    with pytest.raises(IllegalArgument) as refused:
        check_read(kind, [key])
    assert f"'{key}'" in refused.value.message
    assert f"'{meant}'" in (refused.value.hint or "")


def test_what_has_a_meaning_of_its_own_elsewhere_is_not_taken_for_a_slip() -> None:
    for kind, key in (
        ("lakehouse-iceberg jdbc catalog", "catalog-backend-impl"),
        ("hive glue catalog", "s3-creds-provider"),
        ("glue catalog", "colour"),
    ):
        with pytest.raises(IllegalArgument) as refused:
            check_read(kind, [key])
        assert refused.value.hint == "leave it out"
