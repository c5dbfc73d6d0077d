# SPDX-License-Identifier: Apache-2.0
"""Jobs through their lives on real daemons: gangs, queues, limits, cancels, logs, what tasks are given."""

import json
import time

import harness
from harness import eventually

STUBBORN = """\
kind: command
preempt: {grace: 1s}
run: [/bin/bash, -c, 'trap "" TERM; (trap "" TERM; setsid sleep 1000 & echo child >> trace; wait) & while true; do sleep 1; done']
"""


class Lifecycle(harness.SystemTest):
    def test_output_environment_and_folder(self):
        cluster = self.cluster().start()
        folder = cluster.work / "somewhere"
        folder.mkdir()
        job = cluster.submit_yaml("kind: command\nworkers: 2\nenv: {COLOUR: blue}\n"
                                  "run: [/bin/bash, -c, 'pwd; env; echo to-errors >&2']\n", cwd=folder)
        cluster.wait_state(job, "COMPLETED")
        for rank in (0, 1):
            out = cluster.cli("logs", job, "--rank", rank).stdout.splitlines()
            self.assertEqual(out[0], str(folder))
            env = dict(line.split("=", 1) for line in out if "=" in line)
            self.assertEqual(env["RANK"], str(rank))
            self.assertEqual(env["WORLD_SIZE"], "2")
            self.assertEqual(env["LOCAL_RANK"], str(rank))
            self.assertEqual(env["LOCAL_WORLD_SIZE"], "2")
            self.assertEqual(env["OMP_NUM_THREADS"], "1")
            self.assertEqual(env["COLOUR"], "blue")
            self.assertEqual(env["SINEW_JOB_ID"], str(job))
            self.assertGreater(int(env["MASTER_PORT"]), 0)
            self.assertNotIn("TEST_SRCDIR", env)
        errors = cluster.cli("logs", job, "--rank", 0, "--stderr").stdout
        self.assertEqual(errors, "to-errors\n")

    def test_a_gang_holds_nothing_until_every_rank_fits(self):
        cluster = self.cluster(nodes=2).start()  # two devices each
        first = cluster.submit_yaml("kind: command\nworkers: 3\nresources: {accelerators: [{cpu-slot: 1}]}\n"
                                    "run: sleep 1000\n")
        cluster.wait_state(first, "RUNNING")
        second = cluster.submit_yaml("kind: command\nworkers: 4\nresources: {accelerators: [{cpu-slot: 1}]}\n"
                                     "run: 'true'\n")
        time.sleep(1)
        waiting = cluster.job(second)
        self.assertEqual(waiting["state"], "PENDING")
        self.assertEqual(waiting["reasons"][0]["code"], "INSUFFICIENT_DEVICES")
        self.assertEqual(waiting["reasons"][0]["needed"], "4")
        self.assertEqual(waiting["reasons"][0]["totalFree"], "1")
        self.assertIn("4", cluster.cli("explain", second).stdout)
        nodes = json.loads(cluster.cli("nodes", "-o", "json").stdout)["nodes"]
        self.assertEqual(sum(n.get("freeDevices", 0) for n in nodes), 1)
        cluster.cli("cancel", first)
        cluster.wait_state(first, "CANCELLED")
        cluster.wait_state(second, "COMPLETED")

    def test_one_rank_that_fails_ends_the_gang_and_is_named(self):
        cluster = self.cluster().start()
        job = cluster.submit_yaml(
            "kind: command\nworkers: 3\n"
            "run: [/bin/bash, -c, 'if [ $RANK = 1 ]; then echo cannot open the moon >&2; exit 3; fi; sleep 1000']\n")
        ended = cluster.wait_state(job, "FAILED")
        reason = ended["reasons"][0]
        self.assertEqual((reason["code"], reason["rank"], reason["node"], reason["exitCode"]),
                         ("TASK_EXITED", 1, "n1", 3))
        self.assertIn("cannot open the moon", "\n".join(ended["logTail"]))
        self.assertIn("cannot open the moon", cluster.cli("job", "show", job).stdout)
        eventually("no process is left", lambda: not cluster.task_processes())

    def test_cancel_ends_the_whole_tree(self):
        cluster = self.cluster().start()
        job = cluster.submit_yaml(STUBBORN)
        cluster.wait_state(job, "RUNNING")
        eventually("the grandchild runs", lambda: len(cluster.task_processes()) >= 4)
        cluster.cli("cancel", job)
        cluster.wait_state(job, "CANCELLED")
        self.assertEqual(cluster.task_processes(), {})

    def test_time_limit(self):
        cluster = self.cluster().start()
        job = cluster.submit_yaml("kind: command\ntime_limit: 1s\npreempt: {grace: 1s}\nrun: sleep 1000\n")
        ended = cluster.wait_state(job, "TIMED_OUT")
        self.assertEqual(ended["reasons"][0]["code"], "TIME_LIMIT_REACHED")
        self.assertEqual(cluster.task_processes(), {})

    def test_no_nodes_waits_and_never_satisfiable_is_refused(self):
        cluster = self.cluster()
        cluster.start_daemon()
        eventually("the daemon answers", lambda: cluster.cli("jobs", check=False).returncode == 0)
        job = cluster.submit_yaml("kind: command\nresources: {accelerators: [{cpu-slot: 1}]}\nrun: 'true'\n")
        waiting = eventually("the job was looked at",
                             lambda: cluster.job(job)["reasons"][0]["code"] == "NO_NODES" and cluster.job(job))
        self.assertEqual(waiting["state"], "PENDING")
        cluster.start_launcher("n1")
        cluster.start_agent("n1")
        cluster.wait_up()
        cluster.wait_state(job, "COMPLETED")
        impossible = cluster.cli("submit", "-", check=False,
                                 stdin="kind: command\nresources: {accelerators: [{cpu-slot: 3}]}\nrun: 'true'\n")
        self.assertEqual(impossible.returncode, 6, impossible.stderr)
        self.assertIn("3", impossible.stderr)
        # A node that is away still counts as one that could hold it.
        cluster.kill("agent-n1")
        again = cluster.submit_yaml("kind: command\nresources: {accelerators: [{cpu-slot: 2}]}\nrun: 'true'\n")
        self.assertIn(cluster.state(again), ("PENDING", "STARTING", "RUNNING"))

    def test_run_follows_and_takes_the_exit_status(self):
        cluster = self.cluster().start()
        good = cluster.cli("run", "--", "echo", "hello")
        self.assertIn("hello", good.stdout)
        bad = cluster.cli("run", "--", "/bin/bash", "-c", "exit 42", check=False)
        self.assertEqual(bad.returncode, 42)
        killed = cluster.cli("run", "--", "/bin/bash", "-c", "kill -TERM $$", check=False)
        self.assertEqual(killed.returncode, 143)

    def test_arguments_never_meet_a_shell(self):
        cluster = self.cluster().start()
        words = ["; touch oops", "$(touch oops)", "`touch oops`", "a b", "&& touch oops", "*"]
        job = cluster.submit("--", "printf", "%s\\n", *words)
        cluster.wait_state(job, "COMPLETED")
        self.assertEqual(cluster.cli("logs", job).stdout.splitlines(), words)
        self.assertEqual(cluster.cli("logs", job, "--stderr").stdout, "")
        self.assertFalse((cluster.work / "oops").exists())


if __name__ == "__main__":
    harness.main()
