import sys
from dataclasses import replace
from pathlib import Path

import pytest
from chat_servers import SLACK
from click.testing import CliRunner

from monitor.advice.check_report import check_channels
from monitor.app.channel_wiring import open_channels
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.errors import NotificationError
from monitor.pages import png_drawing
from monitor.specs.settings import ChannelSpec, Settings
from monitor.specs.stored_rows import WaitingNotice

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"
HOOK = "https://chat.example/hook"


@pytest.fixture(scope="module")
def settings() -> Settings:
    """Those of the example, of which no alert has labels."""
    found = settings_of(EXAMPLE, {})
    rules = [tuple(replace(rule, labels=()) for rule in model.rules) for model in found.models]
    models = tuple(replace(model, rules=own) for model, own in zip(found.models, rules, strict=True))
    return replace(found, models=models)


def checked(settings: Settings, *channels: ChannelSpec) -> tuple[list[str], list[str]]:
    return check_channels(replace(settings, channels=channels))


def test_a_sound_channel_has_no_fault_and_no_warning(settings: Settings) -> None:
    assert checked(settings, ChannelSpec(name="chat", url=HOOK)) == ([], [])


def test_a_url_that_cannot_be_used_is_a_fault(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (unknown,), _ = checked(settings, ChannelSpec(name="chat", url="nosuch://tokentoken"))
    monkeypatch.setitem(sys.modules, "apprise", None)
    (missing,), _ = checked(settings, ChannelSpec(name="chat", url="slack://a/b/c"))

    assert unknown.startswith('channel "chat": url: Apprise does not understand this URL of "nosuch://"')
    assert missing == "channel \"chat\": url: needs Apprise: pip install 'model-monitor-daemon[notify]'"
    assert "tokentoken" not in unknown


def test_pictures_without_fonts_are_warned_of(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    chat, hook = ChannelSpec(name="chat", url=SLACK), ChannelSpec(name="hook", url=HOOK)
    assert checked(settings, chat, hook) == ([], [])
    monkeypatch.setattr(png_drawing, "draws_words", lambda: False)

    assert checked(settings, hook)[1] == []
    assert checked(settings, chat)[1] == [
        "messages go without pictures: there are no fonts here, as fonts-dejavu-core of Debian"
    ]


def test_two_channels_to_the_same_receiver_are_warned_of(settings: Settings) -> None:
    one = ChannelSpec(name="one", url=HOOK)
    same = ChannelSpec(name="same", url="https://user:secret@CHAT.example:443/hook")
    others = ChannelSpec(name="others", url=HOOK, models=("other",))

    assert checked(settings, one, others)[1] == []
    assert checked(settings, one, same)[1] == [
        'channels "one" and "same" go to the same receiver: alerts of "late" arrive twice'
    ]


def test_the_same_apprise_receiver_written_otherwise_is_seen(settings: Settings) -> None:
    one, other = (ChannelSpec(name=url, url=url) for url in ("json://e.org/x", "json://e.org/x?method=post"))

    assert len(checked(settings, one, other)[1]) == 1


def test_labels_for_alertmanager_beside_a_channel_are_warned_of(settings: Settings) -> None:
    (late,) = settings.models
    labelled = replace(late, rules=tuple(replace(rule, labels=(("team", "ml"),)) for rule in late.rules))

    (warning,) = checked(replace(settings, models=(labelled,)), ChannelSpec(name="chat", url=HOOK))[1]

    assert "they arrive twice" in warning


def test_check_says_so_offline_too(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace(HOOK, "nosuch://tokentoken")
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")

    done = CliRunner().invoke(main, ["check", "--offline", "--config", str(tmp_path / "config.toml")])

    assert done.exit_code == 2
    assert 'channel "ml-chat": url: Apprise does not understand' in done.stderr
    assert "tokentoken" not in done.output


def test_a_channel_that_cannot_be_used_keeps_its_notices_and_stops_nothing() -> None:
    found = open_channels([ChannelSpec(name="bad", url="nosuch://x"), ChannelSpec(name="good", url=HOOK)])
    notice = WaitingNotice(
        key="k", model="late", incident="i", kind="opened", channel="bad", as_of=0, payload={}
    )

    with pytest.raises(NotificationError, match="does not understand"):
        found["bad"].send_notice(notice)
    assert set(found) == {"bad", "good"}
