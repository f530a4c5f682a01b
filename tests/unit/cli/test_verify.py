"""The command `verify`: its arguments reach the comparison, its exit code and output say what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin import recorded_settings
from ignite_kafka.admin.recorded_settings import with_connections
from ignite_kafka.cli import local_run, main, sink_views
from ignite_kafka.cli.verify import DIFFERS
from ignite_kafka.errors import Fenced, IgniteKafkaError, KafkaUnavailable, OutcomeUnknown, SettingsError, TopicError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord
from ignite_kafka.verification import connector
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.result import VerifyOptions, VerifyResult


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "source.json"
    path.write_text('{"name": "c", "cache_whitelist": "flights"}')
    return str(path)


@pytest.fixture
def sink(tmp_path: Path) -> str:
    path = tmp_path / "sink.properties"
    path.write_text(
        "name=s\nconnector.class=org.gridgain.kafka.sink.IgniteSinkConnector\nigniteCfg=server.xml\nignite_addresses=n:1\ntopics=t\n"
    )
    return str(path)


class Verification:
    """A comparison without Spark: what it was asked, and its result."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[ConnectorSettings, VerifyOptions]] = []
        self.checked: list[tuple[ConnectorSettings, VerifyOptions]] = []
        self.interrupted = False
        self.refusal: IgniteKafkaError | None = None
        self.failure: IgniteKafkaError | None = None
        self.masters: list[str | None] = []
        self.judged = Judged(PairDifferences("flights", "t", records=9, entries=8))
        monkeypatch.setattr(local_run, "local_session", self._session)
        monkeypatch.setattr(connector, "verify_connector", self._verify)
        monkeypatch.setattr(connector, "check_connector", self._check)

    @contextmanager
    def _session(self, _name: str, master: str | None) -> Iterator[Any]:
        self.masters.append(master)
        yield SimpleNamespace()

    def _check(self, settings: ConnectorSettings, _secrets: Any, options: VerifyOptions) -> None:
        self.checked.append((settings, options))
        if self.refusal is not None:
            raise self.refusal

    def _verify(self, _spark: Any, settings: Any, _secrets: Any, _source: Any, options: VerifyOptions, progress: Any) -> VerifyResult:
        self.asked.append((settings, options))
        if self.interrupted:
            raise KeyboardInterrupt
        progress("comparing", 1, 2)
        if self.failure is not None:
            raise self.failure
        at_most = options.repair_at_most if options.repair else 0
        return VerifyResult([self.judged], options.percent or 100, repair_at_most=at_most)


@pytest.fixture
def verification(monkeypatch: pytest.MonkeyPatch) -> Verification:
    return Verification(monkeypatch)


def test_verify_compares_sources_and_sinks(source: str, sink: str, verification: Verification) -> None:
    assert main.main(["verify", source]) == 0
    assert main.main(["verify", sink, "--master", "local[3]"]) == 0
    assert [type(settings) for settings, _ in verification.asked] == [SourceSettings, SinkSettings]
    assert [options for _, options in verification.asked] == [VerifyOptions()] * 2
    assert verification.masters == [None, "local[3]"]


CLUSTERS = ("--kafka", "127.0.0.1:1", "--ignite", "127.0.0.1:2")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[ConnectorSettings]:
    """Given settings of each look at the connector's record, which has those of a sink."""
    asked: list[ConnectorSettings] = []

    def found(given: ConnectorSettings, _secrets: Secrets) -> ConnectorSettings:
        asked.append(given)
        return with_connections(given, ConnectorRecord(settings=SinkSettings(name="c", topics=("t",)).to_dict()))

    monkeypatch.setattr(recorded_settings, "settings_of_newest_run", found)
    return asked


def test_verify_needs_no_file_for_a_connector_that_has_run(
    recorded: list[ConnectorSettings], verification: Verification, tmp_path: Path
) -> None:
    assert main.main(["verify", "--name", "c", *CLUSTERS, "--internal-topic-prefix", "p", "--repair"]) == 0
    connection = tmp_path / "connection.properties"
    connection.write_text("bootstrap_servers=127.0.0.1:1\nignite_addresses=127.0.0.1:2\nkafka_config.socket.timeout.ms=9000\n")
    assert main.main(["verify", "--name", "c", "--settings", str(connection)]) == 0
    assert [(one.name, one.internal_topic_prefix) for one in recorded] == [("c", "p"), ("c", "ignite-kafka")]
    for settings, _ in verification.asked:
        assert isinstance(settings, SinkSettings)
        assert (settings.topics, settings.bootstrap_servers, settings.ignite_addresses) == (("t",), "127.0.0.1:1", ("127.0.0.1:2",))
    assert verification.asked[1][0].kafka_config == {"socket.timeout.ms": "9000"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "neither a settings file nor --name is given. Give FILE, or --name NAME with --kafka and --ignite."),
        (["--name", "c"], "--kafka and --ignite missing"),
        (["--name", "c", *CLUSTERS[:2]], ": --ignite missing"),
        (["FILE", "--name", "c", *CLUSTERS], "--name is given beside a settings file"),
        (["FILE", "--settings", "FILE"], "--settings is given beside a settings file"),
        (["FILE", "--internal-topic-prefix", "p"], "--internal-topic-prefix is given beside a settings file"),
    ],
)
@pytest.mark.parametrize("command", ["verify", "plan"])
def test_a_file_or_a_name_with_both_clusters(
    command: str, arguments: list[str], why: str, source: str, recorded: list[ConnectorSettings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, *(source if one == "FILE" else one for one in arguments)]) == 2
    assert why in capsys.readouterr().err
    assert recorded == []


def test_plan_needs_no_file_for_a_connector_that_has_run(recorded: list[ConnectorSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[SinkSettings] = []

    def view(settings: SinkSettings, _secrets: Secrets) -> Any:
        planned.append(settings)
        return sink_views.SinkPlanView(settings.name, settings.group_id, settings.value_converter, ())

    monkeypatch.setattr(sink_views, "sink_plan_view", view)
    assert main.main(["plan", "--name", "c", *CLUSTERS]) == 0
    assert [one.topics for one in planned] == [("t",)]
    assert len(recorded) == 1


def test_verify_hands_its_options_on(source: str, verification: Verification) -> None:
    arguments = ["--sample", "2.5%", "--thorough", "--differences", "7", "--repair", "--force", "--repair-at-most", "9"]
    assert main.main(["verify", source, *arguments, "--within", "7d", "--recheck-wait", "5s"]) == 0
    expected = VerifyOptions(2.5, thorough=True, limit=7, repair=True, force=True)
    assert verification.asked[0][1] == replace(expected, repair_at_most=9, within_ms=604_800_000, recheck_wait_ms=5_000)


def test_a_repair_of_too_many_differences_ends_with_6(source: str, verification: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    verification.judged.result.note("missing", b"1", "no record of key '1'")
    verification.judged.result.note("missing", b"2", "no record of key '2'")
    assert main.main(["verify", source, "--repair", "--repair-at-most", "1"]) == 6
    shown = capsys.readouterr()
    assert "no record of key '1'" in shown.out
    assert shown.err.splitlines()[-1].startswith("ignite-kafka: nothing was repaired: 2 keys differ, and a repair may change 1.")
    assert main.main(["verify", source, "--repair", "--repair-at-most", "2"]) == 5


def test_thorough_has_no_effect_on_a_sink(sink: str, verification: Verification, caplog: pytest.LogCaptureFixture) -> None:
    assert main.main(["verify", sink, "--thorough"]) == 0
    assert len(verification.asked) == 1
    assert "--thorough has no effect on a sink" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        ["--sample", "0"],
        ["--sample", "101"],
        ["--sample", "some"],
        ["--within", "7 days"],
        ["--repair-at-most", "-1"],
        ["--differences", "-1"],
    ],
)
def test_bad_options_of_verify_end_with_2(source: str, wrong: list[str], verification: Verification) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main(["verify", source, *wrong])
    assert caught.value.code == 2
    assert verification.asked == []


def test_differences_end_with_5_and_are_shown(source: str, verification: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    verification.judged.result.note("missing", b"1", "no record of key '1'")
    verification.judged.result.other_bytes = 3
    assert main.main(["verify", source, "--sample", "10"]) == 5
    head, row, *rest = (line for line in capsys.readouterr().out.splitlines() if not line.startswith("-"))
    assert "repaired" not in head
    assert row.split() == ["flights", "t", "8", "9", "0", "1", "0", "0", "0", "NO"]
    assert rest[:2] == ["a sample of 10 % of the keys", "flights: no record of key '1'"]
    assert "3 keys of t are keys of the cache in other bytes" in rest[2]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaUnavailable("a broker does not answer"), 1),
        (SettingsError("no such option"), 2),
        (Fenced("a run of the connector began during the repair"), 3),
        (OutcomeUnknown("a put has no reply"), 4),
    ],
)
def test_a_comparison_that_fails_ends_with_the_code_of_its_error(
    error: IgniteKafkaError, code: int, source: str, verification: Verification, capsys: pytest.CaptureFixture[str]
) -> None:
    verification.failure = error
    assert main.main(["verify", source, "--repair"]) == code
    shown = capsys.readouterr()
    assert (shown.out, error.what in shown.err.splitlines()[-1]) == ("", True)


def test_a_wrong_setting_ends_with_2_before_anything_is_compared(tmp_path: Path, verification: Verification) -> None:
    path = tmp_path / "wrong.json"
    path.write_text('{"name": "c", "cache_whitelist": "flights", "no_such": 1}')
    assert main.main(["verify", str(path)]) == 2
    assert verification.checked == []


def test_no_error_has_the_exit_code_of_differences() -> None:
    def codes(error: type[IgniteKafkaError]) -> set[int]:
        return {error.exit_code}.union(*map(codes, error.__subclasses__()))

    assert codes(IgniteKafkaError) == {1, 2, 3, 4, 130}
    assert DIFFERS == 5


def test_differences_of_which_not_all_are_repaired_end_with_5(source: str, verification: Verification) -> None:
    for key in (b"1", b"2"):
        verification.judged.result.note("missing", key, "no record")
    verification.judged.repaired = 1
    assert main.main(["verify", source, "--repair"]) == 5


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["verify", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "0: compared, and all is equal or repaired; 5: compared, and something differs" in shown
    assert "1: the comparison failed, 2: a setting is wrong" in shown


def test_repaired_differences_end_with_0(source: str, verification: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    verification.judged.result.note("missing", b"1", "no record of key '1'")
    verification.judged.repaired = 1
    assert main.main(["verify", source, "--repair"]) == 0
    assert "repaired" in capsys.readouterr().out.splitlines()[-2]


def test_what_is_skipped_is_no_difference_and_said(source: str, verification: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    verification.judged.result.note("skipped", b"", "an entry cannot be converted to a record: no metadata of a binary type")
    assert main.main(["verify", source]) == 0
    shown = capsys.readouterr().out
    assert "no metadata of a binary type" in shown
    assert "flights: 1 skipped by error_handling_policy" in shown
    verification.judged.result.note("unexpected", b"9", "a record of key '9' that the cache does not have")
    assert main.main(["verify", source, "--repair"]) == 5
    assert "flights: no tombstones were sent" in capsys.readouterr().out


def test_what_both_clusters_refuse_costs_no_spark(source: str, verification: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    verification.refusal = TopicError("no topic of the connector exists", "Run the connector first.", topic="t")
    assert main.main(["verify", source]) == 1
    assert (len(verification.checked), verification.masters, verification.asked) == (1, [], [])
    assert "Run the connector first." in capsys.readouterr().err.splitlines()[-1]


def test_a_repair_that_is_interrupted_says_how_to_continue(
    source: str, verification: Verification, capsys: pytest.CaptureFixture[str]
) -> None:
    verification.interrupted = True
    assert main.main(["verify", source]) == 130
    assert "continue" not in capsys.readouterr().err
    assert main.main(["verify", source, "--repair"]) == 130
    assert f"To continue: ignite-kafka verify {source} --repair" in capsys.readouterr().err.splitlines()[-1]


def test_the_result_as_json(source: str, verification: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    verification.judged.result.note("different", b"1", "key '1' differs")
    assert main.main(["verify", source, "--json"]) == 5
    shown = json.loads(capsys.readouterr().out)
    (cache,) = shown.pop("caches")
    assert shown == {"equal": False, "sample_percent": 100.0, "oldest_ms": None, "gap": "", "repair_refusal": ""}
    assert (cache["cache"], cache["different"], cache["equal"], cache["repaired"]) == ("flights", 1, False, 0)
    assert cache["differences"] == [{"kind": "different", "text": "key '1' differs"}]
