"""`monitor report`: a report of a store, for one model."""

from monitor.app.application import App
from monitor.app.clocks import system_clock
from monitor.app.pages.store_data import StoreData
from monitor.pages.model_report import render_report_html, report_rows_json


def render_report(
    app: App, form: str, *, model: str, window: str | None, end: int | None, as_of: int | None
) -> str:
    """Text of a report: "html", or "json" of the rows behind it.

    Raises
    ------
    AddressError
        see `pages.report`.
    """
    app.find_spec(model)  # refuses a model that there is not, in the words of all commands
    made = render_report_html if form == "html" else report_rows_json
    return made(StoreData(app, system_clock), model, window, end, as_of)
