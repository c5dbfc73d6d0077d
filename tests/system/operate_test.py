# SPDX-License-Identifier: Apache-2.0
"""Hold, release and requeue of jobs; cordon, drain and resume of nodes; over a crash of the daemon too."""

import json
import signal
import unittest

import harness

MOVABLE = """\
kind: command
run: [/bin/sh, -c, "echo run on $SINEW_NODE >> trace; trap 'exit 0' TERM; while true; do sleep 0.1; done"]
resources: {cpus: 1}
retry: {max: 1, on: [node_fail]}
"""


class Operate(harness.SystemTest):
    def test_hold_release_requeue(self):
        one = self.cluster().start()
        blocker = one.submit("-n", "2", "--gpus", "1", "--", "sleep", "1000")
        one.wait_state(blocker, "RUNNING")
        job = one.submit("--gpus", "1", "--", "sleep", "1000")
        self.assertEqual(one.cli("hold", job).stdout, f"jobs/{job} held\n")
        self.assertEqual(one.cli("hold", blocker, check=False).returncode, 5)
        one.cli("cancel", blocker)
        one.wait_state(blocker, "CANCELLED")
        one.kill("sinewd")
        one.start_daemon()
        one.wait_up()
        self.assertEqual(one.job(job)["reasons"][0]["code"], "HELD")
        self.assertIn("sinew release", one.cli("explain", job).stdout)
        one.cli("release", job)
        one.wait_state(job, "RUNNING")
        one.cli("requeue", "--hold", job)
        one.wait_state(job, "PENDING")
        self.assertEqual(one.job(job)["reasons"][0]["code"], "HELD")
        one.cli("release", job)
        one.wait_state(job, "RUNNING")
        self.assertEqual(one.job(job)["run"], 2)

    def test_a_drained_node_is_empty_and_takes_nothing(self):
        one = self.cluster(nodes=2).start()
        job = one.submit("-", stdin=MOVABLE)
        one.wait_state(job, "RUNNING")
        node = one.job(job)["tasks"][0]["node"]
        other = "n1" if node == "n2" else "n2"
        self.assertEqual(one.cli("node", "drain", node, check=False).returncode, 2, "it demands a reason")
        stays = one.submit("--", "sleep", "1000")
        one.wait_state(stays, "RUNNING")
        self.assertEqual(one.job(stays)["tasks"][0]["node"], node, "pack puts it there")
        refused = one.cli("node", "drain", node, "--reason", "new kernel", "--deadline", "0s", check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn(f"jobs/{stays}", refused.stderr)
        drained = one.cli("node", "drain", node, "--reason", "new kernel", "--deadline", "0s", "--force")
        self.assertEqual(drained.stdout, f"nodes/{node} drained\n")
        one.kill("sinewd")
        one.start_daemon()
        one.wait_up()
        shown = json.loads(one.cli("node", "show", node, "-o", "json").stdout)
        self.assertTrue(shown["draining"])
        self.assertEqual(shown["cordonReason"], "new kernel")
        self.assertIn("DRAINED", one.cli("nodes").stdout)
        one.wait_state(job, "RUNNING")
        self.assertEqual(one.job(job)["tasks"][0]["node"], other)
        self.assertEqual(one.job(job)["run"], 2)
        one.cli("node", "resume", node)
        self.assertNotIn("DRAIN", one.cli("nodes").stdout)

    def test_backup_and_restore(self):
        one = self.cluster().start()
        done = one.submit("--name", "before", "--", "true")
        one.wait_state(done, "COMPLETED")
        file = one.dir / "backup.db"
        self.assertIn("verified", one.cli("admin", "backup", file).stdout)
        self.assertEqual(one.cli("admin", "backup", file, check=False).returncode, 5, "it overwrites nothing")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertIn("1 jobs (0 not ended), 1 nodes", one.cli("admin", "check", file).stdout)
        after = one.submit("--", "true")
        one.wait_state(after, "COMPLETED")
        one.kill("sinewd", signal.SIGTERM)
        refused = one.cli("admin", "restore", file, "--config", one.config, check=False)
        self.assertEqual(refused.returncode, 78)
        self.assertIn("already holds a state", refused.stderr)
        (one.dir / "state").rename(one.dir / "state.old")
        one.cli("admin", "restore", file, "--config", one.config)
        one.start_daemon()
        one.wait_up()
        self.assertEqual([j["name"] for j in json.loads(one.cli("jobs", "-a", "-o", "json").stdout)["jobs"]],
                         [f"jobs/{done}"])
        again = one.submit("--", "true")
        self.assertEqual(again, 1_000_001)
        one.wait_state(again, "COMPLETED")
        self.assertEqual(sorted(p.name for p in (one.dir / "state").glob("backup*")), [])

    def test_the_daemons_own_user_is_an_operator(self):
        one = self.cluster().start()
        self.assertIn("operator", one.cli("whoami").stdout)


if __name__ == "__main__":
    harness.main()
