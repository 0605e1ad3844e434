"""`monitor view`: the pages of a store, without cycles and without a source."""

import signal
import threading
from dataclasses import replace

from monitor.app.clocks import system_clock
from monitor.app.pages.keeping import KeptPages
from monitor.app.pages.reading import StoreData
from monitor.app.wiring import App
from monitor.show.words import say
from monitor.web.files import certificate, secrets
from monitor.web.guard import own_hosts
from monitor.web.server import Server, make_app


def view(app: App, host: str | None, port: int | None) -> int:
    """Serve pages until SIGTERM or SIGINT; return the exit code.

    Parameters
    ----------
    host, port
        None: those of the configuration.
    """
    given = app.settings.http
    http = replace(given, host=host or given.host, port=given.port if port is None else port)
    web = make_app(
        None,
        healthy=lambda: None,
        ready=lambda: None,
        secrets=secrets(http, app.base),
        pages=KeptPages(StoreData(app, system_clock, probes=False)),
        hosts=own_hosts(http),
    )
    server = Server(web, host=http.host, port=http.port, tls=certificate(http, app.base))
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: ended.set())
    server.start()
    scheme = "http" if http.tls_certificate is None else "https"
    say(f"look at {scheme}://{http.host}:{server.port}/ (Ctrl-C ends)", err=True)
    ended.wait()
    server.stop()
    return 0
