# SPDX-License-Identifier: Apache-2.0
"""`sinew up`, a job, `sinew down`: what somebody types first."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness


class Up(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sinew-", dir="/tmp"))
        self.sinew_path = (harness.BIN / harness.BINARIES["sinew"]).resolve()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"),
                    "XDG_STATE_HOME": str(self.home / "state"), "XDG_RUNTIME_DIR": str(self.home / "run")}
        (self.home / "run").mkdir(mode=0o700)
        # The command line finds its daemons beside itself.
        self.bin = self.home / "bin"
        self.bin.mkdir()
        for name, path in harness.BINARIES.items():
            shutil.copy((harness.BIN / path).resolve(), self.bin / name)

    def tearDown(self):
        self.sinew("down", check=False)
        shutil.rmtree(self.home, ignore_errors=True)

    def sinew(self, *args, check=True):
        done = subprocess.run([self.bin / "sinew", *args], capture_output=True, text=True, env=self.env,
                              cwd=self.home, stdin=subprocess.DEVNULL, timeout=120)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_one_command_then_a_job_then_down(self):
        before = self.sinew("jobs", check=False)
        self.assertEqual(before.returncode, 8)
        self.assertEqual(len(before.stderr.strip().splitlines()), 1, before.stderr)
        self.assertIn("sinew up", before.stderr)

        self.sinew("up")
        job = self.sinew("submit", "--parsable", "--", "hostname").stdout.strip()
        self.sinew("wait", job, "--timeout", "60s")
        self.assertEqual(self.sinew("logs", job).stdout.strip(), os.uname().nodename)
        self.assertIn("running", self.sinew("up").stdout + self.sinew("up").stderr)

        self.sinew("down")
        self.assertEqual(self.sinew("jobs", check=False).returncode, 8)
        left = [words for _, words in harness.processes() if any(str(self.home) in w for w in words)]
        self.assertEqual(left, [])

        self.sinew("up")
        shown = json.loads(self.sinew("job", "show", job, "-o", "json").stdout)
        self.assertEqual(shown["state"], "COMPLETED")

    def test_state_that_vanished_is_not_replaced_silently(self):
        self.sinew("up")
        self.sinew("down")
        shutil.rmtree(self.home / "state")
        refused = self.sinew("up", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--init", refused.stderr)


if __name__ == "__main__":
    harness.main()
