from configurations import SOURCE, File, model

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import Severity
from monitor.alerts.report_notices import ReportPlan

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


REPORT = '[models.report]\nevery = "month"\nto = ["chat"]\n'
ZONE = 'timezone = "Europe/Vienna"\nwindows = ["month"]'
HTTP = '[http]\nurl = "https://monitor.example"\n'


def test_a_report_is_sent_to_channels_by_the_calendar_of_its_model(file: File) -> None:
    text = HTTP + channel() + SOURCE + model(keys=ZONE, tables=REPORT) + model(name="b")

    found = file.settings(text, ENVIRON)

    plan = found.plan_report(found.models[0])
    assert plan == ReportPlan(every="month", zone="Europe/Vienna", channels=("chat",))
    assert found.plan_report(found.models[1]) is None


def test_a_report_to_a_channel_that_is_not_there_or_without_an_address_to_link_to_is_a_fault(
    file: File,
) -> None:
    wrong = REPORT.replace('"chat"', '"chta", "chat"')

    place = 'models[0] "late".report'
    channels = 'no such channel (the channels are "chat"): got "chta"; did you mean "chat"?'
    address = "the message links to the report's page: [http] url gives the address of the pages"
    nowhere = 'no such channel (there is no [[notify]]): got "chat"'

    assert file.faults(HTTP + channel() + SOURCE + model(tables=wrong), ENVIRON) == [
        f"{place}.to[0]: {channels}"
    ]
    assert file.faults(channel() + SOURCE + model(tables=REPORT), ENVIRON) == [f"{place}: {address}"]
    assert file.faults(HTTP + SOURCE + model(tables=REPORT), ENVIRON) == [f"{place}.to[0]: {nowhere}"]


def test_a_report_is_sent_once_a_week_a_month_or_a_quarter(file: File) -> None:
    (fault,) = file.faults(HTTP + channel() + SOURCE + model(tables=REPORT.replace("month", "day")), ENVIRON)

    assert fault.startswith('models[0] "late".report.every: must be one of "week", "month"')
