"""Commands against the whole server in this process: the same requests and answers, without a port between them."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any
from unittest import mock

import httpx

from tests.conftest import Api
from tests.real.server import Result, headgate_here

Run = Callable[..., Result]


@contextmanager
def commands(api: Api) -> Iterator[Run]:
    """`run("policy", "list", user="ann")` in the metalake `lake`; variables of the environment are given by name."""

    def request(method: str, url: str, **more: Any) -> httpx.Response:
        auth = more.pop("auth", None)
        if auth is not None:
            more["headers"] = {**more["headers"], "Authorization": auth._auth_header}
        with redirect_stdout(io.StringIO()):
            # What the server logs is no answer of the command.
            return api(None, method, url, **more)

    def run(*words: str, user: str = "admin", **env: str) -> Result:
        given = {"HEADGATE_URL": "http://headgate", "HEADGATE_METALAKE": "lake", "HEADGATE_USER": user}
        with mock.patch.object(httpx, "request", request):
            return headgate_here(*words, **{**given, **env})

    yield run


def done(result: Result) -> str:
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout
