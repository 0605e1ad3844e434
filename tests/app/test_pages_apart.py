"""Pages of the daemon come from a process of its own."""

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.page_process import PageProcess
from monitor.app.pages.store_data import StoreData
from monitor.core.clock import from_iso

START, NOW = from_iso("2024-03-01"), from_iso("2024-03-02")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sqlite_bench(tmp_path, predictions(40, START, NOW), model(), labelled=NOW)


def test_pages_are_those_of_view_from_one_process_by_the_configuration_in_use_or_from_another(
    bench: Bench,
) -> None:
    with bench.app() as app:
        apart, here = PageProcess(app, lambda: NOW), KeptPages(StoreData(app, lambda: NOW))
        assert not any(one.name == "pages" for one in multiprocessing.active_children())

        pages = [apart.answer_page("/models/late", "", ""), apart.answer_page("/models/late.json", "", "")]
        assert pages == [
            here.answer_page("/models/late", "", ""),
            here.answer_page("/models/late.json", "", ""),
        ]
        assert apart.answer_page("/models/late", "", pages[0].headers["ETag"]).status == 304
        assert apart.answer_page("/models/other", "", "").status == 404

        (spec,) = app.settings.models
        app.settings = replace(app.settings, models=(spec, spec.with_keys(name="other")))
        assert apart.answer_page("/models/other", "", "").status == 200

        for process in multiprocessing.active_children():
            if process.name == "pages":
                process.kill()
                process.join()
        lost = apart.answer_page("/", "", "")
        again = apart.answer_page("/", "", "")

    assert (lost.status, again.status) == (503, 200)
    assert b"the next page starts another" in lost.body
