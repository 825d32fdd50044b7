"""Settings: a flag wins over the environment, that over the file; what is not understood is refused."""

from pathlib import Path

import pytest

from headgate.model.errors import IllegalArgument
from headgate.settings.server import HANDOVER, Settings, load
from headgate.settings.setting import SETTINGS

FULL = """
port = 1001
host = "127.0.0.3"
service-admins = ["file"]
store = "postgresql://u:hush@db/x"

[[oidc]]
issuer = "https://id.example"
audience = "headgate"
"""


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text(FULL)
    environment = {"HEADGATE_HOME": str(tmp_path), "HEADGATE_PORT": "1002", "HEADGATE_SERVICE_ADMINS": "a, b"}
    settings = load({"port": 1003, "host": None}, environment)
    assert (settings.port, settings.host, settings.workers) == (1003, "127.0.0.3", 1)
    assert settings.service_admins == {"a", "b"}
    assert load({}, environment).port == 1002
    assert load({"home": str(tmp_path)}, {}).service_admins == {"file"}
    assert settings.oidc[0].issuer == "https://id.example"


def test_without_any_setting_nothing_is_open(tmp_path: Path) -> None:
    settings = load({"home": str(tmp_path)}, {})
    assert (settings.host, settings.dev, settings.oidc) == ("127.0.0.1", False, ())
    assert settings.service_admins == frozenset()
    assert settings.store.hidden == f"sqlite:///{tmp_path}/headgate.db"


def test_development_mode_comes_from_its_flag_only(tmp_path: Path) -> None:
    assert not load({"home": str(tmp_path)}, {"HEADGATE_DEV": "true"}).dev
    assert load({"home": str(tmp_path), "dev": True}, {}).service_admins == {"admin"}
    (tmp_path / "headgate.toml").write_text("dev = true")
    with pytest.raises(IllegalArgument):
        load({"home": str(tmp_path)}, {})


@pytest.mark.parametrize(
    "text",
    [
        "prot = 1",
        "port = 'x'",
        "port = 70000",
        "workers = 0",
        "[[oidc]]\nissuer = 'https://a'",
        "[[oidc]]\nissuer = 'https://a'\naudience = ''",
        "[[oidc]]\nissuer = 'https://a'\naudience = 'x'\nalgorithms = ['HS256']",
        "[[oidc]]\nissuer = 'https://a'\naudience = 'x'\n" * 2,
        "port = ",
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "headgate.toml").write_text(text)
    with pytest.raises(IllegalArgument):
        load({"home": str(tmp_path)}, {})


@pytest.mark.parametrize(
    "text",
    [
        "authorization = false",
        "[authorization]\nenable = false",
        "[gravitino.authorization]\nenable = false",
        '"gravitino.authorization.enable" = false',
    ],
)
def test_nothing_turns_authorisation_off(tmp_path: Path, text: str) -> None:
    (tmp_path / "headgate.toml").write_text(text)
    with pytest.raises(IllegalArgument):
        load({"home": str(tmp_path)}, {})
    names = [name for s in SETTINGS for name in (s.name, s.flag, s.variable, s.key) if name]
    assert not [name for name in names if "auth" in name.lower()]


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(IllegalArgument, match="no file"):
        load({"home": str(tmp_path), "config": str(tmp_path / "other.toml")}, {})


def test_the_store_password_is_in_no_text_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text(FULL)
    settings = load({"home": str(tmp_path)}, {})
    assert "hush" not in f"{settings!r} {settings} {settings.store} {settings.store!r}"
    assert Settings.taken_over({HANDOVER: settings.handed_over()}) == settings


SYSTEMS = """
[sync.connections.postgresql.main]
url = "postgresql://u:hush@db/x"
metalakes = ["lake"]

[sync.connections.mariadb.main]
url = "mariadb://db"
user = "root"
password = "hush"
"""


def test_connections_are_named_by_kind_and_never_show_what_is_secret(tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text(SYSTEMS)
    settings = load({"home": str(tmp_path)}, {})
    assert sorted(settings.connections) == ["mariadb:main", "postgresql:main"]
    assert settings.connections["postgresql:main"].metalakes == ("lake",)
    assert settings.connections["mariadb:main"].metalakes == ()
    assert "hush" not in repr(settings)
    assert Settings.taken_over({HANDOVER: settings.handed_over()}) == settings


@pytest.mark.parametrize(
    "said", ["[sync.connections.nothing.x]\nurl = 'u'", "[sync.connections.mariadb.x]\nuri = 'u'"]
)
def test_a_connection_that_is_not_understood_is_refused(tmp_path: Path, said: str) -> None:
    (tmp_path / "headgate.toml").write_text(said)
    with pytest.raises(IllegalArgument):
        load({"home": str(tmp_path)}, {})
