"""Change the code of pure rooms in small ways, and see whether tests notice: `make mutants`.

Changes that no near test notices stand in `.ci/survivors.txt`, one a line. One that is not there fails. Those
that have gone are taken out of it: the file only becomes shorter. Without names those targets are tried that
have been before. `--write` takes down what is found, as the first run of a target must.
python .ci/mutants.py [NAME ...] [--write]
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

ROOT = Path(__file__).parents[1]
PLACE = Path(gettempdir()) / "monitor-mutants"
SURVIVORS = ROOT / ".ci" / "survivors.txt"
_OF_INTERVALS = (
    "closed_intervals",
    "oracle_of_statsmodels",
    "measures_of_numbers",
    "measures_of_errors",
    "mixture",
)
_OF_COMPARISON = (
    "always_valid",
    "champion_and_challenger",
    "comparison_of_arms",
    "comparison_of_ratios",
    "paired_records",
)

_OF_GAINS = ("gains_and_profits", "golden", "measures_of_scores", "whole_curves")
_OF_SHIFT = (
    "shift_measures",
    "season_formulas",
    "measures_of_values",
    "label_shift",
    "golden",
    "oracle_of_statsmodels",
)
_OF_ERRORS = ("measures_of_errors", "levels", "cells_of_errors", "measures_of_numbers")
_OF_SCORES = (
    "families",
    "families_of_scores",
    "gains_and_profits",
    "golden",
    "levels",
    "measures_of_calibration",
    "measures_of_scores",
    "whole_curves",
)
_OF_MODELS = (
    *_OF_SCORES,
    "against_another_moment",
    "comparison_of_arms",
    "comparison_of_ratios",
    "delays_to_the_log",
    "estimates",
    "estimates_of_classes",
    "estimates_of_segments",
    "evaluated_together",
    "measures_of_classes",
    "measures_of_errors",
    "measures_of_labels",
    "measures_of_numbers",
    "measures_of_probabilities",
    "measures_of_quality",
    "measures_of_values",
    "mixture",
    "paired_records",
    "shift_measures",
)


def _measures(*names: str) -> list[str]:
    return [f"tests/measures/test_{name}.py" for name in names]


TARGETS = {  # what is changed, and the tests that should notice
    "intervals": (
        "monitor/measures/statistics/intervals.py",
        _measures(*_OF_INTERVALS),
    ),
    "comparison": ("monitor/measures/comparison/*.py", _measures(*_OF_COMPARISON)),
    "gains": ("monitor/measures/classification/gains.py", _measures(*_OF_GAINS)),
    "confusion": (
        "monitor/measures/classification/confusion*.py",
        _measures("measures_of_classes", "golden", "closed_intervals"),
    ),
    "discrimination": (
        "monitor/measures/classification/discrimination.py",
        _measures("measures_of_scores", "levels", "areas_and_separations", "whole_curves", "golden"),
    ),
    "calibration": (
        "monitor/measures/classification/calibration.py",
        _measures("measures_of_calibration", "calibration_exactly", "levels"),
    ),
    "recalibration": (
        "monitor/measures/classification/recalibration.py",
        _measures("measures_of_calibration", "calibration_exactly"),
    ),
    "probabilities": (
        "monitor/measures/classification/multiclass_scores.py",
        _measures("measures_of_probabilities"),
    ),
    "nowcast": ("monitor/measures/nowcast.py", _measures("nowcast", "nowcast_exactly")),
    "estimates": (
        "monitor/measures/score_estimates.py",
        _measures("estimates", "estimates_exactly", "estimates_of_segments"),
    ),
    "class_estimates": (
        "monitor/measures/class_estimates.py",
        _measures("estimates_of_classes", "calibration_exactly"),
    ),
    "shift": ("monitor/measures/shift/*.py", _measures(*_OF_SHIFT)),
    "regression": ("monitor/measures/regression.py", _measures(*_OF_ERRORS)),
    "ranked": (
        "monitor/measures/statistics/ranked_scores.py",
        _measures("resamples_exactly", "measures_of_scores", "areas_and_separations", "whole_curves"),
    ),
    "delays": ("monitor/measures/statistics/label_delays.py", _measures("measures_of_labels", "nowcast")),
    "two_samples": ("monitor/measures/statistics/two_samples.py", _measures("two_samples")),
    "corners": ("monitor/measures/statistics/curve_corners.py", _measures("whole_curves")),
    "scores": ("monitor/measures/classification/binary_scores.py", _measures(*_OF_SCORES)),
    "evaluate": ("monitor/measures/evaluate.py", _measures(*_OF_MODELS)),
    "volume": (
        "monitor/measures/volume.py",
        _measures("volume_ratio", "delays_to_the_log", "measures_of_quality"),
    ),
    "labels": ("monitor/measures/label_arrival.py", _measures("measures_of_labels", "delays_to_the_log")),
    "days": ("monitor/measures/day_intervals.py", _measures("days")),
    "against": (
        "monitor/measures/measurement_comparison.py",
        _measures("against_another_moment", "season_formulas", "values_exactly"),
    ),
    "states": ("monitor/states/*.py", ["tests/states"]),
    "windows": ("monitor/windows/*.py", ["tests/windows"]),
}
CONFIGURATION = """
[tool.mutmut]
source_paths = ["monitor"]
only_mutate = ["{code}"]
also_copy = ["benchmarks", "docker", "docs", "examples", "migrations"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
pytest_add_cli_args_test_selection = {tests}
"""
NOTICED = ("killed", "timeout", "suspicious", "segfault")


def survivors(name: str) -> set[str]:
    """Changes of a target that its tests do not notice: the function, the line, what became of it."""
    code, tests = TARGETS[name]
    place = PLACE / name
    shutil.rmtree(place, ignore_errors=True)  # what an earlier run found is not tried again
    _copy(place)
    configuration = (place / "pyproject.toml").read_text(encoding="utf-8")
    text = configuration + CONFIGURATION.format(code=code, tests=json.dumps(tests))
    (place / "pyproject.toml").write_text(text, encoding="utf-8")
    _mutmut(place, "run", "--max-children", "1")
    lines = _mutmut(place, "results").splitlines()
    states = dict(line.strip().rsplit(": ", 1) for line in lines if "__mutmut_" in line)
    if unfinished := [one for one, state in states.items() if state == "not checked"]:
        raise SystemExit(f"{name}: {len(unfinished)} changes were not tried")
    left = {one: state for one, state in states.items() if state not in NOTICED}
    untested = {f"{_function(one)}: no near test" for one, state in left.items() if state == "no tests"}
    return untested | {_told(place, one) for one, state in left.items() if state != "no tests"}


def _copy(place: Path) -> None:
    """Copy what git knows: mutmut works where it lies, beside its own copy."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for file in listed.stdout.splitlines():
        source, target = ROOT / file, place / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink() or source.exists():
            shutil.copy2(source, target, follow_symlinks=False)


def _mutmut(place: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    wanted = None if arguments[0] == "run" else subprocess.PIPE
    done = subprocess.run(command, cwd=place, stdout=wanted, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"mutmut {arguments[0]} failed")
    return done.stdout or ""


def _function(mutant: str) -> str:
    name = re.sub(r"__mutmut_\d+$", "", mutant)
    return re.sub(r"\.(?:xǁ(\w+)ǁ|x_)", lambda found: f".{found[1]}." if found[1] else ".", name)


def _told(place: Path, mutant: str) -> str:
    shown = _mutmut(place, "show", mutant).splitlines()
    was, became = (
        " ".join(line[1:].strip() for line in shown if line.startswith(mark) and line[:3] != 3 * mark)
        for mark in "-+"
    )
    return f"{_function(mutant)}: {was} => {became}"


def _room(name: str) -> str:
    """What the lines of a target begin with."""
    code = TARGETS[name][0].removesuffix(".py")
    return code.partition("*")[0].replace("/", ".") + ("" if "*" in code else ".")


def main() -> int:
    """Compare with what is known; 1 where there is a new survivor."""
    known = set(SURVIVORS.read_text(encoding="utf-8").splitlines()) if SURVIVORS.exists() else set()
    begun = [name for name in TARGETS if any(line.startswith(_room(name)) for line in known)]
    names = [name for name in sys.argv[1:] if name != "--write"] or begun
    left = known
    fresh: set[str] = set()
    for name in names:
        here, now = {line for line in known if line.startswith(_room(name))}, survivors(name)
        print(f"{name}: {len(now)} changes survive, {len(here)} are known")
        fresh |= now - here
        left = left - here | (now if "--write" in sys.argv else now & here)
    SURVIVORS.write_text("".join(f"{line}\n" for line in sorted(left)), encoding="utf-8")
    if fresh and "--write" not in sys.argv:
        print("no test notices:", *sorted(fresh), sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
