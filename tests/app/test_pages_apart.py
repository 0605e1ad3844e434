"""Pages of the daemon come from a process of its own."""

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.pages.apart import PagesApart
from monitor.app.pages.keeping import KeptPages
from monitor.app.pages.reading import StoreData
from monitor.core.clock import from_iso

START, NOW = from_iso("2024-03-01"), from_iso("2024-03-02")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sqlite_bench(tmp_path, predictions(40, START, NOW), model(), labelled=NOW)


def test_pages_are_those_of_view_from_one_process_by_the_configuration_in_use_or_from_another(
    bench: Bench,
) -> None:
    with bench.app() as app:
        apart, here = PagesApart(app, lambda: NOW), KeptPages(StoreData(app, lambda: NOW))
        assert not any(one.name == "pages" for one in multiprocessing.active_children())

        pages = [apart.answer("/models/late", "", ""), apart.answer("/models/late.json", "", "")]
        assert pages == [here.answer("/models/late", "", ""), here.answer("/models/late.json", "", "")]
        assert apart.answer("/models/late", "", pages[0].headers["ETag"]).status == 304
        assert apart.answer("/models/other", "", "").status == 404

        (spec,) = app.settings.models
        app.settings = replace(app.settings, models=(spec, replace(spec, name="other")))
        assert apart.answer("/models/other", "", "").status == 200

        for process in multiprocessing.active_children():
            if process.name == "pages":
                process.kill()
                process.join()
        lost = apart.answer("/", "", "")
        again = apart.answer("/", "", "")

    assert (lost.status, again.status) == (503, 200)
    assert b"the next page starts another" in lost.body
