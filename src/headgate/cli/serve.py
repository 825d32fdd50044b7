"""`headgate serve`: the options of a server."""

from typing import Annotated

import typer

from headgate.cli.lean import without_pandas
from headgate.settings import load

Dev = Annotated[
    bool, typer.Option("--dev", help="Believe user names from this machine; 'admin' is service admin.")
]
Host = Annotated[str | None, typer.Option("--host", help="Address to listen on (default 127.0.0.1).")]
Port = Annotated[int | None, typer.Option("--port", help="Port (default 8090; 0 takes a free one).")]
Home = Annotated[str | None, typer.Option("--home", help="Folder of the server (default ~/.headgate).")]
Config = Annotated[
    str | None, typer.Option("--config", help="Settings file (default headgate.toml in --home).")
]
StoreUrl = Annotated[str | None, typer.Option("--store", help="sqlite:///… or postgresql://…")]
Warehouse = Annotated[str | None, typer.Option("--warehouse", help="Folder or s3://… for native tables.")]
Places = Annotated[
    str | None,
    typer.Option(
        "--places", help="Folders and s3://… prefixes that catalogs may use besides the warehouse: a,b"
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option("--hosts", help="Hosts that catalogs may name, with or without a port: a,b:9000"),
]
Admins = Annotated[
    str | None, typer.Option("--service-admins", help="Who may make metalakes and tokens: a,b")
]
Workers = Annotated[int | None, typer.Option("--workers", help="Processes on the port (default 1).")]
NoWorker = Annotated[
    bool, typer.Option("--no-worker", help="Start no worker: 'headgate worker' runs elsewhere.")
]
SparkMaster = Annotated[
    str | None,
    typer.Option("--spark-master", help="Where Spark jobs run: local[*], spark://…, yarn, k8s://…"),
]
SparkRemote = Annotated[str | None, typer.Option("--spark-remote", help="Spark Connect: sc://host:15002")]


def serve(
    dev: Dev = False,
    host: Host = None,
    port: Port = None,
    home: Home = None,
    config: Config = None,
    store: StoreUrl = None,
    warehouse: Warehouse = None,
    places: Places = None,
    hosts: Hosts = None,
    service_admins: Admins = None,
    workers: Workers = None,
    no_worker: NoWorker = False,
    spark_master: SparkMaster = None,
    spark_remote: SparkRemote = None,
) -> None:
    """Start a server. Flags win over HEADGATE_* variables, those over headgate.toml."""
    settings = load(dict(locals()))
    without_pandas()
    # Only this command needs the server's rooms; the others start faster without them.
    from headgate.cli import process

    process.run(settings)


def worker(
    home: Home = None,
    config: Config = None,
    store: StoreUrl = None,
    warehouse: Warehouse = None,
    places: Places = None,
    hosts: Hosts = None,
    spark_master: SparkMaster = None,
    spark_remote: SparkRemote = None,
) -> None:
    """Make governed copies for the readers of a server's store. Any number of workers may run."""
    settings = load(dict(locals()))
    from headgate import logs
    from headgate.worker import process

    logs.configure()
    process.run(settings, process.stopping(with_parent=False))
