"""The page of an incident and the list of them: what happened, and how one decides where one reads."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from looked_at import END, Looked, Pages, assert_whole, copied, looking, read, visible_text
from serving import Bench

from monitor.alerts.alert_links import incident_link
from monitor.app.alert_decisions import Decision
from monitor.app.alerts.alert_acceptance import decide_incident
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY
from monitor.core.errors import MonitorError
from monitor.web.answers import FormVisit

HOSTILE = "<script>alert('1')</script>\"'><img src=x onerror=alert(2)>\u202e & {{ 7 * 7 }}"
ADA = FormVisit(token="1.abc", user="Ada", is_signed_in=False)  # noqa: S106 -- no password
SIGNED = FormVisit(token="1.abc", user="ada@example", is_signed_in=True)  # noqa: S106


def listed(bench: Bench) -> list[dict[str, object]]:
    done = bench.monitor("incidents", "--model", "late", "--format", "json")
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def address(bench: Bench) -> str:
    """The incident that is open, as `monitor incidents` prints it."""
    (one,) = [one for one in listed(bench) if one["state"] == "open"]
    return f"/models/late/incidents/{one['incident']}"


@pytest.fixture(scope="module")
def pages(bench: Bench) -> Iterator[Pages]:
    with looking(bench) as found:
        yield found


def shown_to(pages: Pages, address: str, visit: FormVisit | None) -> Looked:
    path, _, query = address.partition("?")
    return read(pages.kept.answer_page(path, query, "", visit))


@pytest.fixture
def own(bench: Bench, tmp_path: Path) -> Bench:
    """A copy of the store, to decide on."""
    return copied(bench, tmp_path)


def decide(
    bench: Bench, address: str, what: str, who: str = "Ada", why: str = "a test", at: int = END
) -> None:
    with bench.app() as app:
        decide_incident(app, Decision(at, who, why), what, "late", address.rpartition("/")[2])


def events(bench: Bench) -> list[tuple[str, str, str]]:
    with bench.app() as app:
        happened = app.store.events.read_events("late")
    return [(one.kind, one.who, one.why) for one in happened if one.who]


def test_every_incident_has_a_page_and_its_json_is_that_of_the_command(bench: Bench, pages: Pages) -> None:
    found = listed(bench)
    assert found
    for one in found:
        place = f"/models/late/incidents/{one['incident']}"
        page = pages.at(place)
        assert page.status == 200
        assert_whole(page)
        assert pages.at(f"{place}.json").plain() == [one]


def test_the_page_says_what_happened_what_else_and_how_it_is_judged(pages: Pages, address: str) -> None:
    page = pages.at(address)

    for title in ("Evidence", "Who is affected", "What else changed", "Decide", "History", "1 alert"):
        assert f"<h2>{title}</h2>" in page.text, title
    assert "First day of the change" in page.words
    assert "1 alert fired" in page.words
    assert "as in the reference" in page.words
    assert "how it is checked" in page.words
    assert "open for" in page.words


def test_the_fleet_the_model_and_the_list_lead_to_it_and_so_do_notices(pages: Pages, address: str) -> None:
    for place in ("/", "/models/late", "/models/late/alerts", "/alerts"):
        links = [attributes.get("href") for tag, attributes in pages.at(place).elements if tag == "a"]
        assert any(str(link).startswith(address) for link in links), place
    notice = incident_link("https://monitor.example", "late", address.rpartition("/")[2])
    assert notice == f"https://monitor.example{address}#decide"
    assert [tag for tag, given in pages.at(address).elements if given.get("id") == "decide"] == ["section"]


def test_an_unknown_incident_is_not_found_and_what_was_meant_is_said(pages: Pages, address: str) -> None:
    wrong = pages.at(address[:-1])

    assert wrong.status == 404
    assert f'did you mean "{address.rpartition("/")[2]}"' in wrong.words
    assert pages.at(f"{address[:-1]}.json").status == 404
    assert pages.at(f"{address}?rnge=30d").status == 400
    assert pages.at(f"{address}/decide").status == 404
    assert pages.at("/models/bare/incidents/x").status == 404


def test_before_it_opened_it_is_not_known(bench: Bench, pages: Pages, address: str) -> None:
    (one,) = [one for one in listed(bench) if one["state"] == "open"]
    day = str(one["opened_at"])[:10]

    assert pages.at(f"{address}?as_of={day}").status == 200
    assert pages.at(f"{address}?as_of=2024-03-01").status == 404


def test_without_somebody_who_may_the_page_says_the_command(bench: Bench, pages: Pages, address: str) -> None:
    page = shown_to(pages, address, None)

    assert "form" not in [tag for tag, given in page.elements if given.get("method") == "post"]
    command = f"monitor alerts ack --model late --incident {address.rpartition('/')[2]} --by NAME --why WHY"
    assert command in page.words
    assert "http.secret_file" in page.words
    assert "Referrer-Policy" not in page.answer.headers


def test_who_may_is_shown_the_form_with_their_name_and_the_past_has_none(pages: Pages, address: str) -> None:
    asked, signed = shown_to(pages, address, ADA), shown_to(pages, address, SIGNED)
    past = shown_to(pages, f"{address}?as_of=2024-04-09", ADA)

    (form,) = [given for tag, given in asked.elements if tag == "form" and given.get("method") == "post"]
    assert form["action"] == f"{address}/decide"
    names = {
        given.get("name"): given.get("value") for tag, given in asked.elements if tag in ("input", "button")
    }
    assert (names["token"], names["who"], names["why"]) == ("1.abc", "Ada", "")
    buttons = [given.get("value") for tag, given in asked.elements if given.get("name") == "decision"]
    assert buttons == ["acknowledge", "accept"]
    assert 'name="who"' not in signed.text
    assert "You decide as ada@example" in signed.words
    assert asked.answer.headers["Referrer-Policy"] == "same-origin"
    assert 'method="post"' not in past.text
    assert "You see the past" in past.words


def test_a_page_with_a_form_is_kept_for_its_visitor_alone(pages: Pages, address: str) -> None:
    first = pages.kept.answer_page(address, "", "", ADA)
    tag = first.headers["ETag"]

    assert pages.kept.answer_page(address, "", tag, ADA).status == 304
    assert pages.kept.answer_page(address, "", tag, SIGNED).status == 200
    assert pages.kept.answer_page(address, "", tag, None).status == 200


def test_a_fault_is_said_and_what_was_written_stays(pages: Pages, address: str) -> None:
    visit = replace(ADA, user="", fault="Why is missing.", who=HOSTILE, why=HOSTILE)
    page = shown_to(pages, address, visit)

    assert "Why is missing." in page.words
    values = [given.get("value") for tag, given in page.elements if given.get("name") in ("who", "why")]
    assert values == [HOSTILE, HOSTILE]
    assert "<script>alert" not in page.text
    assert "<img" not in page.text


def test_who_and_why_are_kept_and_shown_as_text_everywhere(own: Bench, address: str) -> None:
    decide(own, address, "acknowledge", HOSTILE, HOSTILE)

    with looking(own) as found:
        shown = {
            place: found.at(place).text
            for place in (
                "/",
                "/models/late",
                "/models/late/alerts",
                "/alerts",
                address,
            )
        }
        report = read_report(found)
    for place, page in (*shown.items(), ("report", report)):
        assert "<script>alert" not in page, place
        assert "<img" not in page, place
        assert "\u202e" not in page, place
    for place in ("/models/late/alerts", address, "report"):
        text = report if place == "report" else shown[place]
        assert "&lt;script&gt;alert(" in text, place
    assert events(own) == [("acknowledged", HOSTILE, HOSTILE)]


def read_report(pages: Pages) -> str:
    return pages.at("/models/late/report?window=month&end=2024-04-01").text


def test_the_form_keeps_what_the_command_keeps(bench: Bench, tmp_path: Path, address: str) -> None:
    name = address.rpartition("/")[2]
    for made in ("form", "command"):
        (tmp_path / made).mkdir()
    one, other = copied(bench, tmp_path / "form"), copied(bench, tmp_path / "command")
    decide(one, address, "acknowledge", why="seen")
    decide(one, address, "accept", why="a new market")
    for what, why in (("ack", "seen"), ("accept", "a new market")):
        told = ("--model", "late", "--incident", name, "--by", "Ada", "--why", why)
        assert other.monitor("alerts", what, *told).exit_code == 0

    with one.app() as app, other.app() as reference:
        kept, same = (each.store.events.read_events("late") for each in (app, reference))
    assert [(event.kind, event.subject, event.who, event.why, event.detail) for event in kept] == [
        (event.kind, event.subject, event.who, event.why, event.detail) for event in same
    ]


def test_a_form_that_is_sent_twice_decides_once(own: Bench, address: str) -> None:
    for later in (0, 1, 2):
        decide(own, address, "acknowledge", at=END + later)
    assert events(own) == [("acknowledged", "Ada", "a test")]
    for later in (3, 4):
        decide(own, address, "accept", at=END + later)
    assert [kind for kind, *_ in events(own)] == ["acknowledged", "accepted"]
    decide(own, address, "acknowledge", who="Bob", at=END + 5)
    assert len(events(own)) == 3


def test_what_is_accepted_can_be_withdrawn_where_it_is_read_and_by_the_command(
    own: Bench, address: str
) -> None:
    name = address.rpartition("/")[2]
    with pytest.raises(MonitorError, match=r"nothing of .* is accepted"):
        decide(own, address, "withdraw")
    decide(own, address, "accept")
    with looking(own) as found:
        before = shown_to(found, address, ADA)
    decide(own, address, "withdraw", why="it was not")
    with looking(own) as found:
        after = shown_to(found, address, ADA)

    assert 'value="withdraw"' in before.text
    assert "Accepted by Ada: a test" in before.words
    assert 'value="withdraw"' not in after.text
    assert "Withdrawn by Ada: it was not" in after.words

    decide(own, address, "accept", why="after all")
    told = ("--model", "late", "--incident", name, "--by", "Ada", "--why", "no")
    assert own.monitor("alerts", "withdraw", *told).exit_code == 0
    wrong = own.monitor("alerts", "withdraw", "--model", "late", "--incident", "2020-01-01", "--why", "no")
    assert wrong.exit_code == 1
    assert "has no incident" in wrong.stderr


def test_what_is_accepted_is_over_with_the_next_cycle_and_its_page_stays(own: Bench, address: str) -> None:
    decide(own, address, "accept", why="a new market")
    with own.app() as app:
        assert run_single_cycle(app, "late", END + DAY).error is None
    with looking(own, END + DAY) as found:
        page, overview = shown_to(found, address, ADA), found.at("/models/late")
        alerts = found.at("/models/late/alerts")

    assert page.status == 200
    assert "Over" in page.words
    assert "Accepted by Ada: a new market" in page.words
    assert 'value="acknowledge"' not in page.text
    assert f"{address}#decide" not in overview.text
    assert "accepted after" in alerts.words
    assert "accepted by Ada" in alerts.words


def test_what_does_not_fire_is_decided_on_by_nobody(bench: Bench, tmp_path: Path) -> None:
    own = copied(bench, tmp_path)
    over = [one for one in listed(own) if one["state"] == "over"]
    for one in over:
        with pytest.raises(MonitorError, match="has no incident"):
            decide(own, f"/x/{one['incident']}", "acknowledge")
    with pytest.raises(MonitorError, match="has no incident"):
        decide(own, "/x/2020-01-01-records", "acknowledge")
    assert events(own) == []


@pytest.mark.parametrize("place", ["/", "/models/late", "its own"])
def test_no_card_of_an_incident_lacks_what_it_costs_and_none_has_more_than_sixty_words(
    bench: Bench, pages: Pages, address: str, place: str
) -> None:
    (status,) = json.loads(bench.monitor("status", "--model", "late", "--format", "json").stdout)
    (consequence,) = [one["consequence"] for one in status["incidents"]]

    page = pages.at(address if place == "its own" else place)
    cards = re.findall(r'<article class="card inc.*?</article>', page.text, re.DOTALL)

    assert cards
    said = visible_text(cards[0])
    assert consequence in said
    assert "Next: " in said
    words = re.sub(r'<div class="(meta|act)">.*?</div>', "", cards[0], flags=re.DOTALL)
    assert len(visible_text(words).split()) <= 60


def test_the_list_has_open_ones_first_and_filters(bench: Bench, pages: Pages, address: str) -> None:
    found = listed(bench)
    every = pages.at("/models/late/alerts")
    kinds = {str(one["kind"]).replace(" ", "-") for one in found}

    assert f"{sum(one['state'] == 'open' for one in found)} incident is open" in every.words
    for kind in kinds:
        wanted = {str(one["incident"]) for one in found if str(one["kind"]).replace(" ", "-") == kind}
        page = pages.at(f"/models/late/alerts?kind={kind}")
        linked = {
            str(given["href"]) for tag, given in page.elements if "/incidents/" in str(given.get("href"))
        }
        assert {link.rpartition("/")[2].partition("#")[0].partition("?")[0] for link in linked} == wanted
    nothing = pages.at("/models/late/alerts?q=nosuchthing")
    assert "No incident matches" in nothing.words
    assert pages.at("/models/late/alerts?kind=weather").status == 400
    assert pages.at("/models/late/alerts.json?severity=critical").status == 200
    assert {one["severity"] for one in pages.at("/alerts.json?severity=critical").plain()} == {"critical"}


def test_the_report_says_who_decided_and_why(own: Bench, address: str) -> None:
    decide(own, address, "acknowledge", why="ticket 4711")
    with looking(own) as found:
        report = found.at("/models/late/report?window=month&end=2024-04-01")

    assert "Ada acknowledged it: ticket 4711" in report.words


def test_what_is_accepted_of_one_incident_is_withdrawn_there_alone(own: Bench, address: str) -> None:
    decide(own, address, "accept")
    with own.app() as app:
        run_single_cycle(app, "late", END + DAY)
        decide_incident(app, Decision(END + DAY, "Ada", "no"), "withdraw", "late", address.rpartition("/")[2])
        run_single_cycle(app, "late", END + 2 * DAY)
        open_ = [one for _, one in app.store.incidents.read_incidents("late")]
    (second,) = [f"/models/late/incidents/{one.address}" for one in open_ if one.firing]
    assert second != address
    decide(own, second, "accept", at=END + 2 * DAY)

    with looking(own, END + 2 * DAY) as found:
        first, other = (shown_to(found, place, ADA) for place in (address, second))
    assert 'value="withdraw"' not in first.text
    assert 'value="withdraw"' in other.text
    with pytest.raises(MonitorError, match=r"nothing of .* is accepted"):
        decide(own, address, "withdraw", at=END + 2 * DAY)
    decide(own, second, "withdraw", at=END + 2 * DAY)
