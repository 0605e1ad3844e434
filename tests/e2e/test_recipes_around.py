"""Ways around what is not supported, as the manual has them, on logs that need them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pytest
from recipe_logs import START, Recipe, blocks, outcomes, requests, training, truths
from scipy.stats import ks_2samp
from servers import PostgresServer
from sklearn.metrics import roc_auc_score
from sqlalchemy import make_url

from monitor.core.clock import DAY, HOUR
from monitor.measures.measurement_row import LabelTruth

END = START + 7 * DAY
LATER = END + HOUR
FIRST = LabelTruth.PROVISIONAL
Made: TypeAlias = Callable[[str], Recipe]


@pytest.mark.postgres
def test_labels_of_another_database_come_through_a_foreign_table(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    title = "Labels in another database"
    made = Recipe(title, tmp_path, postgres_url)
    log = requests(7, 100)
    labels = outcomes(log, "churned", "5m")
    made.save("predictions", log)
    made.configure()
    server = make_url(postgres_url)

    with postgres_server.database() as elsewhere:
        Recipe(title, tmp_path, elsewhere).save("outcomes", labels)
        (statements,) = blocks(title, "sql")
        place = f"host '{server.host}', port '{server.port}', dbname '{make_url(elsewhere).database}'"
        statements = statements.replace("host 'crm.example', dbname 'crm'", place)
        made.run(statements.replace("user 'reader'", f"user '{server.username}'"))
        made.check()
        rows = made.cycle(LATER)

    found = rows.of("roc_auc", truth=FIRST)
    assert found.n == 700
    assert found.value == pytest.approx(roc_auc_score(labels["churned"], log["score"]), abs=found.resolution)


def test_a_band_of_the_amount_is_a_segment_with_performance_of_its_own(recipe: Made) -> None:
    made = recipe("Weights and amounts per record")
    log = requests(7, 100)
    log["amount"] = np.where(np.arange(len(log)) % 5 == 0, 25_000, 900)
    trained = training("defaulted")
    labels = outcomes(log, "defaulted", "5m")
    large = log["amount"] > 9_999
    labels.loc[large, "defaulted"] = 1 - labels["defaulted"][large]  # the model is wrong about large ones
    made.save("predictions", log)
    made.save("outcomes", labels)
    made.save("training", trained.assign(amount=np.where(trained["age"] > 45, 20_000, 900)))
    made.configure()

    made.check()
    rows = made.cycle(LATER)

    exact = ((log["score"] >= 0.5) == labels["defaulted"]).groupby(large).mean()
    of = {size: rows.of("accuracy", truth=FIRST, segment=f"size={size}") for size in ("small", "large")}
    assert [of["small"].value, of["large"].value] == [exact[False], exact[True]]
    assert (of["small"].n, of["large"].n) == (560, 140)
    assert exact[True] < 0.5 < exact[False]


def test_accuracy_of_lists_is_the_share_whose_first_item_was_taken(recipe: Made) -> None:
    made = recipe("Ranking")
    lists = requests(7, 100)
    items = pd.concat(
        [
            pd.DataFrame(
                {
                    "list_id": lists["request_id"],
                    "shown_at": lists["created_at"],
                    "position": position,
                    "score": (lists["score"] / position).round(4),
                }
            )
            for position in (1, 2, 3)
        ]
    )
    taken = np.random.default_rng(4).choice([1, 2, 3, 0], len(lists), p=[0.4, 0.2, 0.1, 0.3])  # 0: none
    clicks = pd.DataFrame(
        {
            "list_id": lists["request_id"],
            "position": taken,
            "clicked_at": lists["created_at"] + pd.Timedelta("1m"),
        }
    )
    made.save("shown_items", items)
    made.save("clicks", clicks[taken > 0])
    made.configure()

    made.check()
    rows = made.cycle(LATER)

    assert rows.value("records") == 700
    assert rows.value("accuracy", truth=FIRST) == (taken == 1).sum() / (taken > 0).sum()
    assert rows.value("coverage", truth=FIRST) == (taken > 0).mean()


def test_several_labels_a_record_are_records_of_their_own_and_tags_are_segments(recipe: Made) -> None:
    made = recipe("Several labels a record")
    log = (
        requests(7, 100)
        .rename(columns={"score": "p_sport"})
        .assign(p_money=requests(7, 100, seed=8)["score"])
    )
    long = pd.concat(
        [
            log[["request_id", "created_at"]].assign(tag=tag, score=log[f"p_{tag}"])
            for tag in ("sport", "money")
        ],
        ignore_index=True,
    )
    long["present"] = truths(long)
    made.save("predictions", log)
    known = long[["request_id", "tag", "present"]]
    made.save("tags", known.assign(reported_at=long["created_at"] + pd.Timedelta("5m")))
    made.save("training", long[["tag", "score", "present"]])
    made.configure()

    made.check()
    rows = made.cycle(LATER)

    assert rows.value("records") == 1_400
    for segment, part in [(None, long), *((f"tag={tag}", part) for tag, part in long.groupby("tag"))]:
        found = rows.of("roc_auc", truth=FIRST, segment=segment)
        assert found.n == len(part)
        assert found.value == pytest.approx(
            roc_auc_score(part["present"], part["score"]), abs=max(found.resolution, 1e-9)
        )


def test_the_distance_of_an_embedding_from_the_training_mean_has_its_shift_measured(recipe: Made) -> None:
    made = recipe("Embeddings")
    log, trained = requests(7, 100), training("churned")
    rng = np.random.default_rng(6)
    vectors = {"training": rng.normal(size=(len(trained), 16)), "log": rng.normal(0.6, 1, (len(log), 16))}
    mean = vectors["training"].mean(axis=0)
    distances = {name: ((vector - mean) ** 2).sum(axis=1) for name, vector in vectors.items()}
    made.save("centroid", pd.DataFrame({"at": range(16), "value": mean}))
    for table, rows, name in (("training", trained, "training"), ("predictions", log, "log")):
        texts = [json.dumps(vector) for vector in vectors[name].tolist()]
        made.save(table, rows.assign(embedding=texts))
    made.configure()

    made.check()
    found = made.cycle(LATER)

    exact = ks_2samp(distances["training"], distances["log"]).statistic
    measured = found.of("ks_distance", "feature:distance")
    assert measured.value is not None
    assert exact - measured.resolution - 1e-12 <= measured.value <= exact + 1e-12
    assert found.value("stability_index", "feature:distance") > 0.25
