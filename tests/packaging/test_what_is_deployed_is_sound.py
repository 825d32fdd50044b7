"""Promise: the images, the compose file, the chart and the units are what their tools take, start what Headgate has, run without root,
and leave no password open. No Docker, cluster or systemd is needed to show it."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from headgate.cli.app import app
from headgate.settings.server import load
from tests.environments import DEPLOYING, python_of
from tests.packaging.installed import Installed, clean
from tests.peers import ROOT
from tests.postgres import free_port
from tests.real.server import running

pytestmark = pytest.mark.real

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/headgate"
COMPOSE = DEPLOY / "compose/compose.yaml"
DOCKERFILE = (DEPLOY / "docker/Dockerfile").read_text()
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
VALUES: dict[str, Any] = {
    "image": {"server": "registry.example/headgate:server", "worker": "registry.example/headgate:worker"},
    "store": {"existingSecret": "headgate-store"},
    "warehouse": "s3://lake/warehouse",
    "serviceAdmins": ["ann"],
}
EVERYTHING = {
    **VALUES,
    "imagePullSecrets": [{"name": "pull"}],
    "places": ["s3://lake"],
    "hosts": ["minio:9000"],
    "config": 'largest-document = 64\n\n[[oidc]]\nissuer = "https://id.example"\naudience = "headgate"\n',
    "environmentSecrets": ["headgate-more"],
    "worker": {"replicas": 3, "sparkRemote": "sc://connect:15002"},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "headgate.example",
        "tlsSecret": "certificate",
    },
    "serviceAccount": {"annotations": {"role": "lake"}},
    "nodeSelector": {"pool": "lake"},
    "tolerations": [{"key": "lake", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}


def tool(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run one of the checking tools."""
    program = python_of(DEPLOYING).parent / name
    given = [str(word) for word in (program, *words)]
    return subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)


def rendered(values: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return tool("helm", "template", "prod", CHART, "--namespace", "lake", "-f", file)


def options_of(words: list[str]) -> Iterator[str]:
    """The options of a command line, each of which its command must have."""
    command = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
    known = {name for parameter in command.params for name in parameter.opts}
    for word in words[1:]:
        if word.startswith("--"):
            assert word in known, f"'headgate {words[0]}' has no option {word}"
            yield word


# -- images ------------------------------------------------------------------------------------------------------


def test_the_dockerfile_is_taken_by_its_linter() -> None:
    found = tool("hadolint", DEPLOY / "docker/Dockerfile")
    assert (found.returncode, found.stdout) == (0, "")


def stages() -> dict[str, list[str]]:
    """The lines of each stage of the Dockerfile that can be built."""
    found = re.split(r"^FROM \S+ AS (\S+)$", DOCKERFILE.replace("\\\n", " "), flags=re.MULTILINE)
    return {name: body.strip().splitlines() for name, body in zip(found[1::2], found[2::2], strict=True)}


@pytest.mark.parametrize("target", ["server", "worker"])
def test_an_image_runs_a_command_that_there_is_and_not_as_root(target: str) -> None:
    lines = stages()[target]
    assert "USER 10001" in lines
    assert lines.index("USER 10001") > max(
        n for n, line in enumerate(lines) if line.startswith(("RUN", "COPY"))
    )
    (command,) = (json.loads(line[4:]) for line in lines if line.startswith("CMD "))
    list(options_of(command))
    assert 'ENTRYPOINT ["headgate"]' in stages()["base"]


def test_an_image_holds_what_the_lock_file_says_and_extras_that_there_are() -> None:
    extras = set(re.findall(r"--extra (\w+)", DOCKERFILE))
    known = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert extras <= set(known)
    assert DOCKERFILE.count("--frozen") == 2
    copied = {word for line in DOCKERFILE.splitlines() if line.startswith("COPY ") and "--from" not in line
              for word in line.split()[1:-1]}  # fmt: skip
    opened = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == opened, "the build is given what it copies, and nothing else"


def test_an_images_command_serves_and_its_health_check_sees_it(installed: Installed, tmp_path: Path) -> None:
    """As in the image, but for the address; the home is made inside a folder that is there."""
    (command,) = (json.loads(line[4:]) for line in stages()["server"] if line.startswith("CMD "))
    flags = [word for word in command[1:] if word not in ("--host", "0.0.0.0")]
    home = tmp_path / "lib/home"
    (health,) = re.findall(r'CMD \["python", "-c", "(.*)"\]', DOCKERFILE)
    with running(tmp_path / "own", *flags, "--home", str(home), command=[str(installed.command)]) as server:
        asked = health.replace("http://127.0.0.1:8090", server.url)
        assert installed.python_says(asked).returncode == 0
        assert home.stat().st_mode & 0o077 == 0
    assert installed.python_says(asked).returncode != 0


# -- compose -----------------------------------------------------------------------------------------------------


def test_the_compose_file_has_the_form_that_compose_takes() -> None:
    found = tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)
    assert found.returncode == 0, found.stdout


def test_the_compose_file_leaves_nothing_open() -> None:
    compose = yaml.safe_load(COMPOSE.read_text())
    text = COMPOSE.read_text()
    asked = set(re.findall(r"\$\{(\w+):\?[^}]*\}", text))
    assert set(re.findall(r"\$\{(\w+)", text)) == asked, "a value that is not set stops the start"
    example = (DEPLOY / "compose/example.env").read_text()
    assert set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == asked
    assert not re.findall(r"^\w+=.", example, re.MULTILINE)
    assert re.search(r"^\.env$", (ROOT / ".gitignore").read_text(), re.MULTILINE)
    for name, service in compose["services"].items():
        assert service.get("privileged") is None, name
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
        if str(service["image"]).startswith("headgate:"):
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name
            assert service["build"]["target"] == service["image"].partition(":")[2], name
        for other in service.get("depends_on", {}):
            assert other in compose["services"]


def test_what_compose_starts_of_headgate_is_there(tmp_path: Path) -> None:
    compose = yaml.safe_load(COMPOSE.read_text())
    for service in ("server", "worker"):
        given = {k: str(v) for k, v in compose["services"][service]["environment"].items()}
        settings = load({"home": str(tmp_path)}, given)
        assert settings.warehouse == "s3://lake/warehouse"
        assert settings.store.hidden.startswith("postgresql://headgate:")
    assert set(options_of(compose["services"]["worker"]["command"])) == {"--spark-master", "--config"}
    file = tmp_path / "headgate.toml"
    file.write_text(compose["configs"]["worker"]["content"])
    assert (
        load({"home": str(tmp_path), "config": str(file)}, {}).spark_options["spark.driver.host"] == "worker"
    )


# -- chart -------------------------------------------------------------------------------------------------------


def test_the_chart_is_taken_by_helm(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(EVERYTHING))
    found = tool("helm", "lint", "--strict", CHART, "-f", tmp_path / "values.yaml")
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("values", [VALUES, EVERYTHING], ids=["little", "everything"])
def test_what_the_chart_makes_is_taken_by_kubernetes_and_by_headgate(
    values: dict[str, Any], tmp_path: Path
) -> None:
    made = rendered(values, tmp_path)
    assert made.returncode == 0, made.stderr
    file = tmp_path / "made.yaml"
    file.write_text(made.stdout)
    found = tool("kubernetes-validate", "--strict", file)
    assert found.returncode == 0, found.stdout + found.stderr
    documents = [document for document in yaml.safe_load_all(made.stdout) if document]
    kinds = sorted(document["kind"] for document in documents)
    assert ("Ingress" in kinds) == (values is EVERYTHING)
    (settings,) = (document["data"] for document in documents if document["kind"] == "ConfigMap")
    (tmp_path / "headgate.toml").write_text(settings["headgate.toml"])
    read = load({"home": str(tmp_path)}, {})
    assert read.service_admins == {"ann"}
    assert read.warehouse == "s3://lake/warehouse"
    assert bool(read.oidc) == (values is EVERYTHING)
    for deployment in (document for document in documents if document["kind"] == "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        list(options_of(container["args"]))
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        secrets = [variable for variable in container["env"] if variable["name"] == "HEADGATE_STORE"]
        assert secrets[0]["valueFrom"]["secretKeyRef"]["name"] == "headgate-store"
        assert deployment["spec"]["selector"]["matchLabels"].items() <= (
            deployment["spec"]["template"]["metadata"]["labels"].items()
        )
        if container["args"][0] == "serve":
            assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
            assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"store": {"existingSecret": ""}}, "existingSecret"),
        ({"warehouse": "/var/lib/warehouse"}, "warehouse"),
        ({"replicas": 2}, "replicas"),
        ({"ingress": {"enabled": True, "host": "headgate.example"}}, "tlsSecret"),
    ],
)
def test_the_chart_refuses_what_would_not_work(wrong: dict[str, Any], named: str, tmp_path: Path) -> None:
    made = rendered({**VALUES, **wrong}, tmp_path)
    assert made.returncode != 0
    assert named in made.stderr


# -- units -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_there_is(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    words = shlex.split(line)
    assert words[0] == "/opt/headgate/bin/headgate"
    assert "--config" in options_of(words[1:])
    assert re.search(r"^User=headgate$", unit.read_text(), re.MULTILINE)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_taken_by_systemd(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("without systemd-analyze, which comes with systemd")
    there = tmp_path / unit.name
    # The command is looked for on this machine, where no Headgate is installed under /opt.
    there.write_text(
        unit.read_text().replace("/opt/headgate/bin/headgate", shutil.which("true") or "/bin/true")
    )
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", there]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean(), check=False)
    ours = [line for line in found.stderr.splitlines() if unit.name in line]
    assert (found.returncode, ours) == (0, []), found.stderr


def test_the_unit_of_the_server_serves_with_the_file_beside_it(installed: Installed, tmp_path: Path) -> None:
    (unit,) = (unit for unit in UNITS if "server" in unit.name)
    (line,) = re.findall(r"^ExecStart=\S+ serve (.*)$", unit.read_text(), re.MULTILINE)
    settings = tmp_path / "headgate.toml"
    known = (DEPLOY / "systemd/headgate.toml").read_text()
    settings.write_text(known.replace("/var/lib/headgate", str(tmp_path)) + f"port = {free_port()}\n")
    flags = line.replace("/etc/headgate/headgate.toml", str(settings)).split()
    secret = {"HEADGATE_STORE": f"sqlite:///{tmp_path / 'kept.db'}"}
    with running(tmp_path / "home", *flags, command=[str(installed.command)], **secret) as server:
        assert server.client.get("/health/ready").status_code == 200
        assert (tmp_path / "kept.db").exists()
    assert os.stat(tmp_path / "kept.db").st_mode & 0o077 == 0
