"""A standalone cluster on loopback, started from the pip package: a master, workers, and whatever else runs on Spark's Java.

Every process is of our own making, stands in a session of its own, and is ended by its number. Ports are whichever are free.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyspark

import gossamer
from gossamer.pipeline import java

__all__ = ["Cluster", "Program", "cluster", "connect_server", "environment"]

PATIENCE_S = 60
SOURCES = str(Path(gossamer.__file__).parent.parent)


def environment() -> dict[str, str]:
    """What a program needs to know to run Spark with this Python, this Java and these sources."""
    return {
        **os.environ,
        "JAVA_HOME": str(java.find().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": SOURCES,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


class Program:
    """A program under way, its words in a file."""

    def __init__(self, command: list[str], log: Path, more: Mapping[str, str] | None = None) -> None:
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=environment() | dict(more or {}), start_new_session=True
            )

    def said(self, pattern: str) -> str:
        """Wait until it has said something; the part that was asked for."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if found := re.search(pattern, self.log.read_text("utf-8", "replace")):
                return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise TimeoutError(f"never said {pattern!r}:\n{self.log.read_text('utf-8', 'replace')[-2000:]}")

    def kill(self) -> None:
        """End it, and what it has started, without a word."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def wait(self) -> int:
        """Let it come to its end."""
        try:
            return self.process.wait(2 * PATIENCE_S)
        finally:
            self.kill()


class Cluster:
    """A master and some workers of one core each."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.master = spark_class("org.apache.spark.deploy.master.Master", folder / "master.log", *LOOPBACK)
        try:
            self.url = self.master.said(r"Starting Spark master at (spark://\S+)")
            self.workers = [self._worker(n) for n in range(workers)]
            for worker in self.workers:
                worker.said("(Successfully registered with master)")
        except BaseException:
            self.stop()
            raise

    workers: list[Program]

    def _worker(self, number: int) -> Program:
        place = self.folder / f"worker-{number}"
        much = ("--cores", "1", "--memory", "1g", "--work-dir", str(place))
        return spark_class("org.apache.spark.deploy.worker.Worker", place.with_suffix(".log"), *LOOPBACK, *much, self.url)

    def stop(self) -> None:
        """End all of it."""
        for program in [*getattr(self, "workers", []), self.master]:
            program.kill()


LOOPBACK = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


def spark_class(name: str, log: Path, *words: str, memory: str = "256m") -> Program:
    """One of Spark's own programs."""
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    return Program([str(script), name, *words], log, {"SPARK_DAEMON_MEMORY": memory})


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster for a while."""
    made = Cluster(folder, workers)
    try:
        yield made
    finally:
        made.stop()


@contextlib.contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server of two cores for a while, by its address."""
    conf = {"connect.grpc.binding.port": "0", "ui.enabled": "false", "driver.host": "127.0.0.1"}
    settings = [word for name, value in conf.items() for word in ("--conf", f"spark.{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    words = ("--class", server, "--master", "local[2]", *settings, "spark-internal")
    program = spark_class("org.apache.spark.deploy.SparkSubmit", folder / "connect.log", *words, memory="1g")
    try:
        port = program.said(r"Spark Connect server started at: \S*?:(\d+)\s")
        yield f"sc://127.0.0.1:{port}"
    finally:
        program.kill()
