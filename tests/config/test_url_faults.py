"""URLs that do not parse: a sentence names the key, the rule and what to write, and no part of a password."""

import json
import re
from urllib.parse import quote, quote_plus

import pytest
from configurations import SOURCE, File, model
from odd_passwords import WORDS, odd_passwords, traces

from monitor.core.errors import ConfigurationError, SourceError, StoreError
from monitor.core.secrets import hide_secrets
from monitor.sources.source_opening import address_of
from monitor.specs.urls import encode_in_url, fault_of, fill_url, learn_secrets
from monitor.store.store_connections import parse_store_url

PASSWORDS = [one for one in odd_passwords(70, seed=5) if one not in WORDS]
BROKEN = [
    "postgresql://ann:{}@db@host/app",
    "postgresql://ann:{}@db:port/app",
    "postgresql://ann:{}@db:99999/app",
    "postgresql://ann:{}@db:0/app",
    "postgresql://ann:{}@[::1:5432/app",
    "postgresql://ann:{}@::1/app",
    "postgresql:///ann:{}@db/app",
    "postgresql://db/app?password={}&user=ann@corp",
    "postgres://ann:{}@d b/app",
    "ann:{}@db/app",
    "postgresql:ann:{}@db/app",
    "sqlite://ann:{}@monitor.db",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_url_is_told_by_its_key_and_its_rule_without_a_part_of_its_password(
    file: File, broken: str
) -> None:
    for password in PASSWORDS:
        url = broken.format(password.replace("{", "(").replace("$", "S"))
        key = json.dumps(url, ensure_ascii=False)
        faults = file.faults(f"[store]\nurl = {key}\n[sources.flights]\nurl = {key}\n{model()}")

        assert [fault.partition(": ")[0] for fault in faults] == ["store.url", "sources.flights.url"]
        assert traces(password, str(faults)) == []
        for use, kind in ((parse_store_url, StoreError), (address_of, SourceError)):
            with pytest.raises(kind) as raised:
                use(url)
            assert (
                raised.value.__cause__ is raised.value.__context__ is None
                or raised.value.__suppress_context__
            )
            assert traces(password, str(raised.value)) == []


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:a%40b@[::1]:5432/app?sslmode=require",
        "postgresql://ann@h1,h2/app",
        "postgresql:///app?host=/var/run/postgresql",
        "postgresql://%2Fvar%2Frun/app",
        "postgresql://ann:${file:/run/a@b}@db/app",
        "postgresql://ann:a:b#c d+e%@db/my app",
        "postgres://bücher.example/app",
        "mariadb+pymysql://ann:x@db_1:3306/app?charset=utf8mb4",
        "sqlite://",
        "sqlite:////var/a@b:c@d.db",
        "duckdb:////var/a@b.db",
        "sc://spark.example:15002/;token=x",
        "spark://h1:7077,h2:7077",
        "k8s://https://h:6443",
        "local://4",
    ],
)
def test_a_sound_url_has_no_fault(url: str) -> None:
    assert fault_of(url) is None


@pytest.mark.parametrize("password", PASSWORDS)
def test_what_a_url_holds_is_hidden_raw_encoded_and_in_parts(password: str) -> None:
    learn_secrets(f"postgresql://ann:{quote(password, safe='')}@db/app?sslpassword={quote_plus(password)}")
    parts = [part for part in re.split(r"[\s@]", password) if len(part) > 3]

    said = [
        hide_secrets(f"got <{part}>") for part in (password, quote(password), quote_plus(password), *parts)
    ]

    assert [traces(password, text) for text in said] == [[]] * len(said)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("db://ann:${X}@host/x", "a b:c@d", "db://ann:a%20b%3Ac%40d@host/x"),
        ("db://ann:pre${X}@host/x", "%40", "db://ann:pre%2540@host/x"),
        ("db://${X}:pw@host/x", "ann@corp", "db://ann%40corp:pw@host/x"),
        ("db://${X}@host/x", "ann@corp", "db://ann%40corp@host/x"),
        ("db://${X}@host/x", "ann:a@b:c", "db://ann:a%40b%3Ac@host/x"),
        ("db://${X}:${file:/run/a@b:c}@host/x", "a/b", "db://a%2Fb:${file:/run/a@b:c}@host/x"),
        ("db://host/x?sslpassword=${X}&a=b", "a&b+c", "db://host/x?sslpassword=a%26b%2Bc&a=b"),
        ("sc://host:1/;token=${X}", "a;b", "sc://host:1/;token=a%3Bb"),
        ("db://ann:pw@${X}/x", "host:5432", "db://ann:pw@host:5432/x"),
        ("db://host/x?options=${X}", "-c%20a", "db://host/x?options=-c%20a"),
        ("https://host:8443/hook/${X}?a=b@c", "t/k", "https://host:8443/hook/t/k?a=b@c"),
        ("${X}", "db://ann:a%40b@host/x", "db://ann:a%40b@host/x"),
        ("no url: ${X}@", "a b", "no url: a b@"),
    ],
)
def test_between_scheme_and_at_and_in_secrets_of_the_query_a_value_is_taken_as_it_is_typed(
    text: str, value: str, expected: str
) -> None:
    start = text.index("${X}")

    assert text.replace("${X}", encode_in_url(value, text, (start, start + 4))) == expected


def test_a_file_beside_another_place_is_taken_as_it_is_typed(file: File, tmp_path: object) -> None:
    for name, text in (("user@x", "an@n\n"), ("pass:word", "a b@c\r\n")):
        (file.path.parent / name).write_text(text, encoding="utf-8")
    url = f"postgresql://${{file:{file.path.parent}/user@x}}:${{file:{file.path.parent}/pass:word}}@db/app"

    settings = file.settings(f'[sources.flights]\nurl = "{url}"\n{model()}')

    assert fill_url(settings.find_source("flights").url) == "postgresql://an%40n:a%20b%40c@db/app"


def test_a_variable_that_is_no_text_is_named(file: File) -> None:
    text = '[sources.flights]\nurl = "postgresql://ann:${PW}@db/app"\n' + model()

    assert file.faults(text, {"PW": b"a\xff".decode(errors="surrogateescape")}) == [
        "sources.flights.url: the environment variable PW is not UTF-8 text"
    ]


def test_the_beginning_of_a_value_that_is_too_long_to_be_shown_is_hidden(file: File) -> None:
    value = 'odd"value ' * 20

    (fault,) = file.faults(SOURCE + model(keys='level = "${LONG}"'), {"LONG": value})

    assert fault.endswith('got "${LONG}…')
    assert "odd" not in fault


def test_a_fault_of_configuration_and_its_representation_hold_no_password(file: File) -> None:
    file.path.write_text(SOURCE + model(keys='level = "postgresql://ann:hunt er2@db/x"'), encoding="utf-8")

    with pytest.raises(ConfigurationError) as raised:
        file.settings(file.path.read_text(encoding="utf-8"))

    assert "hunt" not in repr(raised.value)
