"""Promise: `pip install headgate` serves, and whatever needs an extra names the extra that it needs."""

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.model.extras import Extra
from tests.minio import Minio
from tests.packaging.installed import Installed, clean
from tests.peers import ROOT, program
from tests.real.server import RunningServer, running

pytestmark = [pytest.mark.real, pytest.mark.slow]

AT = "http://127.0.0.1:9"
"""Nothing listens there; nothing is asked, for what would ask is not installed."""
SYSTEMS = {
    "postgresql": Extra.POSTGRES,
    "mariadb": Extra.MYSQL,
    "mysql": Extra.MYSQL,
    "hive": Extra.HIVE,
    "lakeformation": Extra.AWS,
}
URLS = {
    "postgresql": "postgresql://a:b@127.0.0.1:9/d",
    "mariadb": "mariadb://a:b@127.0.0.1:9",
    "mysql": "mariadb://a:b@127.0.0.1:9",
    "hive": "thrift://127.0.0.1:9",
    "lakeformation": "aws:",
}
CATALOGS = {
    "lakehouse-iceberg": (
        "catalog-backend=jdbc,jdbc-user=u,jdbc-password=p,jdbc-url=jdbc:postgresql://127.0.0.1:9/d",
        Extra.POSTGRES,
    ),
    "glue": (f"aws-region=eu-west-1,aws-glue-endpoint={AT}", Extra.AWS),
    "hive": (f"metastore-type=glue,aws-region=eu-west-1,aws-glue-endpoint={AT}", Extra.AWS),
}


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    home = tmp_path_factory.mktemp("home")
    tables = [
        f'[sync.connections.{kind}.main]\nurl = "{url}"\ncatalog = "c"\n'
        + ('options = { account = "1", region = "eu-west-1" }\n' if kind == "lakeformation" else "")
        for kind, url in URLS.items()
    ]
    (home / "headgate.toml").write_text("\n".join([f'hosts = ["127.0.0.1:9"]\nplaces = ["{home}"]', *tables]))
    with running(home, "--dev", command=[str(installed.command)]) as server:
        yield server


@pytest.fixture(scope="module")
def run(installed: Installed, server: RunningServer) -> object:
    env = {"HEADGATE_URL": server.url, "HEADGATE_USER": "admin", "HEADGATE_METALAKE": "demo"}
    assert installed.run("metalake", "create", "--name", "demo", **env).returncode == 0
    return lambda *words: installed.run(*words, **env)


def missing(extra: Extra) -> str:
    return f"pip install 'headgate[{extra.extra}]'"


def test_nothing_of_an_extra_is_there_and_nothing_else_is_missing(installed: Installed) -> None:
    uv = program("uv", "install uv")
    subprocess.run([uv, "pip", "check", "-q", "--python", installed.python], check=True, env=clean())
    for extra in Extra:
        found = f"from headgate.model.extras import Extra; print(Extra.{extra.name}.installed)"
        assert installed.python_says(found).stdout.strip() == "False", extra


def test_the_command_says_its_version(installed: Installed) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert installed.run("--version").stdout.strip() == f"headgate {version}"


def test_a_table_is_made_through_the_command_line(run, server: RunningServer) -> None:  # type: ignore[no-untyped-def]
    for words in (
        ("catalog", "create", "--name", "lake", "--provider", "lakehouse-iceberg", "--properties", "catalog-backend=native"),
        ("schema", "create", "--catalog", "lake", "--name", "sales"),
        ("table", "create", "--catalog", "lake", "--schema", "sales", "--name", "orders", "--columns", "id:long!,region:string"),
    ):  # fmt: skip
        made = run(*words)
        assert made.returncode == 0, made.stderr
    shown = run("table", "details", "--catalog", "lake", "--schema", "sales", "--name", "orders")
    assert "region" in shown.stdout, shown.stderr
    log = server.log.read_text()
    assert missing(Extra.SPARK) in log, "a server whose readers wait for a worker says so"
    assert missing(Extra.FAST) in log


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_system_that_is_synchronised_names_its_extra(kind: str, run) -> None:  # type: ignore[no-untyped-def]
    asked = run("sync", "fetch", "--from", f"{kind}:main")
    assert asked.returncode != 0
    assert missing(SYSTEMS[kind]) in asked.stderr


@pytest.mark.parametrize("provider", CATALOGS)
def test_a_catalog_names_its_extra(provider: str, run, server: RunningServer) -> None:  # type: ignore[no-untyped-def]
    properties, extra = CATALOGS[provider]
    warehouse = f"{properties},warehouse={server.log.parent / 'elsewhere'}"
    name = f"c_{provider.partition('-')[0]}"
    made = run("catalog", "create", "--name", name, "--provider", provider, "--properties", warehouse)
    if made.returncode == 0:
        made = run("schema", "list", "--catalog", name)
    assert made.returncode != 0
    assert missing(extra) in made.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("serve", "--port", "0", "--store", "postgresql://h@127.0.0.1:9/d"), Extra.POSTGRES),
        (("worker",), Extra.SPARK),
        (("worker", "--spark-remote", "sc://127.0.0.1:9"), Extra.CONNECT),
    ],
)
def test_a_process_that_cannot_start_names_the_extra(
    words: tuple[str, ...], extra: Extra, installed: Installed, tmp_path: Path
) -> None:
    ended = installed.run(*words, "--home", tmp_path / "home")
    assert ended.returncode == 1
    assert missing(extra) in ended.stderr


def test_credentials_of_storage_name_the_extra(installed: Installed) -> None:
    for call in (
        "from headgate.catalogs.aws_sessions import aws_session as f; f('r', None, None, None)",
        "from headgate.vending.vendor import _auth as f; f()",
    ):
        assert "headgate[aws]" in installed.python_says(call).stderr, call


def test_tables_lie_in_a_bucket_without_the_client_of_aws(
    installed: Installed, minio: Minio, tmp_path: Path
) -> None:
    bucket = minio.bucket()
    known = {
        "s3-endpoint": minio.url,
        "s3-region": minio.region,
        "s3-access-key-id": minio.key_id,
        "s3-secret-access-key": minio.secret_key,
        "warehouse": f"s3://{bucket}/w",
        "catalog-backend": "native",
    }
    flags = ("--dev", "--hosts", minio.url.removeprefix("http://"), "--places", f"s3://{bucket}")
    with running(tmp_path, *flags, command=[str(installed.command)]) as server:
        server.must("admin", "POST", "/api/metalakes", {"name": "demo"})
        catalog = {"name": "lake", "type": "relational", "provider": "lakehouse-iceberg", "properties": known}
        server.must("admin", "POST", "/api/metalakes/demo/catalogs", catalog)
        server.must("admin", "POST", "/api/metalakes/demo/catalogs/lake/schemas", {"name": "s"})
        table = {"name": "t", "columns": [{"name": "id", "type": "long"}]}
        server.must("admin", "POST", "/api/metalakes/demo/catalogs/lake/schemas/s/tables", table)
        loaded = server.must("admin", "GET", "/iceberg/v1/demo.lake/namespaces/s/tables/t")
        assert loaded["metadata-location"].startswith(f"s3://{bucket}/w/")
