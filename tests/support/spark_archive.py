"""A class data archive of Spark's JVM, made once per checkout: it reduces the start of an app from 11 s of CPU to 6 s.

The JVM compares the archive with the jars it was made from, and ignores an archive that does not match.
https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from tests.support.waiting import DEADLINE_S
from tools.servers.jars import WORK

_SPARK = Path(pyspark.__file__).parent
_APP = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(0, 4, 1, 4).mapInArrow(lambda batches: batches, "id long").collect()
spark.stop()
"""


def archive_options(options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the JVM options that load the archive; none if it could not be made."""
    archive = _archive(options, environment)
    # a JVM whose class path differs logs this to standard output, which is the app's
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:disable") if archive else ()


def _archive(options: Sequence[str], environment: Mapping[str, str]) -> Path | None:
    java = os.path.realpath(shutil.which("java") or "java")
    jars = sorted((path.name, path.stat().st_mtime_ns) for path in (_SPARK / "jars").iterdir())
    fingerprint = hashlib.sha256(repr((java, list(options), str(_SPARK), jars)).encode()).hexdigest()[:12]
    archive = WORK / f"spark-{fingerprint}.jsa"
    WORK.mkdir(exist_ok=True)
    with (WORK / "spark-archive.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test processes need it at the same time
        if not archive.exists():
            _make(archive, options, environment)
    return archive if archive.stat().st_size else None


def _make(archive: Path, options: Sequence[str], environment: Mapping[str, str]) -> None:
    """Make the archive; an empty file if this JVM cannot, so that it is not tried again."""
    for old in WORK.glob("spark-*.jsa"):
        old.unlink()
    app, made = WORK / "spark-archive.py", archive.with_suffix(f".{os.getpid()}")
    app.write_text(_APP)
    java_options = " ".join([*options, f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable"])
    command = [str(_SPARK / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "512m"]
    command += ["--driver-java-options", java_options]
    command += ["--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1", str(app)]
    try:
        subprocess.run(command, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=DEADLINE_S, check=True)
    except subprocess.SubprocessError:
        made.unlink(missing_ok=True)
        made.touch()
    made.rename(archive)
