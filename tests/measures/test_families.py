"""Families of measures that a model may leave out."""

from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from measure_states import binary_reading, records_part, reference_of_rows, table

from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import ALWAYS, DEFAULT_FAMILIES, OPTIONAL_FAMILIES, MeasureFamily
from monitor.measures.evaluate import make_expected_cells, measure_shifts
from monitor.measures.measure_options import MeasureOptions
from monitor.records.reading import ModelTask
from monitor.specs.model_table import FamilyName, ModelTable


def families_of(wanted: frozenset[MeasureFamily]) -> set[MeasureFamily]:
    """Families of what is measured of records."""
    rows = table(score=pa.array(np.linspace(0, 1, 500)))
    made = reference_of_rows(rows, binary_reading())
    window = records_part(rows, made.counting)
    found = measure_shifts(
        made.counting,
        make_expected_cells(made.counting, made.records),
        window,
        MeasureOptions(families=wanted),
    )
    return {BY_NAME[result.measure].family for result in found}


@pytest.mark.parametrize("family", [MeasureFamily.SHIFT, MeasureFamily.DISTANCES, MeasureFamily.VALUES])
def test_a_family_is_there_only_where_it_is_asked_for(family: MeasureFamily) -> None:
    assert family in families_of(OPTIONAL_FAMILIES)
    assert family not in families_of(OPTIONAL_FAMILIES - {family})


def test_the_configuration_knows_every_family_and_its_default() -> None:
    assert set(get_args(FamilyName)) == {family.value for family in OPTIONAL_FAMILIES}
    assert ModelTable.model_fields["measures"].default is None


@pytest.mark.parametrize("task", list(ModelTask))
def test_every_default_family_has_measures_of_the_task(task: ModelTask) -> None:
    families = {measure.family for measure in CATALOGUE if task in measure.tasks}

    assert families - ALWAYS - {MeasureFamily.DISTANCES, MeasureFamily.AVERAGES} <= DEFAULT_FAMILIES[task]
