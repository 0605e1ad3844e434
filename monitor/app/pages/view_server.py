"""`monitor view`: the pages of a store, without cycles and without a source."""

import signal
import threading
from dataclasses import replace

from monitor.app.application import App
from monitor.app.clocks import system_clock
from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.show.terminal_words import say_line
from monitor.web.guard import allowed_page_hosts
from monitor.web.server import ThreadedServer, make_app
from monitor.web.server_files import make_certificate_reloader, make_secrets_reloader


def view_pages(app: App, host: str | None, port: int | None) -> int:
    """Serve pages until SIGTERM or SIGINT; return the exit code.

    Parameters
    ----------
    host, port
        None: those of the configuration.
    """
    http_spec = app.settings.http
    http = replace(http_spec, host=host or http_spec.host, port=http_spec.port if port is None else port)
    web = make_app(
        None,
        healthy=lambda: None,
        ready=lambda: None,
        secrets=make_secrets_reloader(http, app.base),
        pages=KeptPages(StoreData(app, system_clock, probes=False)),
        hosts=allowed_page_hosts(http),
    )
    server = ThreadedServer(
        web, host=http.host, port=http.port, tls=make_certificate_reloader(http, app.base)
    )
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: ended.set())
    server.start_serving()
    scheme = "http" if http.tls_certificate is None else "https"
    say_line(f"look at {scheme}://{http.host}:{server.port}/ (Ctrl-C ends)", err=True)
    ended.wait()
    server.stop_serving()
    return 0
