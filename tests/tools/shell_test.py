"""Tests of `skyrank shell`: by a pipe, and by a terminal that a pseudo-terminal plays. The program is $SKYRANK."""

import os
import pathlib
import pty
import re
import select
import signal
import stat
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["SKYRANK"]
EDITS = os.environ.get("SKYRANK_EDITS") == "1"
CSV = "name,price,rating\nAnt,30,2\nBee,10,5\nCat,20,9\n"
PROMPT = "skyrank> "


class Terminal:
    """The shell on a terminal of 200 columns."""

    def __init__(self, *arguments, folder):
        environment = {**os.environ, "TERM": "vt100", "HOME": str(folder), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        environment.pop("XDG_STATE_HOME", None)
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(PROGRAM, [PROGRAM, "shell", *arguments], {**environment, "COLUMNS": "200"})
        self.shown = ""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text, seconds=20):
        """Waits until the terminal shows a text behind all that was waited for, and returns what came up to it."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            if time.monotonic() > end or not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} did not come; there was {self.shown!r}")
        before, self.shown = self.shown.split(text, 1)
        return before

    def _read(self, seconds):
        if not select.select([self.terminal], [], [], max(seconds, 0))[0]:
            return False
        try:
            read = os.read(self.terminal, 65536)
        except OSError:  # as Linux says that the other side is closed
            return False
        self.shown += re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", read.decode(errors="replace"))
        return bool(read)

    def status(self):
        """Waits for the end of the shell, and returns its exit status."""
        while self._read(20):
            pass
        ended, status = os.waitpid(self.process, os.WNOHANG)
        for _ in range(200):
            if ended:
                break
            time.sleep(0.05)
            ended, status = os.waitpid(self.process, os.WNOHANG)
        if not ended:
            os.kill(self.process, signal.SIGKILL)
            _, status = os.waitpid(self.process, 0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


class Shell(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "pets.csv").write_text(CSV)

    def run_shell(self, text, *arguments):
        return subprocess.run([PROGRAM, "shell", *arguments], input=text, capture_output=True, text=True, cwd=self.folder, timeout=60)

    def test_a_script(self):
        script = (
            ".tables\n-- a comment; with a semicolon\nSELECT name\n  FROM pets -- 'quote\nORDER BY price\nLIMIT 1;\n"
            "SELECT ';' AS s, count(*) AS n FROM pets; SELECT price FROM 'pets.csv' WHERE name = 'Cat'\n;"
            "\n.schema pets\n.quit\nSELECT nothing FROM nowhere;\n"
        )
        ended = self.run_shell(script, "pets.csv", "--quiet")
        self.assertEqual(ended.stderr, "")
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(
            ended.stdout.split("\n"),
            "pets  pets.csv|answer|name|----|Bee|answer|s  n|-  -|;  3|answer|price|-----|   20|column  type    first values"
            "|------  ------  -------------|name    string  Ant, Bee, Cat|price   int64   30, 10, 20|rating  int64   2, 5, 9|".split("|"),
        )

    def test_mistakes_do_not_end_a_script_but_tell_in_its_status(self):
        ended = self.run_shell("SELECT x FROM pets;\n.scheme\nSELECT max(price) AS m FROM pets", "pets.csv", "-q")
        self.assertEqual(ended.stdout, "answer\n m\n--\n30\n")
        self.assertIn("there is no column 'x'", ended.stderr)
        self.assertIn("there is no command '.scheme'; did you mean '.schema'?", ended.stderr)
        self.assertEqual(ended.returncode, 2)
        self.assertEqual(self.run_shell("", "none.csv").returncode, 2)

    def test_tables_have_names(self):
        script = ".open b=pets.csv\nSELECT count(*) AS n FROM b; SELECT count(*) AS n FROM a;.tables\n;SELECT * FROM c;"
        ended = self.run_shell(script, "a=pets.csv", "-q")
        self.assertEqual(ended.stdout.count("n\n-\n3\n"), 2)
        self.assertIn("there is no file 'c'", ended.stderr)

    def test_explain_shows_the_plan_alone(self):
        ended = self.run_shell(".explain SELECT name FROM pets\nORDER BY price LIMIT 1;\n.analyze SELECT name FROM pets ORDER BY price LIMIT 1;", "pets.csv")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout.count("top-k  low price; limit: 1"), 2)
        self.assertIn("measured 1 row", ended.stdout)
        self.assertNotIn("Bee", ended.stdout)

    def test_a_terminal(self):
        shell = Terminal("pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        shell.type("SELECT name FROM pets\n")
        shell.wait_for("...> ")
        shell.type("ORDER BY price LIMIT 1;\n")
        self.assertIn("Bee", shell.wait_for(PROMPT))
        shell.type("SELECT nonsense")
        shell.wait_for("nonsense")
        shell.type("\x03")
        shell.wait_for("\n" + PROMPT)
        shell.type("SELECT count(*) + 40 AS n FROM pets;\n")
        self.assertIn("43", shell.wait_for(PROMPT))
        shell.type("\x04")
        self.assertEqual(shell.status(), 0)

    def test_an_interrupt_takes_keys_that_the_shell_had_seen(self):
        shell = Terminal("pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        for _ in range(200):
            shell.type("a")
            shell.type("\x03")
            shell.wait_for("\n" + PROMPT)
        shell.type("\x04")
        self.assertEqual(shell.status(), 0)

    def test_an_end_that_is_typed_ahead_ends_the_shell(self):
        shell = Terminal("pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        shell.type("SELECT name FROM pets ORDER BY price LIMIT 1;\n")
        shell.wait_for("Bee")  # while the terminal has its lines of its own
        shell.type("\x04")
        self.assertEqual(shell.status(), 0)

    def test_an_interrupt_ends_the_query_and_not_the_shell(self):
        points = ["generate", "--distribution", "anticorrelated", "--rows", "150000", "--dims", "12", "--out", "points.parquet"]
        subprocess.run([PROGRAM, *points], cwd=self.folder, check=True, capture_output=True)
        shell = Terminal("points.parquet", "pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        shell.type("SELECT count(*) AS n FROM points;\n")
        self.assertIn("150000", shell.wait_for(PROMPT))
        columns = " PLUS ".join(f"LOW c{i}" for i in range(12))
        shell.type(f"SELECT row FROM points PREFERRING {columns} OPTIONS (algorithm = bnl);\n")
        shell.wait_for("PREFERRING")
        time.sleep(0.5)
        shell.type("\x03")
        self.assertIn("interrupted", shell.wait_for(PROMPT))
        shell.type("SELECT name FROM pets WHERE price = 20;\n")
        self.assertIn("Cat", shell.wait_for(PROMPT))
        os.kill(shell.process, signal.SIGTERM)
        self.assertEqual(shell.status(), 128 + signal.SIGTERM)

    @unittest.skipUnless(EDITS, "built without libedit")
    def test_names_are_completed(self):
        shell = Terminal("pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        for typed in ("sel\tra\tFROM pe\tWHERE pric\t= 20;\n", ".ta\t\n"):
            shell.type(typed)
            shown = shell.wait_for(PROMPT)
        self.assertIn("pets  pets.csv", shown)
        shell.type("SELECT \t\t")
        self.assertIn("rating", shell.wait_for("rating") + "rating")
        shell.type("\x03")
        shell.wait_for("\n" + PROMPT)
        shell.type(".quit\n")
        self.assertEqual(shell.status(), 0)
        history = (self.folder / ".local/state/skyrank/history").read_text()
        self.assertIn("rating", history)
        self.assertIn("FROM", history)

    @unittest.skipUnless(EDITS, "built without libedit")
    def test_the_history_outlives_the_shell(self):
        shell = Terminal("pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        shell.type("SELECT max(price) AS m -- the most\n")
        shell.wait_for("...> ")
        shell.type("FROM pets;\n")
        self.assertIn("30", shell.wait_for(PROMPT))
        shell.type("\x04")
        self.assertEqual(shell.status(), 0)
        file = self.folder / ".local/state/skyrank/history"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        shell = Terminal("pets.csv", folder=self.folder)
        shell.wait_for(PROMPT)
        shell.type("\x1b[A\n")  # the key up
        self.assertIn("30", shell.wait_for(PROMPT))
        shell.type(".exit\n")
        self.assertEqual(shell.status(), 0)


if __name__ == "__main__":
    unittest.main()
