"""Guide values that no linter holds. Layers are held by import-linter: see pyproject.toml."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(path for tree in ("monitor", "migrations", "tests") for path in (ROOT / tree).rglob("*.py"))
CODE = [path for path in FILES if path.is_relative_to(ROOT / "monitor")]
MOST_LINES = 400
MOST_BODY_LINES = 40
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc"}
FREE_BASES = {"Protocol", "StrEnum", "IntEnum", "NamedTuple", "BaseModel", "Exception"}
EXTENSION_POINTS = {"ParamType", "H11Protocol"}  # what click and uvicorn want to be extended by
NEVER = {"pickle", "cPickle", "dill", "shelve", "marshal", "cloudpickle"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_fit_on_a_few_screens() -> None:
    lengths = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}

    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_functions_fit_on_a_screen() -> None:
    lengths = {
        f"{named(path)}:{function.lineno} {function.name}": body_lines(function)
        for path in CODE
        for function in functions(path)
    }

    assert {name: length for name, length in lengths.items() if length > MOST_BODY_LINES} == {}


def test_names_of_modules_say_something() -> None:
    assert [named(path) for path in CODE if EMPTY_NAMES & {path.stem, path.parent.name}] == []


def test_classes_inherit_from_interfaces_only() -> None:
    inherited = [
        f"{named(path)}: {node.name}({ast.unparse(base)})"
        for path in CODE
        if path.name != "errors.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if ast.unparse(base).split("[")[0].split(".")[-1] not in FREE_BASES | EXTENSION_POINTS
    ]

    assert inherited == []


def test_nothing_is_pickled() -> None:
    imported = {
        name.split(".")[0]
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imports(node)
    }

    assert imported & NEVER == set()


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("path", [path for path in CODE if path.name == "__init__.py"], ids=named)
def test_packages_run_nothing_when_they_are_imported(path: Path) -> None:
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)

    assert [
        ast.unparse(statement)
        for statement in statements
        if not isinstance(statement, allowed) and ast.get_docstring(ast.Module([statement], [])) is None
    ] == []


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def imports(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module)):
            return [module]
        case _:
            return []
