"""`monitor report`: a report of a store, for one model."""

from monitor.app.application import App
from monitor.app.clocks import system_clock
from monitor.app.pages.store_data import StoreData
from monitor.pages.model_report import render_report_html, report_rows_json
from monitor.pages.report_periods import AskedPeriod


def render_report(app: App, form: str, *, model: str, asked: AskedPeriod, as_of: int | None) -> str:
    """Text of a report: "html", or "json" of the rows behind it.

    Raises
    ------
    AddressError
        see `resolve_report_period`.
    """
    app.find_spec(model)  # refuses a model that there is not, in the words of all commands
    made = render_report_html if form == "html" else report_rows_json
    return made(StoreData(app, system_clock), model, asked, as_of)
