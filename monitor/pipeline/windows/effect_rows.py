"""What moved the mean score of a window, by the effect table of the reference."""

from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.shift.score_effects import score_move_result
from monitor.pipeline.windows.window_target import WindowTarget
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE


def score_move_rows(target: WindowTarget, records: Counters) -> list[MeasurementRow]:
    """How far the mean score of a window is from the reference's, and which features move it by how much."""
    effects = target.model.score_effects
    if effects is None or MeasureFamily.VALUES not in target.options.families:
        return []
    level = target.options.level
    move = effects.explain_move(records, None, level)
    result = score_move_result(move, effects.target, level)
    return [target.result_row(result, LabelTruth.NONE, WHOLE, None)]
