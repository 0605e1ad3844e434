"""What moved the mean score of a window, by the effect table of the reference; the loss it expects."""

from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.catalogue.shift_measures import LOSS_BY_SCORES
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.shift.loss_split import loss_by_scores
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


def expected_loss_rows(target: WindowTarget, records: Counters) -> list[MeasurementRow]:
    """How far the scores of a window alone move the log loss, by what scores mean in the reference."""
    reference = target.model.reference
    if reference is None or target.model.version_references:
        return []
    if MeasureFamily.VALUES not in target.options.families:
        return []
    part = loss_by_scores(target.model.counting, reference.labels, records, target.options.level)
    if part is None:
        return []
    return [target.result_row(MeasureResult(LOSS_BY_SCORES, "score", part), LabelTruth.NONE, WHOLE, None)]
