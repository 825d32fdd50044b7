"""A real server process: what it opens, what it refuses, how it stops, and what its logs keep to themselves."""

import importlib.util
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.peers import lacking
from tests.real.server import RunningServer, headgate, running

pytestmark = pytest.mark.real


def test_development_mode_listens_on_this_machine_only(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.com"):
        refused = headgate("serve", "--dev", "--host", host, "--port", "0", "--home", str(tmp_path))
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "--dev" in refused.stderr
    assert not (tmp_path / "headgate.db").exists()


def test_a_server_without_settings_believes_nobody(tmp_path: Path) -> None:
    with running(tmp_path, "--service-admins", "root") as server:
        for user in ("admin", "root"):
            assert server.ask(user, "GET", "/api/metalakes").status_code == 401
        assert server.ask(None, "GET", "/api/metalakes").status_code == 401
        for path in ("/health/live", "/health/ready", "/api/health"):
            assert server.ask(None, "GET", path).json()["status"] == "up"
        assert server.ask(None, "GET", "/configs").json() == {
            "gravitino.authenticators": [],
            "gravitino.authorization.enable": True,
        }
        assert server.ask(None, "CLOSE", "/").status_code == 200
        assert server.ask(None, "GET", "/metrics").status_code == 401
        made = headgate("token", "create", "--user", "root", "--home", str(tmp_path)).stdout.strip()
        other = headgate("token", "create", "--user", "ann", "--home", str(tmp_path)).stdout.strip()
        assert server.ask(made, "POST", "/api/metalakes", {"name": "lake"}).status_code == 200
        assert server.ask(other, "POST", "/api/metalakes", {"name": "sea"}).status_code == 403
        assert server.ask(other, "GET", "/metrics").status_code == 403
        assert "headgate_requests_total" in server.ask(made, "GET", "/metrics").text
        revoked = headgate("token", "revoke", "--id", made[3:19], "--home", str(tmp_path))
        assert revoked.returncode == 0, revoked.stderr
        assert server.ask(made, "GET", "/api/metalakes").status_code == 401


def test_development_mode_does_not_answer_through_a_proxy_or_another_name(tmp_path: Path) -> None:
    with running(tmp_path, "--dev") as server:
        assert server.ask("ann", "GET", "/api/metalakes").status_code == 200
        for headers in (
            {"X-Forwarded-For": "127.0.0.1"},
            {"Forwarded": "for=127.0.0.1"},
            {"Host": "evil.example"},
            {"Host": "127.0.0.1.evil.example:8090"},
            {"Origin": "https://evil.example"},
            {"Origin": "http://localhost.evil.example:8090"},
            {"Origin": "null"},
        ):
            for user in ("ann", None):
                assert server.ask(user, "GET", "/api/metalakes", headers=headers).status_code == 403
        own = {"Origin": server.url}
        assert server.ask("ann", "GET", "/api/metalakes", headers=own).status_code == 200


def test_in_development_mode_who_does_not_say_who_they_are_is_anonymous(tmp_path: Path) -> None:
    with running(tmp_path, "--dev") as server:
        assert server.ask(None, "GET", "/api/authn/me").json() == {"code": 0, "principal": "anonymous"}
        for refused in ({"Authorization": ""}, {"Authorization": "Basic"}, {"Authorization": "Basic %%"}):
            assert server.ask(None, "GET", "/api/authn/me", headers=refused).status_code == 401
        assert server.ask(None, "POST", "/api/metalakes", {"name": "sea"}).status_code == 403
        assert server.ask(None, "GET", "/metrics").status_code == 403
        server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
        assert server.ask(None, "GET", "/api/metalakes/lake").status_code == 403, "nobody until added"
        server.must("admin", "POST", "/api/metalakes/lake/users", {"name": "anonymous"})
        assert server.ask(None, "GET", "/api/metalakes/lake").status_code == 200
        assert server.ask(None, "POST", "/api/metalakes/lake/users", {"name": "x"}).status_code == 403
        large = {"name": "x", "comment": "y" * 70_000}
        small = server.ask(None, "POST", "/api/metalakes/lake/tags", large)
        assert (small.status_code, "65536" in small.text) == (400, True)
        assert server.ask("admin", "POST", "/api/metalakes/lake/tags", large).status_code == 200


def test_a_client_that_offers_another_protocol_is_answered_in_this_one(tmp_path: Path) -> None:
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAA"}
    with running(tmp_path, "--dev") as server:
        made = server.ask("admin", "POST", "/api/metalakes", {"name": "lake"}, headers=offer)
        assert made.status_code == 200, "the body was read, not taken for the other protocol's"
        assert server.ask("admin", "GET", "/api/metalakes/lake").status_code == 200
        head = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
        with socket.create_connection((httpx.URL(server.url).host, httpx.URL(server.url).port or 80)) as slow:
            slow.sendall(head)
            time.sleep(0.2)
            slow.sendall(b"1\r\nUpgrade: h2c\r\nConnection: close\r\n\r\n")
            assert slow.recv(64).startswith(b"HTTP/1.1 200"), (
                "a request that comes in parts stays one request"
            )


def test_a_server_loads_what_is_large_only_when_it_is_needed() -> None:
    asked = "import sys, headgate.cli.operations.process, headgate.doors.app; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    # pandas is not among them: PyArrow loads it wherever it is installed, which for a server it need not be.
    assert {"psycopg", "pymysql", "jwt", "numba", "pyspark"}.isdisjoint(ran.stdout.split())


def test_a_port_that_is_taken_is_said_plainly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = headgate("serve", "--dev", "--port", port, "--home", str(tmp_path))
    assert refused.returncode == 1
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


def takes_more(server: RunningServer) -> bool:
    try:
        httpx.get(server.url + "/health/live", timeout=5)
    except httpx.HTTPError:
        return False
    return True


def test_requests_under_way_are_finished_before_the_server_stops(tmp_path: Path) -> None:
    with running(tmp_path, "--dev") as server:
        port = int(server.url.rpartition(":")[2])
        body = b'{"name": "late"}'
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(
                b"POST /api/metalakes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YWRtaW46\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n"
                b"Expect: 100-continue\r\n\r\n" % len(body)
            )
            assert b"100" in slow.recv(65536), "the request is under way when it waits for its body"
            stopping = threading.Thread(target=server.stop)
            stopping.start()
            while takes_more(server):
                assert server.process.poll() is None
            assert server.process.poll() is None
            slow.sendall(body)
            answer = slow.recv(65536)
            stopping.join()
    assert b"200" in answer.splitlines()[0]
    assert server.process.returncode == 0
    with running(tmp_path, "--dev") as again:
        assert again.must("admin", "GET", "/api/metalakes/late")["metalake"]["name"] == "late"


def test_several_processes_on_one_port_count_together(tmp_path: Path) -> None:
    with running(tmp_path, "--dev", "--workers", "2") as server:
        for _ in range(40):
            # A connection of its own each, so that both processes get some.
            assert httpx.get(server.url + "/api/metalakes", auth=("ann", "")).status_code == 200
        text = server.ask("admin", "GET", "/metrics").text
        assert 'route="/api/metalakes",status="200"} 40.0' in text
        server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
        for _ in range(20):
            assert httpx.get(server.url + "/api/metalakes/lake", auth=("admin", "")).status_code == 200
    assert server.process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="tells what a process loaded on Linux only")
def test_a_server_loads_no_pandas(tmp_path: Path) -> None:
    if importlib.util.find_spec("pandas") is None:
        lacking("pandas", "there is nothing that a server could load")
    with running(tmp_path, "--dev", "--workers", "2", "--no-worker") as server:
        server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
        parent = server.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        loaded = {pid: Path(f"/proc/{pid}/maps").read_text() for pid in (parent, *children)}
    assert sum("/pyarrow/" in maps for maps in loaded.values()) >= 3
    assert not any("/pandas/" in maps for maps in loaded.values())


def test_the_logs_hold_no_secret(tmp_path: Path) -> None:
    secrets = ["catalog-secret-77", "basic-password-88", "query-secret-99"]
    with running(tmp_path, "--dev") as server:
        made = server.must("admin", "POST", "/api/headgate/tokens", {"user": "ann"})["text"]
        secrets.append(made[20:])
        server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
        properties = {"s3-secret-access-key": "catalog-secret-77", "db-password": "catalog-secret-77"}
        for provider in ("lakehouse-iceberg", "jdbc-postgresql", "nothing"):
            body = {"name": "c", "type": "relational", "provider": provider, "properties": properties}
            for path in ("/api/metalakes/lake/catalogs", "/api/metalakes/lake/catalogs/testConnection"):
                assert server.ask("admin", "POST", path, body).status_code < 500
        httpx.get(server.url + "/api/metalakes", auth=("ann", "basic-password-88"))
        server.ask(made, "GET", "/api/metalakes?token=query-secret-99")
        server.ask(made + "x", "GET", "/api/metalakes")
        forged = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"
        secrets.append("c2lnbmF0dXJl")
        assert server.ask(forged, "GET", "/api/metalakes").status_code == 401
        server.client.request(
            "POST", "/api/metalakes", content=b'{"name": "catalog-secret-77', auth=("admin", "")
        )
    log = server.log.read_text() + server.out.read_text()
    assert '"route":"/api/metalakes"' in log
    for secret in secrets:
        assert secret not in log
