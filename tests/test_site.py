import json

from sentence_lengths import hurried_pages, long_ones, other_words, sentences
from site_pages import ROOT, laid_out, offline, pages


def test_links_lead_to_where_pages_lie_on_the_site_and_code_is_named_without_one() -> None:
    places = {"README.md": "index.md", "docs/tables.md": "tables.md", "docs/adr/0001-a.md": "adr/0001-a.md"}

    first = laid_out("README.md", "[tables](docs/tables.md#how-much) and [code](monitor/cli.py)", places)
    decision = laid_out("docs/adr/0001-a.md", "[home](../../README.md), [out](https://a.example/)", places)

    assert first == "[tables](tables.md#how-much) and code"
    assert decision.endswith("\n[home](../index.md), [out](https://a.example/)")


def test_fences_are_left_alone_but_for_diagrams() -> None:
    text = "a\n```sh\n[x](y.md)\n```\n```mermaid\nA --> B\n```\n"

    assert laid_out("README.md", text, {}) == "a\n```sh\n[x](y.md)\n```\n\n"


def test_every_page_is_in_the_sites_navigation_or_a_decision() -> None:
    listed = (ROOT / "docs" / "site.toml").read_text(encoding="utf-8")
    apart = {"docker.md", "example-of-the-tutorial.md", "contributing.md", "reporting.md"}

    lost = {
        place
        for place in pages().values()
        if place.endswith(".md") and f'"{place}"' not in listed and not place.startswith("adr/")
    }

    assert lost <= apart


def test_search_asks_no_other_host() -> None:
    page = '<p>a</p><script src="https://unpkg.com/iframe-worker/shim" type="text/javascript"></script>'

    assert offline(page, "<script>ours</script>") == "<p>a</p><script>ours</script>"


def test_notebooks_are_kept_without_outputs() -> None:
    books = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    cells = [cell for book in books for cell in json.loads(book.read_text(encoding="utf-8"))["cells"]]

    assert [book.stem for book in books] == ["classes", "credit", "flights"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


def test_sentences_are_those_of_the_text_alone() -> None:
    text = (
        "# Title\n\nOne `a b c` two. [Three](x.md)\nfour!\n\n| a | table |\n\n```\nno code.\n```\n* An item\n"
    )
    thirty = "Many" + " more" * 29

    assert sentences(text) == ["One code two.", "Three four!", "An item"]
    assert long_ones(f"Short one. {thirty}.") == [f"{thirty}."]
    assert ROOT / "docs" / "troubleshoot.md" in hurried_pages()


def test_a_word_that_is_none_of_the_glossary_is_found_with_its_sentence() -> None:
    text = "Labels of a segment. Buckets are cells. The ground truth of `a bin` comes late. Binary: bound.\n"

    assert other_words(text) == [
        ("bucket", "Buckets are cells."),
        ("ground truth", "The ground truth of code comes late."),
    ]
