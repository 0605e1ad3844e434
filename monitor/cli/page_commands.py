"""Commands that show pages: `view` serves them, `report` writes one."""

import sys
from pathlib import Path
from typing import Any

import click

from monitor.cli import command_options
from monitor.cli.command_options import MomentType, exit_on_error, read_settings
from monitor.show.terminal_words import say_line


@click.command()
@command_options.config
@command_options.run
@click.option("--host", help="Address to listen on. Default: that of the configuration.")
@click.option(
    "--port", type=int, help="Port to listen on, 0 for a free one. Default: that of the configuration."
)
@exit_on_error
def view(path: Path, run_name: str, host: str | None, port: int | None) -> None:
    """Show the pages of a store in the browser.

    It runs no cycle and opens no source.
    """
    from monitor.app.application import open_application_readonly
    from monitor.app.pages.view_server import view_pages as serve_pages

    with open_application_readonly(read_settings(path, outside=False), path.parent, run_name) as app:
        sys.exit(serve_pages(app, host, port))


@click.command()
@command_options.config
@click.option("--model", required=True, help="Name of the model.")
@command_options.run
@click.option("--window", help="Window as configured: 7d, month, quarter.")
@click.option(
    "--end", type=MomentType(), help="Which window: the moment it ends, exclusive. Default: the newest."
)
@click.option("--period", help="Any year, quarter, month or week instead: 2026, 2026-Q3, 2026-09, 2026-W37.")
@click.option("--from", "first", type=MomentType(), help="Any days instead: the first.")
@click.option("--to", "last", type=MomentType(), help="The day after the last of any days.")
@click.option("--as-of", type=MomentType(), help="What was known at that time.")
@click.option(
    "--format", "form", type=click.Choice(["html", "json"]), help="Default: json for FILE.json, else html."
)
@click.option(
    "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="File to write."
)
@exit_on_error
def report(
    path: Path, run_name: str, output: Path, form: str | None, model: str, as_of: int | None, **asked: Any
) -> None:
    """Write a report of a model, as one file.

    It is for people who do not reach the pages, and prints to A4: two pages to sign, then details.
    """
    from monitor.app.application import open_application_readonly
    from monitor.app.clocks import system_clock
    from monitor.app.pages.store_data import StoreData
    from monitor.pages.model_report import render_report_html, report_rows_json
    from monitor.pages.report_periods import AskedPeriod

    form = form or ("json" if output.suffix.lower() == ".json" else "html")
    render = render_report_html if form == "html" else report_rows_json
    with open_application_readonly(read_settings(path, outside=False), path.parent, run_name) as app:
        app.find_spec(model)  # refuses a model that there is not, in the words of all commands
        text = render(StoreData(app, system_clock), model, AskedPeriod(**asked), as_of)
    output.write_text(text, encoding="utf-8")
    say_line(f"{output}: {len(text.encode()):,} bytes")
