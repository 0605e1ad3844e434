"""The manners of the layers, read from the source.

How long a file is and how many a room holds are guides, no limits: a module has the size that its subject
needs, mostly 100 to 800 lines. Limits on both were met by cutting where no subject ended.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent / "monitor"
PURE = {"sentences", "evidence", "core", "states", "records", "windows", "measures"}
SPEAKS_SQL = {"sources", "store", "demo"}
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
SQL = {
    "sqlalchemy",
    "adbc_driver_manager",
    "adbc_driver_postgresql",
    "adbc_driver_sqlite",
    "psycopg",
    "sqlite3",
}
EFFECTS = {
    "logging",
    "structlog",
    "time",
    "pandas",
    "os",
    "pathlib",
    "random",
    "socket",
    "subprocess",
    "threading",
}
KEEPS_DATES = {Path("core/clock.py"), Path("windows/window_ends.py")}
FREE_BASES = {"Protocol", "Enum", "StrEnum", "IntEnum", "NamedTuple", "TypedDict", "BaseModel"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> dict[Path, ast.Module]:
    """Each file's syntax; not as this module is imported, which each process of tests does."""
    paths = sorted(ROOT.rglob("*.py"))
    return {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def layer_of(path: Path) -> str:
    """Name the package, or the module, right below the root."""
    return path.parts[0].removesuffix(".py")


def imports_of(tree: ast.Module) -> Iterator[str]:
    """List the packages that are imported, wherever in the file that happens."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def bases_of_classes() -> dict[str, list[str]]:
    """Name the project's own bases of each class."""
    found = {
        node.name: [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    return {
        name: [base for base in bases if base in found]
        for name, bases in found.items()
        if not FREE_BASES & set(bases)
    }


def line_of(name: str, bases: dict[str, list[str]]) -> list[str]:
    """Name a class and the longest line of those above it."""
    return [name, *max((line_of(base, bases) for base in bases.get(name, [])), key=len, default=[])]


def test_a_module_is_named_for_what_it_holds() -> None:
    assert [path for path in trees() if VAGUE & set(path.with_suffix("").parts)] == []


def test_rows_of_measures_stand_in_the_catalogue_alone() -> None:
    calls = [
        path
        for path, tree in trees().items()
        if path.parts[:2] != ("measures", "catalogue")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "Measure" in {ast.unparse(part) for part in (node.func, *node.args)}
    ]

    assert calls == []


def test_classes_inherit_once_and_errors_twice() -> None:
    bases = bases_of_classes()
    lines = [line_of(name, bases) for name in bases]

    assert [line for line in lines if len(line) - 1 > (2 if line[-1] == "MonitorError" else 1)] == []


def test_our_arithmetic_has_no_effects() -> None:
    forbidden = {
        (path, package)
        for path, tree in trees().items()
        if layer_of(path) in PURE
        for package in imports_of(tree)
        if package in SQL | EFFECTS or (package == "datetime" and path not in KEEPS_DATES)
    }

    assert forbidden == set()


def test_our_arithmetic_asks_neither_for_the_time_nor_for_the_disk() -> None:
    called = {
        (path, ast.unparse(node.func))
        for path, tree in trees().items()
        if layer_of(path) in PURE
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }

    assert {
        (path, name)
        for path, name in called
        if name.split(".")[-1] in {"now", "today", "utcnow", "open", "print"}
    } == set()


def test_sql_is_spoken_in_few_places() -> None:
    speakers = {path for path, tree in trees().items() if SQL & set(imports_of(tree))}

    assert {path for path in speakers if layer_of(path) not in SPEAKS_SQL} == set()


def test_nothing_is_pickled() -> None:
    pickles = {"pickle", "marshal", "shelve", "joblib"}

    assert [path for path, tree in trees().items() if pickles & set(imports_of(tree))] == []


def test_what_is_public_is_documented() -> None:
    undocumented = {
        (path, node.name)
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, Function | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    }

    assert undocumented == set()


def test_caches_are_changed_in_their_own_file_alone() -> None:
    def of_caches(target: ast.expr) -> bool:
        while isinstance(target, ast.Attribute | ast.Subscript):
            target = target.value
            if isinstance(target, ast.Name | ast.Attribute):
                name = target.id if isinstance(target, ast.Name) else target.attr
                if name == "caches":
                    return True
        return False

    changed = {
        (path, ast.unparse(target))
        for path, tree in trees().items()
        if path != Path("pipeline/caches.py")
        for node in ast.walk(tree)
        for target in (
            node.targets
            if isinstance(node, ast.Assign | ast.Delete)
            else [node.target]
            if isinstance(node, ast.AugAssign | ast.AnnAssign)
            else []
        )
        if of_caches(target)
    }

    assert changed == set()


ENGINES = re.compile(
    r"\b(sqlite|postgres(ql)?|mysql|mariadb|duckdb|chdb|clickhouse(db)?|spark)\b", re.IGNORECASE
)
ASKS_THE_ENGINE = {"sources", "pipeline", "app", "setup", "advice", "look"}


def code_strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """List the texts of the code: no docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    yield from (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    )


def test_an_engine_is_named_in_its_own_file_alone() -> None:
    named = {
        (path, node.lineno, node.value)
        for path, tree in trees().items()
        if layer_of(path) in ASKS_THE_ENGINE and path.parts[:2] != ("sources", "engines")
        for node in code_strings(tree)
        if ENGINES.search(str(node.value))
    }
    asked = {
        (path, name)
        for path, tree in trees().items()
        if layer_of(path) in ASKS_THE_ENGINE and path.parts[:2] != ("sources", "engines")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func).split(".")[-1]).startswith("is_")
        if ENGINES.search(name.replace("_", " ")) or name == "is_columnar"
    }

    assert named == set()
    assert asked == set()


def test_a_drivers_message_decides_only_as_a_driver_text() -> None:
    compared = {
        (path, node.lineno, ast.unparse(node))
        for path, tree in trees().items()
        if layer_of(path) in ASKS_THE_ENGINE
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
        if ast.unparse(node.comparators[0])
        in {"str(error)", "error_text", "str(error.orig)", "reason(error)"}
    }

    assert len(compared) == 4  # one of ADBC's SQLite, one of BigQuery's jobs, two of Spark's workers
    assert {text for _, _, text in compared if ".text" not in text} == set()


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, list[Path]] = {}
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path)
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                homes.setdefault(ast.unparse(node.target), []).append(path)

    assert {name: at for name, at in homes.items() if len(at) > 1 and not name.startswith("_")} == {}


def test_the_head_of_a_family_of_measures_names_files_that_there_are() -> None:
    there = {path.name for path in trees()}
    heads = {
        path: ast.get_docstring(tree) or "" for path, tree in trees().items() if "catalogue" in path.parts
    }
    named = {(path.name, name) for path, head in heads.items() for name in re.findall(r"(\w+\.py)`", head)}

    assert named
    assert {pair for pair in named if pair[1] not in there} == set()
