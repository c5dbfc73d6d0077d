# SPDX-License-Identifier: Apache-2.0
"""A full disk under the daemon's state: writes are refused with a way out, running jobs go on, and it heals itself."""

import os
import subprocess
import unittest

import harness
from harness import eventually


@unittest.skipIf(os.getuid() != 0, "only root can mount a small disk")
class DiskFull(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.mounted = None

    def tearDown(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.mounted], check=True)
        super().tearDown()

    def test_refuses_writes_goes_on_and_heals(self):
        one = self.cluster(init=False)
        disk = one.dir / "state"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", disk]).returncode != 0:
            self.skipTest("mount is not allowed here")
        self.mounted = disk
        one.config.write_text(one.config.read_text().replace(f"{disk}\n", f"{disk}/sinew\n"))
        one.run_once("sinewd", "--config", one.config, "--init")
        one.start()
        running = one.submit("--", "/bin/bash", "-c", "until [ -e go ]; do sleep 0.05; done")
        one.wait_state(running, "RUNNING")

        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"\0" * 4096)
            except OSError:
                pass

        def refused():
            done = one.cli("submit", "--", "true", check=False)
            return done if done.returncode != 0 else None
        done = eventually("a submit is refused", refused)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("space", done.stderr)
        self.assertIsNone(one.running["sinewd"].poll(), "the daemon lives on")
        self.assertEqual(one.state(running), "RUNNING")  # reads go on
        (one.work / "go").touch()
        eventually("the task ended", lambda: not one.task_processes())

        filler.unlink()
        one.wait_state(running, "COMPLETED")
        after = one.submit("--", "true")
        one.wait_state(after, "COMPLETED")


if __name__ == "__main__":
    harness.main()
