"""Checks that the container file names what is there, and that its command works with the built program."""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

BUILD = Path(os.environ["SKYRANK_BUILD"])
SOURCE = Path(os.environ["SKYRANK_SOURCE"])
FOLDER = SOURCE / "tools/container"
STEPS = FOLDER / "steps.sh"


def instructions():
    """Returns the words and the rests of the container file's instructions."""
    lines = (FOLDER / "Containerfile").read_text().splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


class Container(unittest.TestCase):
    def rests(self, word):
        return [rest for name, rest in instructions() if name == word]

    def last(self, word):
        return self.rests(word)[-1]

    def test_copies_what_exists(self):
        copies = [rest.split() for rest in self.rests("COPY")]
        self.assertTrue(copies)
        stages = [rest.split(" AS ")[1] for rest in self.rests("FROM") if " AS " in rest]
        for *options, source, _ in copies:
            if options:
                self.assertIn(options[0].removeprefix("--from="), stages)
            else:
                self.assertTrue((SOURCE / source).exists(), source)

    def test_takes_the_wheels_from_where_they_are_made(self):
        (source,) = [rest.split()[1] for rest in self.rests("COPY") if rest.startswith("--from=")]
        self.assertEqual(source, "/src/build/wheels/dist")
        self.assertIn("dist=$wheels/dist", (SOURCE / "tools/wheel.sh").read_text())

    def test_runs_steps_that_the_script_has(self):
        self.assertEqual(self.rests("RUN"), ["/src/tools/container/steps.sh build", "/wheels/steps.sh install"])
        self.assertTrue(os.access(STEPS, os.X_OK))
        text = STEPS.read_text()
        for step in ("build", "install"):
            self.assertRegex(text, rf"(?m)^{step}\(\) {{$")
        for script in re.findall(r"(?m)^  (tools/\S+\.sh)", text):
            self.assertTrue(os.access(SOURCE / script, os.X_OK), script)
        done = subprocess.run([STEPS], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "usage: tools/container/steps.sh build | install\n"))

    def test_has_a_user_and_a_program_of_the_script(self):
        text = STEPS.read_text()
        self.assertIn(f" user={self.last('USER')}\n", text)
        (program,) = json.loads(self.last("ENTRYPOINT"))
        self.assertEqual(program, re.search(r"prefix=(\S+)", text)[1] + "/bin/skyrank")
        self.assertIn('skyrank = "skyrank_command:main"', (SOURCE / "pyproject.toml").read_text())
        self.assertIn(f"mkdir -p {self.last('WORKDIR')}\n", text)

    def test_its_commands_work(self):
        done = subprocess.run([BUILD / "skyrank", *json.loads(self.last("CMD"))], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("usage", done.stdout.lower())
        # What the file says beside its instructions, over the folder that it mounts.
        mounted, words = re.search(r'-v "\$PWD/(\S+):/data:ro" skyrank (.*)', (FOLDER / "Containerfile").read_text()).groups()
        done = subprocess.run([BUILD / "skyrank", *words.split()], cwd=SOURCE / mounted, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rows from", done.stdout)


if __name__ == "__main__":
    unittest.main()
