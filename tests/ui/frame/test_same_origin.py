"""Test which sites may show the app in a frame; test_browser.py asks a real server, and lets a browser try it."""

import asyncio

import pytest
from streamlit import config

from explorer.ui.frame.server import SameOrigin

SETTINGS = {"server.allowedHosts": ["127.0.0.1"], "server.enableCORS": True, "server.corsAllowedOrigins": []}


@pytest.fixture
def settings(monkeypatch):
    stated = dict(SETTINGS)
    monkeypatch.setattr(config, "get_option", stated.__getitem__)
    return stated


def answered(host="127.0.0.1:8501"):
    """Status and headers of an answer; the app below would let every site show it."""
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOWALL")]})

    async def send(message):
        sent.append(message)

    asyncio.run(SameOrigin(app)({"type": "http", "headers": [(b"host", host.encode())]}, None, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1:8501", 200), ("evil.example", 403)])
def test_no_other_site_may_show_an_answer_in_a_frame(settings, host, status):
    code, headers = answered(host)
    assert code == status
    assert headers[b"content-security-policy"] == b"frame-ancestors 'self'"
    assert headers[b"x-frame-options"] == b"SAMEORIGIN"


def test_a_site_that_the_settings_name_may(settings):
    settings["server.corsAllowedOrigins"] = ["https://portal.example"]
    _, headers = answered()
    assert headers[b"content-security-policy"] == b"frame-ancestors 'self' https://portal.example"
