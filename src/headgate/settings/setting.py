"""Every setting, each written down once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from headgate.model.errors import IllegalArgument

FILE: Final = "headgate.toml"
Command = Literal["serve", "worker"]
BOTH: Final[tuple[Command, ...]] = ("serve", "worker")


@dataclass(frozen=True)
class Form:
    """How the value of a setting is written and read."""

    of_flag: type
    """As the command line takes it."""
    of_file: Any
    """As the file takes it."""
    read: Callable[["Setting", Any], Any]
    """The value that was meant; raises IllegalArgument for one that is none."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting. No part has a default: whoever adds a setting decides about each."""

    name: str
    form: Form
    default: Any
    """None where it follows from others; `default_text` says how."""
    default_text: str
    flag: str | None
    variable: str | None
    key: str | None
    """In the file; a dot leads into a table."""
    commands: tuple[Command, ...]
    """Those that take the flag."""
    help: str

    @property
    def turns_off(self) -> bool:
        """Whether its flag says no, such as --no-worker."""
        return (self.flag or "").startswith("--no-")

    @property
    def option_help(self) -> str:
        """Its line in the help of a command."""
        default = self.default_text.replace("`", "")
        known = self.form.of_flag is bool or self.default_text == "none"
        return self.help if known else f"{self.help} (default: {default})"

    @property
    def sources(self) -> str:
        """Where the setting can be given, for errors and help."""
        known = (self.flag, self.variable, self.key and f"'{self.key}' in {FILE}")
        *first, last = [source for source in known if source]
        return f"{', '.join(first)} or {last}" if first else last

    def refuse(self, message: str) -> IllegalArgument:
        """The error of a value that is none; names every place where it can stand."""
        return IllegalArgument(f"'{self.key or self.name}' {message}", hint=f"correct {self.sources}")

    def given(self, flags: Mapping[str, Any], environment: Mapping[str, str], file: Any) -> Any:
        """The value that counts, as it was written: a flag's, else the environment's, else the file's; None if none."""
        found = flags.get(self.name)
        if found is None and self.variable is not None:
            found = environment.get(self.variable)
        if found is None and self.key is not None:
            found = file
            for part in self.key.split("."):
                found = getattr(found, part.replace("-", "_"), None)
        return found

    def value(self, flags: Mapping[str, Any], environment: Mapping[str, str], file: Any) -> Any:
        """The value that counts, read and checked; the default if none was given."""
        found = self.given(flags, environment, file)
        found = self.default if found is None else found
        return None if found is None else self.form.read(self, found)


def _text(setting: Setting, value: Any) -> str | None:
    # An empty variable is how many deployments write "not set".
    return str(value) or setting.default


def _listed(setting: Setting, value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip())


def _number(least: int, most: int) -> Form:
    def read(setting: Setting, value: Any) -> int:
        text = str(value)
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise setting.refuse(f"must be a number from {least} to {most}")
        return int(text)

    return Form(int, int, read)


def _folder(setting: Setting, value: Any) -> str | None:
    """A folder as an absolute path, or a URL as it is."""
    text = _text(setting, value)
    return text if text is None or "://" in text else str(Path(text).expanduser().absolute())


def _connect(setting: Setting, value: Any) -> str | None:
    text = _text(setting, value)
    if text is not None and not text.startswith("sc://"):
        raise IllegalArgument(
            f"'{text}' is no Spark Connect address", hint=f"write sc://host:15002 as {setting.sources}"
        )
    return text


TEXT: Final = Form(str, str, _text)
FOLDER: Final = Form(str, str, _folder)
LIST: Final = Form(str, tuple[str, ...], _listed)
SWITCH: Final = Form(bool, bool, lambda setting, value: bool(value))
CONNECT: Final = Form(str, str, _connect)
OPTIONS: Final = Form(str, dict[str, str], lambda setting, value: dict(value))

HOME: Final = Setting(
    name="home",
    form=FOLDER,
    default="~/.headgate",
    default_text="`~/.headgate`",
    flag="--home",
    variable="HEADGATE_HOME",
    key=None,
    commands=BOTH,
    help="Folder of the server.",
)
CONFIG: Final = Setting(
    name="config",
    form=TEXT,
    default=None,
    default_text="`headgate.toml` in home",
    flag="--config",
    variable="HEADGATE_CONFIG",
    key=None,
    commands=BOTH,
    help="Settings file.",
)
DEV: Final = Setting(
    name="dev",
    form=SWITCH,
    default=False,
    default_text="off, and only by its flag",
    flag="--dev",
    variable=None,  # It must be asked for at every start.
    key=None,
    commands=("serve",),
    help="Believe user names from this machine; 'admin' is service admin.",
)
HOST: Final = Setting(
    name="host",
    form=TEXT,
    default="127.0.0.1",
    default_text="`127.0.0.1`",
    flag="--host",
    variable="HEADGATE_HOST",
    key="host",
    commands=("serve",),
    help="Address to listen on.",
)
PORT: Final = Setting(
    name="port",
    form=_number(0, 65_535),
    default=8090,
    default_text="`8090`; `0` takes a free one",
    flag="--port",
    variable="HEADGATE_PORT",
    key="port",
    commands=("serve",),
    help="Port.",
)
STORE: Final = Setting(
    name="store",
    form=TEXT,
    default=None,
    default_text="`sqlite:///…/headgate.db` in home",
    flag="--store",
    variable="HEADGATE_STORE",
    key="store",
    commands=BOTH,
    help="sqlite:///… or postgresql://…",
)
WAREHOUSE: Final = Setting(
    name="warehouse",
    form=FOLDER,
    default=None,
    default_text="`warehouse` in home",
    flag="--warehouse",
    variable="HEADGATE_WAREHOUSE",
    key="warehouse",
    commands=BOTH,
    help="Folder or s3://… for native tables.",
)
PLACES: Final = Setting(
    name="places",
    form=LIST,
    default=(),
    default_text="none besides the warehouse",
    flag="--places",
    variable="HEADGATE_PLACES",
    key="places",
    commands=BOTH,
    help="Folders and s3://… prefixes that catalogs may use besides the warehouse: a,b",
)
HOSTS: Final = Setting(
    name="hosts",
    form=LIST,
    default=(),
    default_text="none",
    flag="--hosts",
    variable="HEADGATE_HOSTS",
    key="hosts",
    commands=BOTH,
    help="Hosts that catalogs may name, with or without a port: a,b:9000",
)
LARGEST_DOCUMENT: Final = Setting(
    name="largest_document",
    form=_number(1, 4096),
    default=256,
    default_text="`256`",
    flag=None,
    variable="HEADGATE_LARGEST_DOCUMENT",
    key="largest-document",
    commands=(),
    help="MiB that a table's metadata may have, unpacked, or an answer of another catalog.",
)
SERVICE_ADMINS: Final = Setting(
    name="service_admins",
    form=LIST,
    default=(),
    default_text="nobody",
    flag="--service-admins",
    variable="HEADGATE_SERVICE_ADMINS",
    key="service-admins",
    commands=("serve",),
    help="Who may make metalakes and tokens: a,b",
)
WORKERS: Final = Setting(
    name="workers",
    form=_number(1, 256),
    default=1,
    default_text="`1`",
    flag="--workers",
    variable="HEADGATE_WORKERS",
    key="workers",
    commands=("serve",),
    help="Processes on the port.",
)
WORKER: Final = Setting(
    name="worker",
    form=SWITCH,
    default=True,
    default_text="on",
    flag="--no-worker",
    variable=None,
    key="worker",
    commands=("serve",),
    help="Start no worker: 'headgate worker' runs elsewhere.",
)
SPARK_MASTER: Final = Setting(
    name="spark_master",
    form=TEXT,
    default=None,
    default_text="`local[*]`",
    flag="--spark-master",
    variable="HEADGATE_SPARK_MASTER",
    key="spark.master",
    commands=BOTH,
    help="Where Spark jobs run: local[*], spark://…, yarn, k8s://…",
)
SPARK_REMOTE: Final = Setting(
    name="spark_remote",
    form=CONNECT,
    default=None,
    default_text="none",
    flag="--spark-remote",
    variable="HEADGATE_SPARK_REMOTE",
    key="spark.remote",
    commands=BOTH,
    help="Spark Connect instead of a master: sc://host:15002",
)
SPARK_MEMORY: Final = Setting(
    name="spark_memory",
    form=TEXT,
    default="2g",
    default_text="`2g`",
    flag=None,
    variable=None,
    key="spark.memory",
    commands=(),
    help="Memory of Spark's driver.",
)
SPARK_OPTIONS: Final = Setting(
    name="spark_options",
    form=OPTIONS,
    default={},
    default_text="none, see [The worker](worker.md)",
    flag=None,
    variable=None,
    key="spark.options",
    commands=(),
    help="Further settings of the Spark session.",
)


def missing(setting: Setting) -> Iterator[str]:
    """The parts that a record lacks, each as a sentence."""
    for part in ("name", "form", "default_text", "help"):
        if not getattr(setting, part):
            yield f"the setting '{setting.name}' has no '{part}'"
    if not (setting.flag or setting.variable or setting.key):
        yield f"the setting '{setting.name}' can be given nowhere"
    if bool(setting.flag) != bool(setting.commands):
        yield f"the setting '{setting.name}' has a flag without a command, or the other way round"


def register(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """The settings; refused if a record lacks a part, or two share a name, a flag, a variable or a key."""
    found = tuple(settings)
    wrong = [problem for setting in found for problem in missing(setting)]
    for part in ("name", "flag", "variable", "key"):
        taken = [value for setting in found if (value := getattr(setting, part))]
        wrong += [
            f"two settings have the {part} '{value}'"
            for value in sorted({v for v in taken if taken.count(v) > 1})
        ]
    if wrong:
        raise TypeError("; ".join(wrong))
    return found


SETTINGS: Final = register(
    (
        HOME,
        CONFIG,
        HOST,
        PORT,
        STORE,
        WAREHOUSE,
        PLACES,
        HOSTS,
        LARGEST_DOCUMENT,
        SERVICE_ADMINS,
        WORKERS,
        DEV,
        WORKER,
        SPARK_MASTER,
        SPARK_REMOTE,
        SPARK_MEMORY,
        SPARK_OPTIONS,
    )
)
