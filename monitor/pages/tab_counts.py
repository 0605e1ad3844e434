"""What stands behind the names of tabs: the counts of a model's summary, on every page of it."""

from functools import lru_cache

from monitor.alerts.alert_rules import Severity
from monitor.alerts.model_standing import ModelStanding, judge_standing
from monitor.alerts.model_summary import FigureMark, count_changed_features
from monitor.pages.page_request import PageData
from monitor.pages.page_templates import TabCount

judge_once = lru_cache(maxsize=8)(judge_standing)
"""How a model stands: of the same facts it is the same."""


def read_standing(data: PageData, model: str, as_of: int | None) -> ModelStanding:
    """How a model stands: read and judged once, whichever pages ask."""
    (facts,) = data.read_model_facts(model, as_of)
    return judge_once(facts)


def count_tabs(standing: ModelStanding) -> dict[str, TabCount]:
    """Features that have an alert, and incidents that are open."""
    firing = [one for one in standing.incidents if not one.is_recovering]
    mark = standing.summary.inputs.mark
    worst = min((one.severity for one in firing), key=list(Severity).index, default=None)
    return {
        "Inputs": TabCount(
            count_changed_features(standing.incidents), "" if mark is FigureMark.OK else mark.value
        ),
        "Alerts": TabCount(len(firing), "" if worst is None else worst.value),
    }
