"""The report of a model: the same templates as the pages, in one file without script, links and requests."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace

from monitor.core.clock import to_iso
from monitor.core.errors import AddressError
from monitor.measures.rows import newest
from monitor.pages.alerts import alert_list
from monitor.pages.asked import Asked, PageData
from monitor.pages.model import overview, spec_of
from monitor.pages.moments import called
from monitor.pages.rendering import asset, rendered, sheet_markup
from monitor.pages.routes import frame
from monitor.pages.window.page import window_page
from monitor.show.plain import as_json
from monitor.specs.rows import Drawn
from monitor.windows.ends import Window

_FAR = 1 << 62


def report(data: PageData, model: str, window: str | None, end: int | None, as_of: int | None) -> str:
    """HTML of a report; the same store and the same moment give the same bytes.

    Parameters
    ----------
    window, end
        the period that it is about; None: that of the model's rules, the newest one that was measured.
    as_of
        None: the model's last cycle.

    Raises
    ------
    AddressError
        if there is no such model or window, or none that ended then was measured.
    """
    asked, of, last = _period(data, model, window, end, as_of)
    part = Asked(("models", model), {**asked, "window": of.name})
    counted = {"window": of.name, "end": to_iso(last)}
    if as_of is not None:
        counted |= asked
    parts = {
        "overview": overview(data, part, model),
        "window": window_page(data, Asked(("models", model, "performance"), counted), model),
        "alerts": alert_list(data, Asked(("models", model, "alerts"), asked), model),
    }
    around = frame(data, part, (model,))
    digest = b64encode(hashlib.sha256(asset("pages.css")).digest()).decode()
    return rendered(
        "report",
        parts=parts,
        frame=replace(
            around, title=f"{model}, {called(of, last)}", banner="", json="", tabs=(), crumbs=(), report=True
        ),
        link=part.link,
        sheet=sheet_markup(),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
    )


def report_rows(data: PageData, model: str, window: str | None, end: int | None, as_of: int | None) -> str:
    """Rows of the period of a report, as `monitor show --format json` prints them."""
    asked, of, last = _period(data, model, window, end, as_of)
    moment = Asked((), asked).as_of
    rows = data.rows(model, Drawn(window=of.name, after=last - 1, until=last, as_of=moment, details=True))
    return as_json([(model, kept, row) for kept, row in newest(rows)])


def _period(
    data: PageData, model: str, window: str | None, end: int | None, as_of: int | None
) -> tuple[Mapping[str, str], Window, int]:
    """Moment, window and end of a report."""
    spec = spec_of(data, model)
    (seen,) = data.seen(model, as_of)
    if seen.as_of is None:
        raise AddressError(f'model "{model}": no cycle has run yet, so there is nothing to report', 404)
    moment = seen.as_of if as_of is None else as_of
    names = [each.name for each in spec.windows]
    name = Asked((), {"window": window} if window else {}).choice("window", names, seen.window)
    of = next(each for each in spec.windows if each.name == name)
    until = _FAR if end is None else end
    which = Drawn(window=name, after=0, until=until, measures=("records",), subjects=("",), as_of=moment)
    rows = data.rows(model, which)
    ends = [row.window_end for _, row in rows]
    if not ends or (end is not None and end not in ends):
        given = "" if end is None else f" that ends {to_iso(end)}"
        raise AddressError(
            f'model "{model}": no window {name}{given} was measured as of {to_iso(moment)}', 404
        )
    return {"as_of": to_iso(moment)}, of, end or max(ends)
