#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job server's page in a browser, before a stand-in whose jobs are attacks, losses that are no numbers, and queues.

usage: tests/serve/page.py
exit 0: all holds; 1: not; 77: there is no Chromium here
"""
import argparse
import contextlib
import json
import subprocess
import sys
import threading
import time

import browser
import stand_in
from described import Description, ask

HEADING = "document.querySelector('h1')?.textContent"
ROWS = "document.querySelectorAll('.jobs tbody tr').length"
FIRST_VALUE = "document.querySelector('.chart output').textContent"


@contextlib.contextmanager
def standing_in(**options):
    given = {"port": 0, "empty": False, "still": False, "plain": False, "slow": False, **options}
    server = stand_in.make(argparse.Namespace(**given))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def page(b, server, hash_="#/", token="operate", **looks):
    """The browser's page, signed in. Whatever its console was told in the end is a failure."""
    b.forget()
    b.look(**looks)
    b.open(f"{server.address}/#token={token}")
    b.wait(f"{HEADING} === 'Jobs'")
    b.run(f"location.hash = '{hash_}'")
    yield b
    b.read(0.1)
    assert not b.complaints, b.complaints


def the_stand_in_answers_as_described(b, server):
    description, cookie = Description(), {"Cookie": "tutti_session=operate"}
    paths = ["/api/v1/version", "/api/v1/jobs"] + [f"/api/v1/jobs/{n}" for n in range(1, 6)]
    paths += [f"/api/v1/jobs/1/series?tag={tag}&points=9" for tag in stand_in.TAGS]
    paths += ["/api/v1/jobs/1/logs?from=-99&limit=50", "/"]
    for path in paths:
        described = path.split("?")[0].replace("/jobs/1", "/jobs/{job}")
        described = "/api/v1/jobs/{job}" if described[:-1] == "/api/v1/jobs/" else described
        difference = description.compare(described, "get", ask(server.address, path, headers=cookie))
        assert not difference, difference


def names_and_causes_stay_text(b, server):
    with page(b, server):
        b.wait(f"{ROWS} === 5")
        assert stand_in.ATTACK in b.run("document.body.textContent")
        assert b.run("document.images.length") == 0 and b.run("document.title") == "Jobs – tutti"
        b.run("location.hash = '#/jobs/3'")
        b.wait("document.body.textContent.includes('<b>on rank 1</b>')")
        assert stand_in.ATTACK in b.run("document.querySelector('h1').textContent") and b.run("document.images.length") == 0
        b.run("location.hash = '#/compare/1,3'")
        b.wait("document.querySelectorAll('.chart canvas').length")
        assert b.run("document.images.length") == 0 and "hit" not in b.run("document.title")


def the_token_leaves_the_address(b, server):
    with page(b, server):
        assert b.run("location.href") == f"{server.address}/#/"
        assert "token" not in json.dumps(b.run("performance.getEntriesByType('resource').map((e) => e.name)"))
        assert not b.run("document.cookie")  # HttpOnly


def a_wrong_token_is_told_and_a_right_one_goes_on(b, server):
    b.forget()
    b.open(f"{server.address}/#/jobs/2")
    for token, words in (("wrong", "This is not the token."), ("read", "lenet with lars")):
        b.wait("!!document.getElementById('token')")
        b.run(f"(document.getElementById('token').value = '{token}', document.querySelector('.sign-in').requestSubmit())")
        b.wait(f"document.body.innerText.includes('{words}')")
    b.wait("!document.querySelector('.buttons button') && document.body.innerText.includes('This token may only read.')")
    b.run("document.querySelector('header .plain').click()")
    b.wait(f"{HEADING} === 'Sign in'")


def curves_and_log_move(b, server):
    with page(b, server, "#/jobs/1"):
        b.wait("document.querySelectorAll('.chart canvas').length")
        first, line = b.run(FIRST_VALUE), b.run("document.querySelector('.log pre').textContent")
        b.wait(f"{FIRST_VALUE} !== '{first}'")
        b.wait(f"document.querySelector('.log pre').textContent.length > {len(line)}")
        assert "Lost rank" in b.run("document.body.textContent")
        assert "A dashed line is a restart" in b.run("document.body.innerText")


def buttons_stop_and_resume(b, server):
    with page(b, server, "#/jobs/1"):
        button = "[...document.querySelectorAll('.buttons button')].find((b) => b.textContent === '%s')"
        state = "document.querySelector('.bar .state').textContent"
        b.wait(f"!!({button % 'Report a hang'})")
        b.run(f"({button % 'Stop'}).click()")
        b.wait(f"{state} === 'stopped' && !!({button % 'Resume'}) && !({button % 'Stop'})")
        b.run(f"({button % 'Resume'}).click()")
        b.wait(f"{state} === 'running'")


def keys_lead_everywhere(b, server):
    focus = "document.activeElement.textContent"
    with page(b, server):
        b.wait(f"{ROWS} === 5")
        b.press("j")
        assert b.run(focus) == "5 resnet"
        b.press("x")
        for key in ("j", "ArrowDown", "j", "j", "k", "j"):
            b.press(key)
        assert b.run(focus) == "1 lenet"
        b.press("x")
        b.press("Enter")
        b.wait("location.hash === '#/jobs/1' && !!document.querySelector('.chart canvas')")
        b.press("/")
        assert b.run("document.activeElement.id") == "filter"
        b.press("3")
        b.press("Escape")
        b.press("Escape")
        b.wait(f"{ROWS} === 5 && {focus} === '1 lenet'")  # where one was
        b.press("c")
        b.wait("location.hash === '#/compare/1,5' && document.querySelectorAll('.chart').length === 4")
        b.press("?")
        assert b.run("document.getElementById('help').open")


def a_filter_shows_lines_with_words(b, server):
    with page(b, server, "#/jobs/2"):
        b.wait("document.querySelector('.log pre').textContent.includes('step    200')")
        b.run("(document.getElementById('filter').value = 'STEP    200', "
              "document.getElementById('filter').dispatchEvent(new Event('input')))")
        assert b.run("document.querySelector('.log pre').textContent").count("\n") == 0
        assert b.run("document.querySelector('.log .note').textContent").startswith("1 of ")


def one_of_eight_pages_holds_the_stream(b, server):
    """A browser opens six connections to a host: streams of their own would leave none to the seventh page."""
    with page(b, server, "#/jobs/1"), contextlib.ExitStack() as pages:
        for _ in range(7):
            pages.enter_context(b.another(f"{server.address}/#/jobs/1"))
            b.wait("document.querySelectorAll('.chart canvas').length", 60)
        b.wait(f"{FIRST_VALUE} !== '{b.run(FIRST_VALUE)}'")  # told by the page that has it
        assert server.streams == {1}, server.streams
        assert not b.complaints, b.complaints


def a_hidden_page_gives_the_stream_up(b, server):
    with page(b, server, "#/jobs/1"):
        b.wait("document.querySelectorAll('.chart canvas').length")
        for hidden, streams in (("true", 0), ("false", 1)):
            b.run(f"(Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}}), "
                  "document.dispatchEvent(new Event('visibilitychange')))")
            end = time.monotonic() + 10
            while server.open_streams != streams:
                assert time.monotonic() < end, f"{server.open_streams} streams of a page with hidden = {hidden}"
                time.sleep(0.1)
        b.wait(f"{FIRST_VALUE} !== '{b.run(FIRST_VALUE)}'")


def a_browser_without_locks_asks(b, server):
    """As one that reaches the server by HTTP from another host: locks belong to secure places."""
    script = b.call("Page.addScriptToEvaluateOnNewDocument", source="delete Navigator.prototype.locks")["identifier"]
    with page(b, server, "#/jobs/1"):
        b.wait("document.querySelectorAll('.chart canvas').length && !navigator.locks")
        b.wait(f"{FIRST_VALUE} !== '{b.run(FIRST_VALUE)}'")
        assert not server.streams, server.streams
    b.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def a_slow_server_is_waited_for(b, server):
    """An answer takes longer than the time between two events: it must not be given up for the next look."""
    del server
    with standing_in(slow=True) as slow, page(b, slow):
        b.wait(f"{ROWS} === 5")
        b.run("location.hash = '#/jobs/1'")
        b.wait("document.querySelectorAll('.chart canvas').length")
        b.run("location.hash = '#/compare/1,2'")
        b.wait("document.querySelectorAll('.chart canvas').length && document.querySelectorAll('tbody tr').length === 2")


def a_lost_server_is_told_and_found_again(b, server):
    """Killed, as a server is, with all its connections; the next one has the same port."""
    port, connection = server.server_address[1], "document.getElementById('connection').textContent"
    server.shutdown()
    server.server_close()
    command = [sys.executable, stand_in.__file__, "--port", str(port)]
    for round_ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()  # it listens
                if round_ == 0:
                    b.forget()
                    b.open(f"{server.address}/#token=operate")
                b.wait(f"{ROWS} === 5 && {connection} === ''")
            finally:
                process.kill()
        if round_ == 0:
            b.wait(f"{connection} === 'not connected'")
    assert b.run(ROWS) == 5  # what was known last stays


def nothing_is_said_in_words(b, server):
    del server
    with standing_in(empty=True) as none, page(b, none):
        b.wait("document.body.innerText.includes('No jobs yet. Submit one: tutti submit')")
    with standing_in(still=True, plain=True) as plain:  # the console says which file is not there
        b.forget()
        b.open(f"{plain.address}/#token=operate")
        b.wait(f"{ROWS} === 5")
        b.run("location.hash = '#/jobs/4'")
        b.wait("document.body.innerText.includes('The job waits for its turn.')")
        b.wait("document.body.innerText.includes('The job has written nothing yet.')")
        b.run("location.hash = '#/jobs/2'")
        b.wait("document.body.innerText.includes('built without dygraphs')")
        b.wait(f"/^0\\.\\d+$/.test({FIRST_VALUE})")  # numbers are there
        b.run("location.hash = '#/jobs/99'")
        b.wait("document.body.innerText.includes('There is no such job.')")


def pages_fit_a_phone(b, server):
    for hash_ in ("#/", "#/jobs/1", "#/compare/1,2,3"):
        with page(b, server, hash_, width=400, height=850, dark=True):
            b.wait(f"document.querySelectorAll('.chart canvas').length || {ROWS} === 5")
            time.sleep(0.3)
            assert b.run("document.documentElement.scrollWidth") <= 400, hash_
            dark = b.run("getComputedStyle(document.body).backgroundColor")
            assert dark == "rgb(21, 24, 29)", dark


TESTS = [the_stand_in_answers_as_described, names_and_causes_stay_text, the_token_leaves_the_address,
         a_wrong_token_is_told_and_a_right_one_goes_on, curves_and_log_move, buttons_stop_and_resume, keys_lead_everywhere,
         a_filter_shows_lines_with_words, one_of_eight_pages_holds_the_stream, a_hidden_page_gives_the_stream_up,
         a_browser_without_locks_asks, a_slow_server_is_waited_for,
         a_lost_server_is_told_and_found_again, nothing_is_said_in_words, pages_fit_a_phone]


def main():
    if not browser.find():
        print("skipped: no browser looks at the page (apt install chromium)")
        return 77
    with browser.Browser() as b:
        for test in TESTS:
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            with standing_in() as server:
                begin = time.monotonic()
                test(b, server)
                print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
