"""Promise: who one is, is said once and kept safely; and it goes to the server it was said to, and to no other."""

import io
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from headgate.cli import profiles
from headgate.cli.failure import Failure, Usage
from headgate.cli.profiles import Profile, Profiles, sign_in
from headgate.cli.secret_values import reveal
from tests.cli.in_process import Run, commands, done
from tests.conftest import Api
from tests.doors.governed import govern
from tests.real.server import headgate_here

NOWHERE: dict[str, Any] = {"url": None, "token": None, "login": None, "metalake": None, "profile": None}


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "headgate" / "config.toml"


def kept(**more: Profile) -> None:
    work = Profile(url="https://work", token="hg_secret", metalake="lake")
    profiles.write(Profiles(profile="work", profiles={"work": work, **more}))


# -- the file -------------------------------------------------------------------------------------------------------


def test_a_profile_is_kept_for_its_owner_only_and_read_as_it_was_written(config: Path) -> None:
    odd = Profile(url="https://ü", login='a"b\\c\n\x7f\t', metalake="m")
    kept(odd=odd)
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert profiles.read().profiles["odd"] == odd
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_file_that_others_can_read_is_not_used(config: Path, mode: int) -> None:
    kept()
    config.chmod(mode)
    with pytest.raises(Failure, match="read by others") as raised:
        sign_in(**NOWHERE)
    assert "chmod 600" in (raised.value.next or "")


def test_a_file_that_is_no_profile_says_so(config: Path) -> None:
    kept()
    for text in ("profile = [", "profil = 'x'\n", "[profiles.a]\nurl = 1\n"):
        config.write_text(text)
        with pytest.raises(Usage, match="cannot be understood"):
            sign_in(**NOWHERE)


# -- what wins ------------------------------------------------------------------------------------------------------


def test_a_flag_wins_over_a_variable_and_that_over_the_profile() -> None:
    kept(dev=Profile(url="http://dev", login="ann"))
    assert sign_in(**NOWHERE).token == "hg_secret"
    assert sign_in(**{**NOWHERE, "metalake": "other"}).metalake == "other"
    assert sign_in(**{**NOWHERE, "profile": "dev"}).login == "ann"
    given = sign_in(**{**NOWHERE, "login": "bob"})
    assert (given.login, given.token, given.url) == ("bob", None, "https://work")
    both = {**NOWHERE, "token": "hg_env", "login": "bob"}
    assert sign_in(**both).token == "hg_env"
    by_flag = sign_in(**both, flags=frozenset({"login"}))
    assert (by_flag.login, by_flag.token) == ("bob", None)


def test_the_token_of_a_profile_goes_to_no_other_server() -> None:
    kept()
    for url in ("https://work.evil", "http://work", "https://work:1"):
        elsewhere = sign_in(**{**NOWHERE, "url": url})
        assert (elsewhere.token, elsewhere.login, elsewhere.metalake) == (None, None, None), url
    assert sign_in(**{**NOWHERE, "url": "https://work"}).token == "hg_secret"
    with pytest.raises(Usage, match="different servers"):
        sign_in(**{**NOWHERE, "url": "http://other", "profile": "work"}, flags=frozenset({"url", "profile"}))


def test_a_profile_that_is_not_there_is_named_with_those_that_are() -> None:
    kept()
    with pytest.raises(Usage, match="no profile 'home'") as raised:
        sign_in(**{**NOWHERE, "profile": "home"})
    assert "work" in (raised.value.next or "")
    assert "hg_secret" not in repr(sign_in(**NOWHERE)) + repr(profiles.read())


# -- secrets --------------------------------------------------------------------------------------------------------


def test_a_secret_comes_from_a_file_a_variable_or_a_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text("a,b=c \n")
    monkeypatch.setenv("KEY", "from the environment")
    assert reveal(f"@file:{file}", "key") == "a,b=c "
    assert reveal("@env:KEY", "key") == "from the environment"
    for plain in ("@team", "file:/tmp/x", "env:KEY", "", "a@file:b"):
        assert reveal(plain, "key") == plain
    assert reveal("@@env:KEY", "key") == "@env:KEY"
    for wrong in ("@env:NONE", f"@file:{tmp_path}/none", f"@file:{tmp_path}", "@prompt"):
        with pytest.raises(Usage, match="key"):
            reveal(wrong, "key")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with (
        mock.patch.object(sys, "stdin", Terminal()),
        mock.patch("headgate.cli.secret_values.typer.prompt", return_value="typed"),
    ):
        assert reveal("@prompt", "key") == "typed"


# -- the commands ---------------------------------------------------------------------------------------------------

UNSET = {"HEADGATE_URL": "", "HEADGATE_USER": "", "HEADGATE_METALAKE": ""}


@pytest.fixture
def run(api: Api) -> Iterator[Run]:
    govern(api)
    with commands(api) as run:
        yield run


def test_who_signs_in_is_known_to_every_command_until_they_sign_out(
    run: Run, tmp_path: Path, config: Path
) -> None:
    here = {**UNSET, "XDG_CONFIG_HOME": str(tmp_path)}
    assert run("whoami", **here).returncode == 3
    (tmp_path / "p").write_text("secret-of-a-property\n")
    signed = run("login", "--url", "http://headgate", "--login", "ann", "--metalake", "lake", **here)
    assert "signed in as ann" in done(signed)
    assert "customers" in done(run("table", "list", "cat.s", **here))
    who = json.loads(done(run("whoami", "--output", "json", **here)))
    assert (who["user"], who["profile"], who["roles"]) == ("ann", "default", ["reader-ann"])
    assert who["attributes"] == {"region": "EU"}
    assert json.loads(done(run("whoami", "--login", "bob", "--output", "json", **here)))["user"] == "bob"
    before = config.read_text()
    assert run("login", "--url", "ftp://headgate", "--login", "bob", **here).returncode == 2
    assert run("login", "--token", "hg_0_wrong", **here).returncode == 3
    assert run("login", "--url", "http://headgate", **here).returncode == 2, "nobody can be asked for a token"
    assert config.read_text() == before, "what the server did not accept is not kept"
    done(run("logout", **here))
    assert run("table", "list", "cat.s", **here).returncode == 3
    assert run("logout", **here).returncode == 1
    assert "lake" in config.read_text(), "where the server is stays"
    create = (
        "catalog",
        "create",
        "d",
        "--provider",
        "lakehouse-iceberg",
        "--properties",
        f"note=@file:{tmp_path}/p",
    )
    assert "secret-of-a-property" in done(run(*create, "--output", "json"))


def test_a_token_that_stands_elsewhere_is_not_copied_into_the_profile(tmp_path: Path, config: Path) -> None:
    words = ("login", "--url", "http://headgate", "--token", "@env:MY_TOKEN")
    with mock.patch("headgate.cli.session.Session.get", return_value={"user": "ann"}):
        signed = headgate_here(*words, MY_TOKEN="hg_secret", XDG_CONFIG_HOME=str(tmp_path))
    assert "signed in as ann" in done(signed)
    assert "@env:MY_TOKEN" in config.read_text()
    assert "hg_secret" not in config.read_text() + signed.stdout
    with pytest.raises(Usage, match="MY_TOKEN"):
        sign_in(**NOWHERE)
    with mock.patch.dict(os.environ, MY_TOKEN="hg_secret"):
        assert sign_in(**NOWHERE).token == "hg_secret"


def test_a_user_is_shown_with_all_that_the_asker_may_know(run: Run, api: Api) -> None:
    for group in ("inner", "outer"):
        done(run("group", "create", group))
        done(run("role", "create", f"role-{group}"))
        done(run("grant", "role", "--role", f"role-{group}", "--group", group))
    done(run("group", "members", "inner", "--users", "ann"))
    done(run("group", "members", "outer", "--users", "bob", "--groups", "inner"))
    done(run("user", "set", "ann", "--attributes", "team=a,team=b"))
    done(run("user", "set", "ann", "--attributes", r"note=x\,y", "--remove", "region"))
    text = done(run("token", "create", "--user", "ann")).strip()
    whole = json.loads(done(run("user", "details", "ann", "--output", "json")))
    assert whole["attributes"] == {"team": ["a", "b"], "note": "x,y"}
    assert whole["roles"] == ["reader-ann"]
    assert whole["groups"] == [
        {"group": "inner", "roles": ["role-inner"]},
        {"group": "outer", "roles": ["role-outer"]},
    ]
    assert [token["id"] for token in whole["tokens"]] == [text.split("_")[1]]
    assert text.split("_")[2] not in done(run("user", "details", "ann"))
    own = json.loads(done(run("user", "details", "ann", "--output", "json", user="ann")))
    assert ("tokens" in own, own["groups"]) == (False, whole["groups"])
    assert run("user", "details", "ann", user="bob").returncode == 3
    assert run("user", "set", "ann", "--attributes", "region=US", user="ann").returncode == 3
    # Who manages users and no groups looks at users; at groups only where they are in them themselves.
    done(run("user", "create", "mia"))
    done(run("role", "create", "people"))
    done(
        run("grant", "privilege", "--role", "people", "--privilege", "manage_users", "--on", "metalake:lake")
    )
    done(run("grant", "role", "--role", "people", "--user", "mia"))
    assert json.loads(done(run("user", "details", "ann", "--output", "json", user="mia")))["groups"] == []
    done(run("group", "members", "outer", "--users", "bob,mia", "--groups", "inner"))
    seen = json.loads(done(run("user", "details", "ann", "--output", "json", user="mia")))["groups"]
    assert seen == [], "that ann is in it by way of inner is not hers to know"


def test_who_is_no_user_of_a_metalake_does_not_learn_whether_there_is_one(run: Run) -> None:
    for metalake in ("lake", "nothing"):
        who = json.loads(done(run("whoami", "--output", "json", user="zoe", HEADGATE_METALAKE=metalake)))
        assert (who["user of it"], "roles" in who) == (False, False)
        assert who["service admin"] is False


def test_login_without_a_server_says_what_is_wrong(tmp_path: Path) -> None:
    result = headgate_here(
        "login", "--url", "http://127.0.0.1:1", "--login", "ann", XDG_CONFIG_HOME=str(tmp_path)
    )
    assert result.returncode == 1
    assert "does not answer" in result.stderr
    assert not (tmp_path / "headgate").exists()
