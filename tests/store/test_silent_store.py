"""A PostgreSQL store that falls silent: who waits for it is freed."""

import time

import pytest
from silent_servers import proxy, silent
from sqlalchemy import text

from monitor.core.errors import StoreError
from monitor.store.store_connections import make_store_engine, read_transaction, write_transaction


@pytest.mark.postgres
def test_a_store_that_falls_silent_is_given_up_and_found_again(postgres_url: str) -> None:
    with proxy(postgres_url) as way:
        engine = make_store_engine(f"{way.url(postgres_url)}?connect_timeout=2", limit=1.0)
        for transaction in (read_transaction, write_transaction):
            with transaction(engine) as connection:
                connection.execute(text("SELECT 1"))
            way.hold()
            began = time.monotonic()
            with (
                pytest.raises(StoreError, match=r"nothing came for 1 s|timeout"),
                transaction(engine) as connection,
            ):
                connection.execute(text("SELECT 1"))
            assert time.monotonic() - began < 20
            way.forward()

            with transaction(engine) as connection:
                assert connection.execute(text("SELECT 1")).scalar() == 1
        engine.dispose()


def test_a_store_that_never_answers_is_given_up() -> None:
    with silent() as port:
        engine = make_store_engine(f"postgresql://ann:s3cret@127.0.0.1:{port}/app?connect_timeout=2")
        with pytest.raises(StoreError, match="timeout") as caught, read_transaction(engine):
            """Not reached."""

    assert "s3cret" not in str(caught.value)
