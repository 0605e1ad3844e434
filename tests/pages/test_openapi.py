from collections.abc import Iterator
from typing import Any

import pytest
from looked_at import Pages, looking
from serving import Bench

FILLED = {"model": "late", "rule": "busy", "measure": "roc_auc", "incident": "2024-03-08-records"}
NAMED = {"/models/{model}/feature.json": "?name=amount"}


@pytest.fixture(scope="module")
def pages(bench: Bench) -> Iterator[Pages]:
    with looking(bench) as found:
        yield found


@pytest.fixture(scope="module")
def document(pages: Pages) -> dict[str, Any]:
    plain: dict[str, Any] = pages.at("/openapi.json").plain()
    return plain


def described(document: dict[str, Any], path: str, status: str = "200") -> Any:
    """Schema of what an address answers."""
    return document["paths"][path]["get"]["responses"][status]["content"]["application/json"]["schema"]


def faults(document: dict[str, Any], schema: Any, plain: Any) -> list[str]:
    """Where an answer is not as it is described."""
    from jsonschema import Draft202012Validator  # seconds: not in each process of tests

    whole = {**schema, "components": document["components"]}
    return [
        f"{list(each.path)}: {each.message}"[:300] for each in Draft202012Validator(whole).iter_errors(plain)
    ]


def test_the_document_is_openapi(document: dict[str, Any]) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator

    OpenAPIV31SpecValidator(document).validate()

    assert len(document["paths"]) == 14


def test_every_answer_is_as_it_is_described(pages: Pages, document: dict[str, Any]) -> None:
    found = {}
    for path in document["paths"]:
        answer = pages.at(path.format(**FILLED) + NAMED.get(path, ""))
        assert (path, answer.status) == (path, 200)
        found[path] = answer.plain()

    assert [path for path, rows in found.items() if not rows] == ["/models/{model}/compare.json"]  # no arms
    assert {path: faults(document, described(document, path), rows) for path, rows in found.items()} == {
        path: [] for path in found
    }


def test_a_fault_is_as_it_is_described(pages: Pages, document: dict[str, Any]) -> None:
    answer = pages.at("/models/nobody.json")

    assert answer.status == 404
    assert faults(document, described(document, "/models/{model}.json", "404"), answer.plain()) == []
    assert faults(document, described(document, "/models/{model}.json"), answer.plain()) != []


def test_addresses_take_the_parameters_that_are_described_and_no_others(
    pages: Pages, document: dict[str, Any]
) -> None:
    for path, item in document["paths"].items():
        named = [one["name"] for one in item["get"]["parameters"] if one["in"] == "query"]
        refused = pages.at(f"{path.format(**FILLED)}?nonsense=1")
        assert refused.status == 400
        known = ", ".join(f'"{name}"' for name in named)
        assert refused.plain()["error"].startswith(f'no parameter "nonsense": this page has {known}'), path
