from configurations import SOURCE, File, model

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import Severity

URL = "https://chat.example/hook/${TOKEN}"
ENVIRON = {"TOKEN": "tokentoken"}


def channel(name: str = "chat", url: str = URL, keys: str = "") -> str:
    return f'[[notify]]\nname = "{name}"\nurl = "{url}"\n{keys}\n'


def test_channels_have_models_and_a_least_severity(file: File) -> None:
    text = channel() + channel("pager", keys='models = ["delay"]\nseverity = "critical"')

    found = file.settings(text + SOURCE + model() + model(name="delay"), ENVIRON)

    assert found.list_recipients("late") == (Recipient("chat", Severity.WARNING),)
    assert found.list_recipients("delay") == (
        Recipient("chat", Severity.WARNING),
        Recipient("pager", Severity.CRITICAL),
    )
    assert found.channels[0].url == "https://chat.example/hook/tokentoken"


def test_the_url_of_a_channel_is_not_shown(file: File) -> None:
    found = file.settings(channel() + SOURCE + model(), ENVIRON)

    assert "tokentoken" not in repr(found)
    assert file.faults(channel(url="chat.example/${TOKEN}") + SOURCE + model(), ENVIRON) == [
        'notify[0].url: a channel\'s URL starts as in "https://" or "slack://"; it is not shown here'
    ]
