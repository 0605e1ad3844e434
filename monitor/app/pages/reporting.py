"""`monitor report`: a report of a store, for one model."""

from monitor.app.clocks import system_clock
from monitor.app.pages.reading import StoreData
from monitor.app.wiring import App
from monitor.pages.report import report, report_rows


def written(
    app: App, form: str, *, model: str, window: str | None, end: int | None, as_of: int | None
) -> str:
    """Text of a report: "html", or "json" of the rows behind it.

    Raises
    ------
    AddressError
        see `pages.report`.
    """
    app.spec(model)  # refuses a model that there is not, in the words of all commands
    made = report if form == "html" else report_rows
    return made(StoreData(app, system_clock), model, window, end, as_of)
