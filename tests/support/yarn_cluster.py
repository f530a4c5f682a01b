"""A YARN cluster with HDFS (Hadoop's minicluster), its clients `yarn` and `spark-submit`, and its applications as a test sees them."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import urlopen
from xml.etree import ElementTree

import psutil

from tests.support import QUICK_JVM
from tests.support.java_programs import SOURCES, compile_java
from tests.support.processes import alive, kill_process
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until
from tools.packed_python import packed
from tools.servers import Jars
from tools.servers.process import ServerProcess

_ENDED = ("FINISHED", "FAILED", "KILLED")
_LOG4J = """log4j.rootLogger=INFO,log
log4j.appender.log=org.apache.log4j.ConsoleAppender
log4j.appender.log.layout=org.apache.log4j.PatternLayout
log4j.appender.log.layout.ConversionPattern=%d %p %c{1} %m%n
"""
# as an administrator writes it; everything on loopback
_SPARK_DEFAULTS = {
    "spark.executor.instances": "1",
    "spark.executor.cores": "2",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.yarn.am.memory": "512m",
    "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.yarn.am.extraJavaOptions": " ".join(QUICK_JVM),
    "spark.executor.extraJavaOptions": " ".join(QUICK_JVM),
    "spark.yarn.executor.launch.excludeOnFailure.enabled": "false",
}


@dataclass(frozen=True)
class YarnApplication:
    """An application, as the resource manager's REST API describes it."""

    id: str
    state: str
    final_status: str
    diagnostics: str

    @property
    def running(self) -> bool:
        return self.state not in _ENDED


class YarnCluster:
    """The cluster, running inside ``with``. A packed Python is in HDFS: ``hdfs:///apps/env.tar.gz``.

    :param folder: of its files; :attr:`bin` has the programs that workers need on their PATH.
    :param python: interpreter whose PySpark submits, and runs in the cluster.
    """

    def __init__(self, folder: Path, jars: Jars, python: str = sys.executable) -> None:
        self.folder, self._jars = folder, jars
        self.bin, self.conf, self._spark_conf = folder / "bin", folder / "conf", folder / "spark"
        classes = folder / "classes"
        for made in (self.bin, self._spark_conf, classes):
            made.mkdir(parents=True)
        compile_java([SOURCES / "MiniYarn.java"], jars.yarn, classes)
        (classes / "log4j.properties").write_text(_LOG4J)
        found = subprocess.run([python, "-c", "import pyspark; print(pyspark.__path__[0])"], capture_output=True, text=True, check=True)
        self._spark_home = found.stdout.strip()
        # the jars are on all hosts, so that no app uploads them
        defaults = {**_SPARK_DEFAULTS, "spark.yarn.jars": f"local:{self._spark_home}/jars/*"}
        (self._spark_conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in defaults.items()))
        options = [*QUICK_JVM, "-Xmx512m", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Djava.net.preferIPv4Stack=true"]
        command = ["java", *options, "-cp", f"{classes}:{jars.yarn}/*", "MiniYarn", str(folder), str(packed())]
        self._process = ServerProcess("YARN", command, folder / "yarn.log", cwd=folder)
        self._family: dict[int, psutil.Process] = {}

    def __enter__(self) -> YarnCluster:
        self._process.await_ready(lambda: "\nready\n" in self._process.output(), DEADLINE_S)
        # `yarn application …` and `yarn logs …`, as Hadoop's own script runs them
        self._program("yarn", 'case "$1" in logs) main=LogsCLI; shift;; *) main=ApplicationCLI;; esac', *self._client("$main"))
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._process.stop()

    def _client(self, main: str) -> tuple[str, ...]:
        java = " ".join(["java", *QUICK_JVM, "-cp", f"'{self.conf}:{self._jars.yarn}/*'"])
        return (f'exec {java} org.apache.hadoop.yarn.client.cli.{main} "$@"',)

    def _program(self, name: str, *lines: str) -> None:
        program = self.bin / name
        program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a worker that submits to the cluster."""
        return {
            "HADOOP_CONF_DIR": str(self.conf),
            "YARN_CONF_DIR": str(self.conf),
            "SPARK_CONF_DIR": str(self._spark_conf),
            "SPARK_HOME": self._spark_home,
        }

    @property
    def web_address(self) -> str:
        """Address of the resource manager's REST API."""
        root = ElementTree.parse(self.conf / "yarn-site.xml").getroot()
        found = {entry.findtext("name"): entry.findtext("value") for entry in root}
        return str(found["yarn.resourcemanager.webapp.address"])

    def connection(self, **extra: Any) -> dict[str, Any]:
        """The Spark connection of an Airflow."""
        return {"conn_type": "spark", "host": "yarn", "extra": extra}

    def applications(self) -> list[YarnApplication]:
        """All applications, oldest first."""
        with urlopen(f"http://{self.web_address}/ws/v1/cluster/apps", timeout=REQUEST_S) as reply:
            apps = json.load(reply)["apps"].get("app", [])
        found = [YarnApplication(app["id"], app["state"], app["finalStatus"], app["diagnostics"]) for app in apps]
        return sorted(found, key=lambda app: app.id)

    def application(self, app_id: str) -> YarnApplication:
        return next(app for app in self.applications() if app.id == app_id)

    def running(self) -> list[YarnApplication]:
        """The applications that run."""
        return [app for app in self.applications() if app.running]

    def await_end(self, app_id: str) -> YarnApplication:
        """Wait until an application has ended."""
        wait_until(lambda: not self.application(app_id).running, f"the end of {app_id}", poll_s=0.5)
        return self.application(app_id)

    def containers(self, app_id: str, attempt: int | None = None) -> list[psutil.Process]:
        """Processes of an application's containers; of one attempt if it is given."""
        mark = app_id.replace("application_", "container_") + ("" if attempt is None else f"_{attempt:02d}_")
        found = []
        for process in psutil.process_iter(["environ"]):
            if (process.info["environ"] or {}).get("CONTAINER_ID", "").startswith(mark) and alive(process):
                found.append(process)
        return found

    def drivers(self, app_id: str) -> list[psutil.Process]:
        """Python processes of an application's drivers."""
        return [process for process in self.containers(app_id) if _runs_app(process)]

    def kill_master(self, app_id: str, *, jvm_alone: bool) -> None:
        """Kill the first application master of an application, or all processes of its container (SIGKILL)."""
        driver = [process for process in self.containers(app_id, 1) if process.environ()["CONTAINER_ID"].endswith("_000001")]
        masters = [process for process in driver if process.name() == "java" and "ApplicationMaster" in " ".join(process.cmdline())]
        assert masters, f"{app_id} has no application master: {driver}"
        for process in masters if jvm_alone else driver:
            kill_process(process)

    def end_all(self) -> None:
        """Kill the applications that a test left running."""
        for app in self.running():
            self.run("application", "-kill", app.id)
            self.await_end(app.id)

    def run(self, *arguments: str) -> str:
        """The output of ``yarn``."""
        command = [str(self.bin / "yarn"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout

    def collected_log(self, command: str) -> str | None:
        """What a command ``yarn logs …`` shows; None if YARN has not collected the logs yet."""
        program, *arguments = command.split()
        shown = subprocess.run([str(self.bin / program), *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return shown.stdout if "LogType:stderr" in shown.stdout else None

    def log(self, app_id: str = "") -> str:
        """Logs of the containers of an application, or of all, while YARN has not collected them."""
        texts = []
        for parent, folders, names in os.walk(self.folder / "yarn"):  # passes over what YARN removes meanwhile
            folders[:] = sorted(name for name in folders if name not in ("usercache", "filecache", "nmPrivate"))
            if Path(parent).name.startswith("container_") and Path(parent).parent.name.startswith(app_id or "application_"):
                for name in sorted(names):
                    with suppress(FileNotFoundError):
                        texts.append(Path(parent, name).read_text(errors="replace"))
        return "\n".join(texts)

    def staging(self, app_id: str) -> dict[str, str]:
        """Permissions of an application's staging folder in HDFS and of the files in it, by name."""
        listed = subprocess.run(
            ["java", *QUICK_JVM, "-cp", f"{self.conf}:{self._jars.yarn}/*", "org.apache.hadoop.fs.FsShell", "-ls", "-R", "/user"],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=True,
        ).stdout
        found = re.findall(rf"^([drwx-]{{10}}) .* (\S*/{app_id}\S*)$", listed, re.MULTILINE)
        return {name.rpartition("/")[2]: rights for rights, name in found}


def _runs_app(process: psutil.Process) -> bool:
    try:
        name, words = process.name(), process.cmdline()
    except psutil.NoSuchProcess:
        return False
    return name.startswith("python") and any(word.endswith(("ignite_to_kafka.py", "kafka_to_ignite.py")) for word in words)
