"""Ask the public databases of vulnerabilities about every version that is tested.

A known vulnerability fails. Without an answer, as offline, that is said loudly, and nothing fails.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PINNED = Path(__file__).parents[1] / "constraints.txt"
LONGEST = 120.0  # seconds, all in all


def main() -> int:
    """Audit; the exit code."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(PINNED), "--no-deps", "--disable-pip"]
    options = ["--format", "json", "--progress-spinner", "off", "--timeout", "10"]
    try:
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, timeout=LONGEST, check=False
        )
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return skipped(f"no answer within {LONGEST:g} seconds")
    except (ValueError, KeyError):
        return skipped((done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1])
    faults = [(one, fault) for one in found for fault in one.get("vulns", ())]
    for one, fault in faults:
        mended = ", ".join(fault["fix_versions"]) or "no version yet"
        print(f"{one['name']} {one['version']}: {fault['id']}, mended in {mended}", file=sys.stderr)
    unknown = [one for one in found if "skip_reason" in one]
    if unknown:
        skipped(f"{len(unknown)} of {len(found)} packages: {unknown[0]['skip_reason']}, ...")
    else:
        print(f"{len(found)} packages, {len(faults)} known vulnerabilities")
    return 1 if faults else 0


def skipped(why: str) -> int:
    """Say it so that nobody takes it for a passed check."""
    line = "!" * 100
    print(
        f"{line}\nSKIPPED: pip-audit could not look up known vulnerabilities.\n{why}\n{line}", file=sys.stderr
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
