"""A study for tests of the collector, and what serves it."""

import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import psycopg

from askance import Study
from askance.collector import Questionnaire
from waiting import wait_until

STUDY = """
[study]
name = "exams"
title = "Cheating in exams"

[page]
languages = ["en", "de"]
formulas = ["cheated ~ age"]
precision = 0.05

[page.texts.en]
introduction = "A study of the University of Example."
[page.texts.en.covariates.age]
text = "How old are you?"
[page.texts.en.covariates.school]
text = "Which school?"
[page.texts.de]
title = "Spicken in Prüfungen"
[page.texts.de.questions.cheated]
text = "Haben Sie je in einer Prüfung gespickt?"
choices = ["nein", "ja"]
[page.texts.de.questions.drugs]
text = "Wie oft haben Sie Mittel genommen, um zu lernen?"
choices = ["nie", "einmal", "oft"]
[page.texts.de.covariates.age]
text = "Wie alt sind Sie?"
[page.texts.de.covariates.school]
text = "Welche Schule?"
levels = ["Nord", "Süd"]

[questions.cheated]
text = "Have you ever cheated in an exam?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[questions.drugs]
text = "How often did you take drugs to study?"
choices = ["never", "once", "often"]
channel = { design = "randomized-response", epsilon = 1.0 }

[covariates.age]
type = "number"
[covariates.school]
type = "category"
levels = ["north", "south"]
missing = true
"""
# One question, nothing else: for tests of keeping.
PLAIN = """
[questions.cheated]
text = "Have you ever cheated?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
"""


def questionnaire(text=STUDY):
    return Questionnaire(Study.parse(text))


def response(asked, token, **reports):
    """What the page of the plain study, or of the larger one, sends."""
    names = [question.name for question in asked.study.questions]
    covariates = {"age": 30, "school": None} if asked.study.covariates else {}
    sent = {name: reports.get(name, 0) for name in names}
    return {"study": asked.digest, "token": token, "designs": {}, "reports": sent, "covariates": covariates}


class ServerProcess:
    """``askance serve`` in a process of its own, which can be killed."""

    def __init__(self, folder, *options, program=None):
        self.folder = Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        run = (
            [sys.executable, "-c", "from askance.cli.app import main; main()"]
            if program is None
            else [sys.executable, str(program)]
        )
        self.command = [*run, "serve", "study.toml", "--port", str(self.port), *options]
        self.process = None
        self.said = ""

    def start(self):
        self.said = ""
        self.process = subprocess.Popen(self.command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.listener = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self.listener.start()
        wait_until(self.answers, f"a server: {self.said}")
        return self

    def _listen(self, process):
        with process.stderr:
            for line in process.stderr:
                self.said += line

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended: {self.said}")
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.listener.join()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.listener.join()

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()


# -- PostgreSQL ------------------------------------------------------------------------------------------------------


def postgres_programs():
    """The folder of PostgreSQL's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    here = shutil.which("postgres")
    return Path(here).parent if here and shutil.which("initdb") else None


class Postgres:
    """A PostgreSQL cluster of our own, reached by a socket in a folder."""

    def __init__(self):
        self.programs = postgres_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="askance-pg-"))
        self.owner = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            user = next(u.pw_name for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody"))
            shutil.chown(self.folder, user)
            self.owner = ["runuser", "-u", user, "--"]
        self.run("initdb", "-D", f"{self.folder}/data", "-U", "askance", "-A", "trust", "-N")
        self.process = None
        self.databases = 0

    def run(self, program, *words):
        command = [*self.owner, str(self.programs / program), *words]
        subprocess.run(command, check=True, capture_output=True, cwd="/", timeout=600)

    def start(self):
        options = ["-k", str(self.folder), "-c", "listen_addresses=", "-c", "max_connections=60"]
        command = [*self.owner, str(self.programs / "postgres"), "-D", f"{self.folder}/data", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/")
        wait_until(self.answers, "PostgreSQL")
        return self

    def url(self, database="postgres"):
        return f"postgresql://askance@/{database}?host={self.folder}"

    def answers(self):
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    def database(self):
        """A new, empty database."""
        self.databases += 1
        name = f"study{self.databases}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "stop", "-m", mode)
        self.process.wait()

    def remove(self):
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def running_postgres():
    cluster = Postgres().start()
    try:
        yield cluster
    finally:
        cluster.remove()


def links_of(text):
    return re.findall(r"#(\S+)", text)
