# SPDX-License-Identifier: Apache-2.0
"""What a typo, a missing daemon or a closed door looks like: one clear message, an exit code, and nothing stored."""

import json
import os
import unittest

import harness


class Errors(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.one = self.cluster().start()

    def refused(self, text, code, *words):
        done = self.one.cli("submit", "-", stdin=text, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_specs(self):
        good_train = (harness.ROOT / "configs/jobs/lenet-fashion.yaml").read_text()
        self.refused("kind: command\nrun: 'true'\nworkrs: 2\n", 2, ":3:1", "workrs", "workers")
        self.refused("kind: command\nrun: 'true'\nresources: {memory: 3 parsecs}\n", 2, ":3:", "resources.memory",
                     "parsecs")
        self.refused("kind: command\nrun: 'true'\ntime_limit: 12\n", 2, ":3:", "time_limit", "12")
        self.refused("kind: command\n", 2, "run")
        self.refused("kind: comand\nrun: 'true'\n", 2, ":1:", "kind", "command")
        self.refused("kind: command\nrun: 'true'\nworkers: 0\n", 2, ":3:", "workers", "0")
        self.refused("a: [1\n", 2, ":")
        self.refused("kind: command\nrun: 'true'\nresources: {cpus: 900}\n", 6, "900")
        self.refused(good_train.replace("easgd-sync", "easgd-sink"), 2, "algorithm.name", "easgd-sync")
        self.refused(good_train.replace("/usr/share/datasets/fashion-mnist", "/nowhere/at/all"), 2, "data.path",
                     "/nowhere/at/all")
        missing = self.one.cli("submit", "no-such-file.yaml", check=False)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("no-such-file.yaml", missing.stderr)
        self.assertEqual(json.loads(self.one.cli("jobs", "-a", "-o", "json").stdout).get("jobs", []), [])

    def test_dry_run_stores_nothing_and_shows_the_defaults(self):
        shown = self.one.cli("submit", "--dry-run", "-o", "yaml", "-", stdin="kind: command\nrun: 'true'\n").stdout
        self.assertIn(str(self.one.work), shown)
        self.assertEqual(json.loads(self.one.cli("jobs", "-a", "-o", "json").stdout).get("jobs", []), [])

    def test_exit_codes(self):
        self.assertEqual(self.one.cli("jobz", check=False).returncode, 2)
        self.assertIn("jobs", self.one.cli("jobz", check=False).stderr)
        self.assertEqual(self.one.cli("job", "show", "999", check=False).returncode, 3)
        self.assertEqual(self.one.cli("cancel", "999", check=False).returncode, 3)
        job = self.one.submit("--", "sleep", "1000")
        self.assertEqual(self.one.cli("wait", job, "--timeout", "1s", check=False).returncode, 7)
        self.one.cli("cancel", job)
        self.one.wait_state(job, "CANCELLED")
        self.assertEqual(self.one.cli("cancel", job, check=False).returncode, 5)
        self.assertEqual(self.one.cli("wait", job, check=False).returncode, 1)
        done = self.one.submit("--", "true")
        self.assertEqual(self.one.cli("wait", done).returncode, 0)
        for goal, status in ("done", 0), ("running", 0), ("state=FAILED", 1), ("state=OVER", 2):
            self.assertEqual(self.one.cli("wait", done, "--for", goal, check=False).returncode, status, goal)
        for script, status in ("exit 7", 7), ("kill -9 $$", 137), ("true", 0):
            waited = self.one.cli("submit", "--wait", "--", "sh", "-c", script, check=False)
            self.assertEqual(waited.returncode, status, waited.stderr)

    def test_errors_in_json(self):
        missing = self.one.cli("job", "show", "999", "-o", "json", check=False)
        self.assertIn("error", json.loads(missing.stdout or missing.stderr))

    def test_an_unreachable_daemon_is_one_line(self):
        self.one.kill("sinewd")
        gone = self.one.cli("jobs", check=False)
        self.assertEqual(gone.returncode, 8)
        self.assertEqual(len(gone.stderr.strip().splitlines()), 1, gone.stderr)
        self.assertIn(str(self.one.socket), gone.stderr)

    @unittest.skipIf(os.getuid() != 0, "root opens every socket, and only root can become somebody else")
    def test_a_socket_without_permission_is_one_line(self):
        os.chmod(self.one.socket, 0o600)
        os.chmod(self.one.work, 0o755)
        harness.shutil.copy(harness.BIN / harness.BINARIES["sinew"], self.one.dir / "sinew")
        closed = harness.subprocess.run(
            [self.one.dir / "sinew", "--socket", str(self.one.socket), "jobs"], capture_output=True, text=True,
            user=65534, group=65534, extra_groups=[], cwd="/", env={"PATH": "/usr/bin:/bin"}, timeout=60)
        self.assertEqual(closed.returncode, 4, closed.stderr)
        self.assertEqual(len(closed.stderr.strip().splitlines()), 1, closed.stderr)
        self.assertIn("ermission", closed.stderr)

    def test_a_second_daemon_on_the_same_state_leaves_the_first_alone(self):
        second = self.one.run_once("sinewd", "--config", self.one.config, check=False)
        self.assertEqual(second.returncode, 78, second.stderr)
        self.assertIn(str(self.one.running["sinewd"].pid), second.stderr)
        self.assertEqual(self.one.cli("jobs").returncode, 0)

    def test_a_missing_state_is_refused_with_the_way_out(self):
        other = self.cluster(init=False)
        refused = other.run_once("sinewd", "--config", other.config, check=False)
        self.assertEqual(refused.returncode, 78)
        self.assertIn("--init", refused.stderr)

    def test_a_configuration_error_names_its_place(self):
        bad = self.one.dir / "bad.yaml"
        bad.write_text(self.one.config.read_text() + "log_levle: info\n")
        refused = self.one.run_once("sinewd", "--config", bad, "--check-config", check=False)
        self.assertEqual(refused.returncode, 78)
        self.assertIn("bad.yaml:4", refused.stderr)
        self.assertIn("log_level", refused.stderr)


if __name__ == "__main__":
    harness.main()
