"""What features do to the score: learnt once with the reference, kept, and told of a change."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from serving import Bench, Row, bench_in, create_tables, model, predictions

from monitor.app.application import App
from monitor.app.model_cycles import replay_model
from monitor.core.change import Change, ChangeEffect
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.errors import SourceError
from monitor.records.effect_table import NO_EFFECTS, EffectTable, pack_effects
from monitor.records.reference import Reference
from monitor.store.store_connections import make_store_engine

START, CHANGE, END = from_iso("2024-03-10"), from_iso("2024-04-06"), from_iso("2024-04-09")
OPTIONS = (
    'every = "1d"\npane = "1d"\nwindows = [{ length = "1d", step = "1d" }, { length = "7d", step = "1d" }]\n'
    'horizon = "60d"\nresamples = 20\nreading = { ready_after = "0s" }'
)


def scored(rows: Sequence[Row]) -> list[Row]:
    """The rows with a score that follows from the amount, and from the group."""
    groups = {"a": 0.05, "b": 0.0, "c": -0.05}
    score = [0.5 + 0.005 * (row["amount"] - 100) + groups[row["group"]] for row in rows]
    clipped = np.clip(score, 0.0, 1.0).round(4).tolist()
    return [
        row | {"score": each, "pred": str(int(each >= 0.5))} for row, each in zip(rows, clipped, strict=True)
    ]


def log() -> list[Row]:
    """Thirty days of a hundred; in the last three amounts are 15 larger."""
    rows = predictions(3_000, START, END)
    moved = to_iso(CHANGE)
    return scored([row | {"amount": row["amount"] + 15 * (str(row["event_time"]) >= moved)} for row in rows])


def bench_of(directory: Path, options: str = OPTIONS) -> Bench:
    """A log, a reference of its kind, and one model without labels."""
    directory.mkdir(exist_ok=True)
    bench = bench_in(directory)
    create_tables(bench.database)
    bench.database.run("DELETE FROM reference")
    kept = ("score", "pred", "amount", "group")
    rows = [{name: row[name] for name in kept} for row in scored(predictions(3_000, 0, 3_000, prefix="r"))]
    bench.database.insert("reference", [row | {"late": int(float(str(row["score"])) > 0.5)} for row in rows])
    bench.database.insert("predictions", log())
    bench.configure(model(options=options))
    return bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_of(tmp_path)


def reference_in(app: App) -> Reference:
    reference = app.find_cycle_model("late").reference
    assert reference is not None
    return reference


def run_sql(bench: Bench, statement: str) -> list[tuple[object, ...]]:
    engine = make_store_engine(bench.store_url)
    with engine.begin() as connection:
        result = connection.execute(sa.text(statement))
        rows = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


def refuse(*_: object) -> EffectTable:
    raise AssertionError("effects are learnt again")


def test_effects_are_learnt_once_and_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench.app() as app:
        first = reference_in(app).effects
    monkeypatch.setattr("monitor.records.reference.fit_effect_table", refuse)
    with bench.app() as app:
        second = reference_in(app).effects

    assert first is not None
    assert second is not None
    assert first.r2 > 0.9
    assert pack_effects(first) == pack_effects(second)


def test_another_process_that_was_first_is_believed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench.app() as one:
        kept = reference_in(one).effects
        monkeypatch.setattr(one.store.references.__class__, "read_reference", lambda *_: None)
        with bench.app() as other:
            learnt = reference_in(other)
            assert learnt.effects is not None
    monkeypatch.undo()
    with bench.app() as app:
        spec = app.find_spec("late")
        (key,) = app.store.references.list_reference_keys("late")
        another = replace(reference_in(app), effects=NO_EFFECTS)

        app.store.references.save_reference(key, spec.name, another)

        again = app.store.references.read_reference(key)
        assert kept is not None
        assert again is not None
        assert again.effects is not None
        assert pack_effects(again.effects) == pack_effects(kept)


def test_without_them_nothing_is_fitted_and_nothing_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_of(tmp_path, f"{OPTIONS}\neffects = false")
    monkeypatch.setattr("monitor.records.reference.fit_effect_table", refuse)

    cycled = bench.cycle(END)

    assert cycled.error is None
    assert run_sql(bench, "SELECT effects FROM references_") == [(None,)]
    assert not [key for key in cycled.measured if key[2] == "score_move"]


def test_an_older_reference_is_looked_at_again_while_its_rows_are_the_same(
    bench: Bench,
) -> None:
    with bench.app() as app:
        before = reference_in(app).effects
    run_sql(bench, "UPDATE references_ SET effects = NULL")
    with bench.app() as app:
        again = reference_in(app).effects
    run_sql(bench, "UPDATE references_ SET effects = NULL")
    bench.database.run("DELETE FROM reference WHERE amount > 100")
    with bench.app() as app:
        other = reference_in(app).effects

    assert before is not None
    assert again is not None
    assert pack_effects(again) == pack_effects(before)
    assert other is NO_EFFECTS


def test_a_reference_whose_rows_are_gone_is_used_without_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise SourceError("there is no table")

    with bench.app() as app:
        counted = reference_in(app)
    run_sql(bench, "UPDATE references_ SET effects = NULL")
    monkeypatch.setattr("monitor.app.application.load_reference", gone)

    with bench.app() as app:
        again = reference_in(app)

    assert again.effects is None
    assert again.records == counted.records
    assert bench.cycle(END).error is None


def test_what_a_changed_feature_does_to_the_score_is_told(bench: Bench) -> None:
    """Amounts are 15 larger, at 0.005 each: by 0.075. After a restart it is said again as it was found."""
    told: list[tuple[ChangeEffect | None, str]] = []
    for start, end in ((START, END - DAY), (END, END)):
        with bench.app() as app:
            assert [report.error for report in replay_model(app, "late", start, end)[1] if report.error] == []
            (change,) = [
                stored.row.measurement.change
                for stored in app.store.current.read_current()
                if stored.row.measure == "evidence" and stored.row.subject == "feature:amount"
            ]
        assert change is not None
        assert Change.from_cells(json.loads(json.dumps(change.cells()))) == change
        words = " ".join(bench.monitor("status").stdout.split())
        told.append((change.effect, ". ".join(words[words.index("The mean score rose") :].split(". ")[:2])))

    effect, sentence = told[0]
    assert told[1] == told[0]
    assert effect is not None
    assert effect.standing == "known"
    assert effect.moved == pytest.approx(0.075, abs=0.03)
    assert abs(effect.own - 0.075) <= effect.own_half_width
    assert re.fullmatch(
        r"The mean score rose by 0.0\d\d since then. By itself amount moves it by about \+0.0\d\d", sentence
    )
