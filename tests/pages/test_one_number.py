"""One number, one place: whatever shows a figure of a model, it is that of its summary."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner
from looked_at import END, NOW, OPTIONS, START, Looked, Pages, looking
from serving import Bench, Database, model, predictions, sqlite_bench

from monitor.cli import main
from monitor.core.clock import DAY, from_iso, to_iso

FIGURES = ("performance", "inputs", "labels", "records")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Two models that share a feature, which is missing on the last day; labels take three weeks."""
    rows = predictions(1_600, START, END)
    broken = to_iso(END - DAY)
    rows = [row | {"amount": None} if row["event_time"] >= broken else row for row in rows]
    models = [model(name, options=OPTIONS) for name in ("late", "other")]
    bench = sqlite_bench(tmp_path_factory.mktemp("faulty"), rows, *models, labelled=END - 21 * DAY)
    with bench.app() as app:
        from monitor.app.model_cycles import run_single_cycle

        for name in ("late", "other"):
            for day in range(4, (END - START) // DAY + 1, 4):
                assert run_single_cycle(app, name, START + day * DAY).error is None
    return bench


@pytest.fixture(scope="module")
def thirteen(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Thirteen models: eleven lose a feature on one day, one reads a log that ends, one is calm."""
    rows = predictions(1_600, START, END)
    broken = to_iso(END - DAY)
    faults = {
        "shared": [row | {"amount": None} if row["event_time"] >= broken else row for row in rows],
        "calm": rows,
        "ends": [row for row in rows if row["event_time"] < to_iso(END - 3 * DAY)],
    }
    names = {f"shared-{at:02}": "shared" for at in range(11)} | {"calm": "calm", "ends": "ends"}
    directory = tmp_path_factory.mktemp("thirteen")
    benches = {}
    for log, kept in faults.items():
        (directory / log).mkdir()
        benches[log] = sqlite_bench(directory / log, kept, labelled=END - DAY)
    first = benches["shared"]
    sources = "".join(f'[sources.{log}]\nurl = "{bench.database.url}"\n' for log, bench in benches.items())
    models = [
        model(name, options=OPTIONS).replace('source = "log"', f'source = "{log}"')
        for name, log in names.items()
    ]
    first.configure(sources, *models)
    with first.app() as app:
        from monitor.app.model_cycles import run_single_cycle

        for name in names:
            for day in range(5, (END - START) // DAY + 1, 5):
                assert run_single_cycle(app, name, START + day * DAY).error is None
    return first


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The demo's ten months."""
    directory = tmp_path_factory.mktemp("flights")
    done = CliRunner().invoke(main, ["demo", "--directory", str(directory), "--exit"])
    assert done.exit_code == 0, done.stderr
    return Bench(
        directory, Database(f"sqlite:///{directory}/flights.db"), f"sqlite:///{directory}/monitor.db"
    )


@dataclass(frozen=True, slots=True)
class Store:
    """A store, its pages at a moment, and what that moment is in a command and in an address."""

    bench: Bench
    pages: Pages
    asked: tuple[str, ...]
    query: str

    def status(self) -> list[dict[str, Any]]:
        """What `monitor status` says of each model, as JSON."""
        said: list[dict[str, Any]] = json.loads(
            self.bench.monitor("status", *self.asked, "--format", "json").stdout
        )
        return said

    def page(self, address: str) -> Looked:
        """A page as of the moment."""
        own = f"&{self.query[1:]}" if "?" in address and self.query else self.query
        return self.pages.at(f"{address}{own}")


STORES = (
    *("bench", "tasks", "faulty", "past"),
    pytest.param("thirteen", marks=pytest.mark.slow),
    pytest.param("flights", marks=pytest.mark.long),
)
MOMENTS = {"tasks": NOW, "flights": from_iso("2014-01-01")}


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store, its pages, and the moment that they are asked about."""
    past = request.param == "past"
    bench: Bench = request.getfixturevalue("bench" if past else request.param)
    now = MOMENTS.get(request.param, END)
    moment = to_iso(END - 15 * DAY) if past else to_iso(now)
    with looking(bench, now) as pages:
        yield Store(bench, pages, ("--as-of", moment), f"?as_of={moment}" if past else "")


def cells_of_fleet(text: str) -> dict[str, dict[str, str]]:
    """By model the words of the cells of its figures."""
    found = {}
    for row in re.findall(r'<tr data-state="\w+">.*?</tr>', text, re.DOTALL):
        name = re.search(r'class="model"[^>]*>([^<]*)<', row)
        cells = [
            " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
            for cell in re.findall(r'<td class="num.*?</td>', row, re.DOTALL)
        ]
        assert name is not None
        found[html.unescape(name[1])] = dict(zip(FIGURES, cells, strict=True))
    return found


def tiles_of_model(text: str) -> list[str]:
    """Words of the four tiles."""
    tiles = re.findall(r'<a class="tile".*?</a>', text, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", tile)).split()) for tile in tiles]


def test_each_figure_is_the_same_on_fleet_tile_tab_and_status(store: Store) -> None:
    status = store.status()
    fleet = cells_of_fleet(store.page("/").text)

    assert set(fleet) == {one["model"] for one in status}
    for one in status:
        figures = dict(zip(FIGURES, one["figures"], strict=True))
        page = store.page(f"/models/{one['model']}")
        text = store.bench.monitor("status", "--model", one["model"], *store.asked).stdout
        words, said = " ".join(text.split()), tiles_of_model(page.text)
        for (name, figure), tile in zip(figures.items(), said, strict=True):
            value = figure["value"] or "–"
            assert tile.startswith(" · ".join(filter(None, (figure["title"], figure["days"])))), name
            assert f" {value}" in f" {tile}", name
            assert figure["note"] in tile
            assert f"{figure['title']} {figure['value']}".strip() in words
            if name != "records" or value == "–":
                assert fleet[one["model"]][name].startswith(value), name
            else:
                assert fleet[one["model"]][name].endswith(value)
        count = re.search(r">Inputs<span class=\"count[^>]*>(\d+)<", page.text)
        assert int(figures["inputs"]["value"] or 0) == (0 if count is None else int(count[1]))
        features = {each["subject"] for each in one["changed"] if each["incident"]}
        assert int(figures["inputs"]["value"] or 0) == len({of for of in features if "feature:" in of})


def test_the_count_of_open_incidents_is_that_of_status(store: Store) -> None:
    status = store.status()

    for one in status:
        page = store.page(f"/models/{one['model']}")
        count = re.search(r">Alerts<span class=\"count[^>]*>(\d+)<", page.text)
        firing = [each for each in one["incidents"] if not each["recovering"]]
        assert (0 if count is None else int(count[1])) == len(firing)


def test_a_fault_that_fires_is_the_first_thing_that_is_seen(faulty: Bench) -> None:
    with looking(faulty, END) as pages:
        fleet, page = pages.at("/").words, pages.at("/models/late")

    assert fleet.count("amount is missing in every record since 9 Apr") == 1, "of both models once"
    assert "2 models · probably one cause" in fleet
    assert page.words.index("amount is missing in every record") < page.words.index("Over time")
    assert "1 of" in tiles_of_model(page.text)[1]


def test_what_is_shown_before_the_first_picture_is_little(faulty: Bench, bench: Bench) -> None:
    for store, name in ((faulty, "late"), (bench, "late"), (bench, "bare")):
        with looking(store, END) as pages:
            text = pages.at(f"/models/{name}").text
        before = text[text.index("<main") : text.index("<h2>Over time")]
        words = " ".join(re.sub(r"<title>.*?</title>|<[^>]+>", " ", before, flags=re.DOTALL).split()).split(
            " "
        )
        assert len(words) <= 170, (name, len(words))


def test_a_window_has_one_value_in_show_and_in_the_table(store: Store) -> None:
    """The newest page what is known now, one of the past what was kept: labels too few to keep it again."""
    for one in store.status():
        asked = store.asked if store.query else ()
        shown = store.bench.monitor("show", "--model", one["model"], *asked, "--format", "json")
        rows = json.loads(shown.stdout or "[]")
        months = [
            row
            for row in rows
            if (row["window"], row["truth"], row["measure"]) == ("month", "settled", "roc_auc")
            and not (row["against"] or row["segment"] or row["version"] or row["subject"])
        ]
        for row in months:
            page = store.page(f"/models/{one['model']}")
            assert re.search(rf"</a></th><td class=\"num\"[^>]*><b>{row['value']:.3f}</b>", page.text)


def test_segments_and_the_feed_say_the_figures_of_the_tiles(store: Store) -> None:
    """All records of the page of segments are the performance; the feed says the tile's records."""
    seen = 0
    for one in store.status():
        performance, _, labels, records = one["figures"]
        segments = store.page(f"/models/{one['model']}/segments").text
        whole = re.search(r"all records</a></th>.*?<b>([^<]*)</b>", segments, re.DOTALL)
        if whole is not None and performance["value"] and "Estimated" not in performance["note"]:
            assert html.unescape(whole[1]) == performance["value"]
            seen += 1
        feed = store.page(f"/models/{one['model']}/log")
        title = re.search(r"<h1>(.*?)</h1>", feed.text)
        assert title is not None
        kinds = {each["kind"] for each in one["incidents"] if not each["recovering"]}
        if kinds & {"records", "labels"}:
            assert html.unescape(title[1]) in [each["headline"] for each in one["incidents"]]
            seen += 1
        elif records["value"]:
            said = f"{records['value']}{'' if records['beside'] else ' records'}"
            assert re.match(rf"(Records [^:]*: )?{said}( on|,) {records['days']}", title[1])
            late = re.search(r"90 % (?:of the labels take )?([\d.]+ \w+)", labels["note"])
            assert late is None or f"90 % of labels within {late[1]}" in title[1]
            seen += 1
    assert seen


def test_a_value_is_the_same_in_the_list_of_measures_and_on_its_own_page(store: Store) -> None:
    pages = store.pages
    name = "flight" if "animal" in pages.at("/").words else store.status()[0]["model"]
    page = store.page(f"/models/{name}/measures?q=roc_auc")
    cells = re.findall(
        r'<a href="([^"]*/measures/roc_auc\?[^"]*)">roc_auc</a></th><td>([^<]*)</td>'
        r'<td class="num"><b>([^<]*)</b>.*?hidesm">(final)?', page.text
    )  # fmt: skip
    final = [(html.unescape(href), of, value) for href, of, value, state in cells if state]

    for href, of, value in final:
        title = re.search(r"<h1>(.*?)</h1>", pages.at(href).text)
        assert title is not None
        assert f": {html.unescape(value)}, " in html.unescape(title[1]), of
    assert final or store.query or name == "ends"
