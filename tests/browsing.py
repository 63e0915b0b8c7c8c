"""A real browser for tests of pages. Where there is none, the tests say so loudly."""

import shutil

import pytest

from waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A machine without a network: nothing but our own server is asked for anything.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


# Of a module, not of the session: while playwright runs, its event loop is this thread's, and other tests need theirs.
@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("*** NO CHROMIUM: the tests of the pages are SKIPPED (Debian: apt-get install chromium) ***")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        new_context = started.new_context

        def new_patient_context(**options):
            context = new_context(**options)
            context.set_default_timeout(PATIENCE * 1000)  # half a minute is not enough where everything waits
            context.set_default_navigation_timeout(PATIENCE * 1000)
            return context

        started.new_context = new_patient_context
        started.new_page = lambda **options: new_patient_context(**options).new_page()
        yield started
        started.close()
