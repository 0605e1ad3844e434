"""Judged days: what is found, how long it stands, what is learned, and that all of it follows from rows."""

import math
import zlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import logs
from watches import BUDGET, MONDAY, READING, counted, counting, day, judged_rows, quiet, rows, run, watch

from monitor.app.pages.charted_days import day_value_and_band
from monitor.core.change import NotJudged
from monitor.core.clock import DAY, from_iso
from monitor.core.errors import CodecError
from monitor.evidence.change_sizes import arcsine_share
from monitor.evidence.day_record import DayRecord, DayValues, pack_day, unpack_day
from monitor.evidence.day_values import day_values
from monitor.evidence.describing import ColumnMean, DayContext, SubjectVerdict, describe_subjects
from monitor.evidence.judging import accept_changes, judge_day
from monitor.evidence.watch import DailyStatistic, make_watch
from monitor.pipeline.sequential.day_rows import subject_rows
from monitor.records.pane import PaneHalf
from monitor.records.reference import make_plain_counting
from monitor.sentences.change_words import judged_subjects_words as judged_sentences
from monitor.windows.strata_folding import fold_strata

NUMBERS = (DailyStatistic.LEVEL, DailyStatistic.SPREAD, DailyStatistic.SKEW, DailyStatistic.SHAPE)


def said(of_day: list[SubjectVerdict], subject: str) -> SubjectVerdict:
    (found,) = [one for one in of_day if one.subject == subject]
    return found


def day_number(date: str | None) -> int | None:
    return None if date is None else from_iso(date) // DAY - MONDAY


def shifted(days: int, first: int, length: int, by: float, seed: int = 3) -> list[DayValues]:
    levels = quiet(days, seed)
    levels[first : first + length] += by
    return [day(at, level) for at, level in enumerate(levels)]


def begins(of_days: list[DayValues]) -> list[int]:
    return [
        one.record.day - MONDAY
        for one in run(watch(), of_days)
        for each in describe_subjects(watch(), one, BUDGET)
        if each.begins
    ]


def test_a_lasting_shift_is_found_once_stands_28_days_and_is_then_what_is_expected() -> None:
    judged = run(watch(), shifted(140, 60, 80, 0.8))

    stands = [one.record.day - MONDAY for one in judged if one.record.since[0] > 0]

    assert stands == list(range(60, 88))
    assert judged[-1].expectation.level[0] == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize(("level", "what"), [(1.0, "level"), (0.05, "spread")])
def test_a_change_is_told_by_its_level_where_that_suffices_else_by_what_is_most_evident(
    level: float, what: str
) -> None:
    both = watch((DailyStatistic.LEVEL, DailyStatistic.SPREAD))
    levels, spreads = quiet(61, 3), quiet(61, 4) / 4.0
    levels[60], spreads[60] = levels[60] + level, spreads[60] + 1.0

    (*_, newest) = run(
        both, [day(at, *values) for at, values in enumerate(zip(levels, spreads, strict=True))]
    )

    told = said(describe_subjects(both, newest, BUDGET), "feature:width")
    assert (told.begins, told.change.kind) == (True, what)
    assert newest.weighed.large_enough[1] > newest.weighed.large_enough[0]


def test_a_change_that_became_what_is_expected_is_told_apart_from_one_that_went_back() -> None:
    """The one is still there: it must not be said to be over."""

    def usual_since(days: list[DayValues]) -> list[int | None]:
        found = [describe_subjects(watch(), one, BUDGET)[0] for one in run(watch(), days)]
        return [day_number(one.change.usual_since) for one in found]

    assert usual_since(shifted(95, 60, 35, 0.8)) == [*[None] * 88, *[60] * 7]
    assert usual_since(shifted(95, 60, 6, 0.8)) == [None] * 95


def test_a_shift_of_some_days_ends_when_most_of_three_days_are_back() -> None:
    judged = run(watch(), shifted(100, 60, 6, 0.8))

    assert [one.record.day - MONDAY for one in judged if one.record.since[0] > 0] == [*range(60, 67)]


def test_what_is_told_of_a_kept_day_is_what_was_told_of_it_then() -> None:
    judged = run(watch(), shifted(70, 60, 6, 1.8))
    kept = [one.record for one in judged]

    for at in (40, 61, 66):
        for found in describe_subjects(watch(), judged[at], BUDGET):
            if found.change.kind and found.change.averaged_days == 1 and found.change.expected is not None:
                by = watch().position_of(found.subject, found.change.kind, found.change.category)
                assert by is not None
                told = day_value_and_band(watch(), kept[:at], kept[at], by, in_unit=False)
                assert told == pytest.approx((found.change.observed, *found.change.expected), rel=1e-6)


def test_a_day_that_is_not_judged_has_no_share_of_faults_to_draw() -> None:
    judged = [*run(watch(), [day(at, 0.0, invalid=9) for at in range(20)])]
    kept = [one.record for one in judged]
    unusual = judge_day(watch(), kept, day(20, 0.0, invalid=9), budget=BUDGET, unusual=True).record
    by = watch().position_of("feature:width", "invalid", "")

    assert by is not None
    assert day_value_and_band(watch(), kept[:-1], kept[-1], by, in_unit=False) == (0.009, 0.0, 0.009)
    assert day_value_and_band(watch(), kept, unusual, by, in_unit=False) is None


def test_the_second_of_two_shifts_is_found_though_it_is_smaller() -> None:
    days = shifted(120, 60, 7, 1.5)
    second = [day(one.day - MONDAY, float(one.values[0]) + 0.5) for one in days[75:80]]

    assert begins([*days[:75], *second, *days[80:]]) == [60, 75]


def test_what_lies_below_the_smallest_size_is_apparent_and_not_told() -> None:
    judged = run(watch(), shifted(66, 60, 6, 0.25))

    (found, _) = describe_subjects(watch(), judged[-1], BUDGET)

    assert not found.stands
    assert found.evidence < 1 < (found.change.evidence_any_size or 0)
    assert 0.15**2 < found.change.size < 0.3**2


def test_a_judgement_says_what_since_when_how_large_and_how_rare() -> None:
    judged = run(watch(), shifted(66, 60, 6, 0.8))

    found = said(describe_subjects(watch(), judged[62], BUDGET), "feature:width")

    assert (
        found.change.kind,
        found.change.rises,
        day_number(found.change.since),
        found.stands,
        found.begins,
    ) == (
        "level",
        True,
        60,
        True,
        False,
    )
    assert found.change.expected is not None
    assert found.change.expected[0] < 0 < found.change.expected[1] < 0.3 < (found.change.observed or 0)
    assert found.change.size == pytest.approx(judged[62].gathered.size.max() ** 2)
    assert (found.change.chance_months or 0) > 10
    assert found.detectable == pytest.approx(0.09)
    assert found.drifts is None


def test_accepted_changes_are_what_is_expected_after_14_days() -> None:
    days = shifted(120, 60, 60, 0.8)
    judged = run(watch(), days[:64])
    history = [one.record for one in judged]
    history[-1] = accept_changes(watch(), history[-1], ["feature:width"])
    for one in days[64:]:
        history.append(judge_day(watch(), history, one, budget=BUDGET).record)

    surprised = [row.day - MONDAY for row in history[64:] if np.isfinite(row.surprise[0])]

    assert not any(row.since[0] for row in history[63:])
    assert surprised[0] == 60 + 14
    assert accept_changes(watch(), history[-1], ["feature:other"]) == history[-1]


def test_unusual_days_are_judged_by_nobody_and_learned_from_by_nobody() -> None:
    days = shifted(64, 60, 1, 5.0)
    history = [one.record for one in run(watch(), days[:60])]

    unusual = judge_day(
        watch(), history, replace(days[60], hits=days[60].trials), budget=BUDGET, unusual=True
    )
    after = judge_day(watch(), [*history, unusual.record], days[61], budget=BUDGET)
    plain = judge_day(watch(), history, days[61], budget=BUDGET)

    assert not unusual.record.since.any()
    assert np.isnan(unusual.record.learned[0])
    assert after.expectation.level == pytest.approx(plain.expectation.level, abs=1e-3)
    assert {
        one.not_judged for one in describe_subjects(watch(), unusual, BUDGET, DayContext(unusual=True))
    } == {NotJudged.UNUSUAL}


def test_one_far_day_is_learned_from_within_four_deviations() -> None:
    judged = run(watch(), shifted(70, 50, 1, 0.28))

    assert judged[50].record.learned[0] < judged[50].record.values[0]
    assert judged[49].record.learned[0] == judged[49].record.values[0]


def test_a_fault_is_told_of_a_subject_that_learns_still() -> None:
    days = [day(at, 0.0) for at in range(5)]

    judged = run(watch(), [*days, day(5, 0.0, invalid=40)])
    found = said(describe_subjects(watch(), judged[-1], BUDGET), "feature:width")

    assert (found.change.kind, found.stands, found.not_judged) == ("invalid", True, NotJudged.LEARNING)
    assert found.change.observed == pytest.approx(0.04)


def test_a_row_of_the_format_before_is_read_without_deviations() -> None:
    row = run(watch(NUMBERS), [day(at, *quiet(4, at)) for at in range(40)])[-1].record
    blob, series = pack_day(row), len(watch(NUMBERS).series)
    packed = np.frombuffer(zlib.decompress(blob[8:]), np.uint8).reshape(4, -1)
    first = sum(len(getattr(row, one)) for one in ("values", "samples", "hits", "trials", "learned", "away"))
    first += series  # of the surprises
    bare = np.delete(packed, np.s_[first : first + series], axis=1)

    read = unpack_day(b"\x01" + blob[1:8] + zlib.compress(bare.tobytes()), watch(NUMBERS))

    assert np.isfinite(row.deviation).any()
    assert read == replace(row, deviation=np.full(series, np.nan, np.float32))


def test_a_packed_row_is_the_row_and_damaged_bytes_are_refused() -> None:
    judged = run(watch(NUMBERS), [day(at, *quiet(4, at)) for at in range(40)])
    blob = pack_day(judged[-1].record)

    assert unpack_day(blob, watch(NUMBERS)) == judged[-1].record
    for damaged in (b"", blob[:20], blob[:-9], b"\x03" + blob[1:]):
        with pytest.raises(CodecError):
            unpack_day(damaged, watch(NUMBERS))
    with pytest.raises(CodecError):
        unpack_day(blob, watch())


@settings(max_examples=6)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 45), unique=True, max_size=12))
def test_days_are_judged_alike_in_memory_unpacked_and_among_rows_of_other_days(
    seed: int, lacking: list[int]
) -> None:
    of = watch(NUMBERS)
    rng = np.random.default_rng(seed)
    days = [
        day(
            at,
            *rng.normal(0, [0.05, 0.05, 0.05, 0.01]) + (at > 30) * 0.5,
            invalid=int(rng.integers(0, 4)) ** 3,
        )
        for at in range(48)
        if at not in lacking
    ]

    judged = run(of, days)
    kept: list[bytes] = []
    for one in days:
        history = [unpack_day(blob, of) for blob in kept]
        kept.append(pack_day(judge_day(of, history, one, budget=BUDGET).record))
    later = [one.record for one in judged]
    again = [judge_day(of, later, one, budget=BUDGET).record for one in days]

    assert [unpack_day(blob, of) for blob in kept] == [one.record for one in judged] == again


def test_days_before_the_last_56_change_nothing() -> None:
    days = shifted(120, 10, 20, 2.0)
    history = [one.record for one in run(watch(), days)]

    whole, last = (
        judge_day(watch(), some, day(120, 0.0), budget=BUDGET).record for some in (history, history[-56:])
    )

    assert whole == last


def test_constant_and_missing_columns_are_judged_and_their_change_is_found() -> None:
    on = counting()
    tables = [rows(at, 200, width=[None] * 200) for at in range(34)]
    tables += [rows(34, 200, width=[None] * 200, constant=[8.0] * 200), rows(35, 200)]

    judged = judged_rows(tables, on)

    assert not any(one.stands for of_day in judged[:34] for one in of_day)
    assert said(judged[34], "feature:constant").begins
    assert said(judged[35], "feature:width").begins
    assert said(judged[33], "feature:width").not_judged is None  # its missing share is


def test_a_day_without_rows_is_found_in_the_records_and_is_not_healthy() -> None:
    tables = [rows(at, 300) for at in range(30)] + [rows(30, 0)]

    judged = judged_rows(tables, counting())

    assert said(judged[30], "records").begins
    assert said(judged[30], "records").change.observed == 0.0
    assert said(judged[30], "feature:width").not_judged is NotJudged.NO_RECORDS


def test_a_lost_feature_is_told_as_it_was_found_on_a_day_without_rows() -> None:
    tables = [*(rows(at, 300) for at in range(30)), rows(30, 300, width=[None] * 300), rows(31, 0)]

    found, after = (said(judged, "feature:width") for judged in judged_rows(tables, counting())[30:])

    assert (found.begins, found.change.observed, found.change.expected) == (True, 1.0, (0.0, 0.0))
    assert (after.stands, after.change.observed, after.change.expected) == (True, 1.0, (0.0, 0.0))


def test_a_log_in_bursts_has_no_unusual_day_and_its_records_are_too_few_to_be_judged() -> None:
    judged = judged_rows([rows(at, 60 if at % 10 == 0 else 0) for at in range(80)], counting())

    assert [one for of_day in judged for one in of_day if one.begins] == []
    assert said(judged[-1], "records").not_judged is NotJudged.TOO_FEW


def test_a_log_of_weekdays_is_judged_and_a_weekday_without_rows_is_found() -> None:
    judged = judged_rows([rows(at, 0 if at % 7 > 4 or at == 63 else 300) for at in range(64)], counting())

    assert [(at, one.subject) for at, day in enumerate(judged) for one in day if one.begins] == [
        (63, "records")
    ]


def test_fewer_than_20_records_a_day_are_too_few() -> None:
    judged = judged_rows([rows(at, 19) for at in range(40)], counting())

    features = [one for one in judged[-1] if one.subject.startswith("feature:")]
    assert {one.not_judged for one in features} == {NotJudged.TOO_FEW}
    assert said(judged[-1], "records").not_judged is None


def test_20_records_a_day_are_judged_and_nothing_is_told_of_them() -> None:
    judged = judged_rows([rows(at, 20) for at in range(70)], counting())

    assert said(judged[-1], "feature:width").not_judged is None
    assert [one for of_day in judged for one in of_day if one.begins] == []


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ([rows(at, 200, width=[None] * 200) for at in range(30)], ["width: no values, look whether they ar"]),
        ([rows(at, 15) for at in range(30)], ["prediction, color, constant and 1 more: fewer than 20"]),
        ([rows(at, 200) for at in range(5)], ["records, prediction, color and 2 more: fewer than 14 days"]),
    ],
)
def test_what_is_not_judged_is_counted_and_named(tables: list[pa.Table], told: list[str]) -> None:
    newest = judged_rows(tables, counting())[-1]

    count, *why = judged_sentences(
        row for one in newest for row in subject_rows(one, None, end=0, n=200, segmented=False)
    )

    unjudged = sum(one.change.not_judged is not None for one in newest)
    assert unjudged > 0
    some = f"{len(newest) - unjudged} of {len(newest)}" if unjudged else f"all {len(newest)}"
    assert count == f"on the newest day {some} series were checked"
    assert [words.removeprefix("not ")[: len(first)] for words, first in zip(why, told, strict=True)] == told


def test_a_number_without_cells_is_named_too() -> None:
    on = make_plain_counting(READING)
    newest = judged_rows([rows(at, 200) for at in range(30)], on)[-1]

    reasons = {one.subject: one.change.not_judged for one in newest}

    assert reasons == {"records": None, "log": None, "prediction": NotJudged.NOT_FOLLOWED}


@pytest.mark.parametrize(("share", "factor"), [(0.03, 1_000.0), (0.03, -50.0), (0.015, 1e12)])
def test_a_wrong_unit_in_few_numbers_is_a_fault_on_its_first_day(share: float, factor: float) -> None:
    on, rng = counting(), np.random.default_rng(5)
    usual = [rows(at, 400) for at in range(30)]
    widths = rng.normal(size=400) + 4.0 * (rng.random(400) < 0.02)  # extreme ones are none
    wrong = widths.copy()
    wrong[: round(400 * share)] = factor * (2.0 + rng.random(round(400 * share)))

    found = [judged_rows([*usual, rows(30, 400, width=each)], on)[30] for each in (widths, wrong)]

    assert [[one.change.kind for one in many if one.begins] for many in found] == [[], ["beyond"]]
    (told,) = (one for one in found[1] if one.begins)
    assert told.subject == "feature:width"
    assert told.change.observed == pytest.approx(share + 0.015, abs=0.016)


def test_an_unknown_version_repeated_rows_and_late_rows_are_faults_of_the_log() -> None:
    on, usual = counting(), [rows(at, 100) for at in range(30)]
    late = (MONDAY + 30) * 86_400_000_000 + 3_600_000_000
    faulty = {
        "version": [*usual, rows(30, 100, version=["v1"] * 80 + ["v2"] * 20)],
        "late": [*usual, rows(30, 100, logged_at=[late] * 100)],
    }

    assert {
        what: [one.change.kind for one in judged_rows(tables, on)[30] if one.begins]
        for what, tables in faulty.items()
    } == {"version": ["version"], "late": ["late"]}


def test_a_version_is_a_fault_only_beside_known_ones_and_on_its_first_day() -> None:
    """One that takes over is a release: an event tells of it."""
    on = counting()
    usual = counted([rows(at, 100) for at in range(30)], on)
    days = [["v1"] * 80 + ["v2"] * 20, ["v2"] * 100]
    mixed, whole = counted([rows(at, 100, version=names) for at, names in enumerate(days)], on)
    of = make_watch(
        on, PaneHalf.RECORDS, fold_strata(on.layout_of(PaneHalf.RECORDS), [one.strata for one in usual])
    )
    at = [of.subjects[fault.subject] + fault.name for fault in of.faults].index("logversion")

    hits = [
        int(day_values(of, on, part.strata, MONDAY + 30, known).hits[at])
        for part, known in ((mixed, ()), (mixed, ["v2"]), (whole, ()))
    ]

    assert hits == [20, 0, 0]


def test_a_watch_has_another_key_if_its_days_were_others() -> None:
    on = counting()
    parts = counted([rows(0, 50), rows(1, 50)], on)

    keys = [make_watch(on, PaneHalf.RECORDS, strata).key for strata in ({}, *(part.strata for part in parts))]

    assert len(set(keys)) == 3


@settings(max_examples=20)
@given(st.data())
def test_whatever_a_log_holds_is_judged_without_nan(data: st.DataObject) -> None:
    log = data.draw(logs())
    part = data.draw(st.sampled_from(PaneHalf))
    parts = [
        one
        for one in log.parts()
        if all(c.layout == log.counting.layout_of(part) for c in one.strata.values())
    ]
    layout = log.counting.layout_of(part)
    of = make_watch(log.counting, part, fold_strata(layout, [one.strata for one in parts]))
    history: list[DayRecord] = []

    for at in range(20):
        strata = parts[at % len(parts)].strata
        judged = judge_day(of, history, day_values(of, log.counting, strata, MONDAY + at), budget=BUDGET)
        history.append(unpack_day(pack_day(judged.record), of))
        for one in describe_subjects(of, judged, BUDGET):
            numbers = [
                one.evidence,
                one.change.evidence_any_size,
                one.change.observed,
                one.change.size,
                one.change.chance_months,
                one.detectable,
            ]
            numbers += list(one.change.expected or ())
            assert all(np.isfinite(number) for number in numbers if number is not None)
            assert (one.evidence > 1) == one.stands
            assert one.not_judged is not None or one.change.learned_days >= 14


def test_a_category_that_is_missing_at_first_is_followed_once_it_has_values() -> None:
    none = np.full(400, None)
    blue = np.full(400, "blue")
    tables = [
        *(rows(at, 400, color=none) for at in range(28)),
        *(rows(at, 400) for at in range(28, 60)),  # for 28 days it is told that values came
        *(rows(at, 400, color=blue) for at in range(60, 62)),
    ]

    told = [said(of_day, "feature:color") for of_day in judged_rows(tables, counting())]

    assert (told[28].begins, told[28].change.kind) == (True, "missing")
    assert told[59].change.not_judged is None
    found = [at for at, one in enumerate(told) if one.begins]
    assert found[0] == 28
    assert found[-1] in (60, 61)


def test_a_fault_that_goes_away_after_it_was_expected_is_not_said_to_be_still_there() -> None:
    kept = np.full(400, "blue", dtype=object)
    few = kept.copy()
    few[:60] = None
    tables = [rows(at, 400, color=few if 30 <= at < 60 else kept) for at in range(70)]

    told = [said(of_day, "feature:color") for of_day in judged_rows(tables, counting())]

    assert (told[30].begins, told[30].change.kind, told[57].stands) == (True, "missing", True)
    since = [day_number(one.change.usual_since) for one in told]
    assert since[:58] == [None] * 58
    assert since[58:61] == [30] * 3  # it lasts, and is expected
    assert since[-8:] == [None] * 8  # most of three days are without it


def test_a_shift_tells_how_many_values_are_missing_besides() -> None:
    """By the fault where none were missing before, by the series where some are."""
    followed = watch((DailyStatistic.LEVEL, DailyStatistic.MISSING))
    as_fault = [day(at, level) for at, level in enumerate([*quiet(30), 2.0])]
    as_fault[-1] = replace(as_fault[-1], hits=np.asarray([0, 30], dtype=np.int32))
    as_series = [day(at, level, arcsine_share(20, 1_000)) for at, level in enumerate([*quiet(30), 2.0])]
    as_series[-1] = day(30, 2.0, arcsine_share(300, 1_000))

    (fault, *_), (series, *_) = (
        describe_subjects(of, run(of, days)[-1], BUDGET)
        for of, days in ((watch(), as_fault), (followed, as_series))
    )

    assert (fault.change.kind, fault.change.missing) == ("level", (0.03, 0.0))
    assert series.change.missing == pytest.approx((0.3, 0.03), abs=0.001)


def test_a_mean_of_several_days_is_told_where_levels_say_the_mean_alone() -> None:
    """Levels are of clipped numbers: of few that are far off they say next to nothing."""
    usual = ColumnMean(50.0, 40.0, level=0.1)

    assert replace(usual, of_day=54.5).check_several_days(0.2, 0.3) == usual
    assert replace(usual, of_day=54.5).check_several_days(0.2, 3.7) is None, (
        "on other days numbers may be clipped"
    )
    assert replace(usual, of_day=471.0).check_several_days(0.9, 0.9) is None
    assert replace(usual, of_day=50.0).check_several_days(math.nan, 0.9) is None
    assert usual.check_several_days(0.2, 0.2) is None, "the mean of the judged day is not known"


def test_few_numbers_that_are_far_off_are_told_by_the_days_own_mean_or_in_deviations() -> None:
    """A level is of clipped numbers: of 4 in 100 that are ×1,000 it says a fifth of a deviation."""
    on, rng = counting(), np.random.default_rng(5)
    far = np.arange(1_000) < 40
    tables = [rows(at, 1_000) for at in range(35)]
    tables += [rows(at, 1_000, width=np.where(far, 5_000.0, rng.normal(size=1_000))) for at in range(35, 40)]
    parts = counted(tables, on)
    of = make_watch(
        on, PaneHalf.RECORDS, fold_strata(on.records_layout, [part.strata for part in parts[:28]])
    )
    of = replace(of, faults=())  # one of which is told first: they are far beyond the reference's
    judged = run(of, [day_values(of, on, part.strata, MONDAY + at) for at, part in enumerate(parts)])[-1]
    subject = of.subjects.index("feature:width")

    unknown = describe_subjects(of, judged, BUDGET)[subject]
    known = describe_subjects(of, judged, BUDGET, DayContext(day_means={"feature:width": 200.1}))[subject]

    assert not unknown.stands
    assert (unknown.change.evidence_any_size or 0) > 1
    assert (unknown.change.kind, known.change.kind) == ("level", "level")
    assert unknown.change.in_unit is None
    assert known.change.in_unit is not None
    assert known.change.in_unit[0] == 200.1
    assert -0.5 < known.change.in_unit[1] < 0 < known.change.in_unit[2] < 0.5


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_change_that_stands_on_a_day_without_a_value_is_told_as_it_was_found(sign: float) -> None:
    days = [day(at, float(level)) for at, level in enumerate([*quiet(40), sign * 0.8])]
    empty = [day(at, math.nan) for at in (41, 42)]

    judged = run(watch(), [*days, *empty])[40:]
    found, *others = (describe_subjects(watch(), one, BUDGET)[0] for one in judged)

    assert found.begins
    assert found.change.averaged_days == 1
    for one in others:
        assert (one.stands, one.change.averaged_days, one.change.rises, one.change.in_unit) == (
            True,
            0,
            sign > 0,
            None,
        )
        assert one.change.observed == pytest.approx(found.change.observed, abs=0.05)
        assert one.change.expected is not None
    usual = run(watch(), [*(day(at, float(level)) for at, level in enumerate(quiet(40))), *empty])
    assert describe_subjects(watch(), usual[-1], BUDGET)[0].change.averaged_days != 0
