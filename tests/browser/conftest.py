"""A headless Chromium and a live server with static files; skipped where there is no Chromium."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

sync_api = pytest.importorskip("playwright.sync_api")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]
PASSWORD = "a pass phrase for tests"


# Both last for a module: an event loop that still runs in this thread would break what other tests await.
@pytest.fixture(scope="module", autouse=True)
def django_in_this_thread() -> Iterator[None]:
    """Playwright's synchronous door runs an event loop in this thread; Django would refuse to work beside it."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    else:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for a module."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, live_server: Any) -> Iterator[Any]:
    """A fresh window. A complaint on its console (a blocked style or script among them) fails the test."""
    context = browser.new_context(
        base_url=live_server.url, viewport={"width": 1280, "height": 900}, timezone_id="UTC"
    )
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
    opened.on("pageerror", lambda raised: complaints.append(str(raised)))
    opened.set_default_timeout(15_000)
    opened.click = _until_loaded(opened)
    yield opened
    context.close()
    assert complaints == []


def _until_loaded(page: Any) -> Callable[..., None]:
    """A click that waits for the page it leads to: its own wait ends while that is still being read."""
    plain = page.click

    def click(*given: Any, **named: Any) -> None:
        plain(*given, **named)
        page.wait_for_load_state()

    return click


def _is_complaint(said: Any) -> bool:
    """An error on the console, except the icon that every browser asks for by itself."""
    return said.type == "error" and not said.location.get("url", "").endswith("/favicon.ico")


@pytest.fixture
def log_in(page: Any) -> Callable[[str], Any]:
    """Make a superuser of this name and log in as such through the form; returns the window."""

    def as_officer(name: str) -> Any:
        User.objects.create_superuser(name, password=PASSWORD)
        page.goto("/admin/")
        page.fill("#id_username", name)
        page.fill("#id_password", PASSWORD)
        page.click("input[type=submit]")
        page.wait_for_selector("#user-tools")
        return page

    return as_officer


@pytest.fixture
def picture(page: Any) -> Callable[[str], None]:
    """Keep a screenshot of the whole page in `HUBQUEUE_SCREENSHOTS`, when that names a directory."""

    def keep(name: str) -> None:
        directory = os.environ.get("HUBQUEUE_SCREENSHOTS")
        if directory:
            page.screenshot(path=str(Path(directory) / f"{name}.png"), full_page=True)

    return keep
