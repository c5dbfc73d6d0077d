# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each daemon, at any moment: running jobs go on where they can, are re-adopted and finish once."""

import os
import random
import signal
import time

import harness
from harness import eventually

# Says when it starts and ends, so that a second start shows; lasts until its file `go` appears.
WAITING = """\
name: waiting
kind: command
run: [/bin/bash, -c, 'echo started >> trace; until [ -e go ]; do sleep 0.05; done; echo ended >> trace; exit 7']
"""


class Crash(harness.SystemTest):
    def start_waiting(self, cluster):
        job = cluster.submit_yaml(WAITING)
        cluster.wait_state(job, "RUNNING")
        eventually("the task wrote its first line", lambda: (cluster.work / "trace").exists())
        return job

    def finish_waiting(self, cluster, job):
        (cluster.work / "go").touch()
        ended = cluster.wait_state(job, "FAILED")
        self.assertEqual(ended["exitCode"], 7)
        self.assertEqual(ended["reasons"][0]["code"], "TASK_EXITED")
        self.assertEqual((cluster.work / "trace").read_text(), "started\nended\n")
        self.assertEqual(ended["run"], 1)

    def test_daemon(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        cluster.kill("sinewd")
        unreachable = cluster.cli("jobs", check=False)
        self.assertEqual(unreachable.returncode, 8)
        cluster.start_daemon()
        cluster.wait_up()
        self.assertEqual(cluster.state(job), "RUNNING")
        self.finish_waiting(cluster, job)

    def test_daemon_away_while_the_job_ends(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        cluster.kill("sinewd")
        (cluster.work / "go").touch()
        eventually("the task ended", lambda: not cluster.task_processes())
        cluster.start_daemon()
        self.finish_waiting(cluster, job)

    def test_agent(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        cluster.kill("agent-n1")
        time.sleep(0.2)
        cluster.start_agent("n1")
        cluster.wait_up()
        self.finish_waiting(cluster, job)

    def test_agent_away_while_the_job_ends(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        cluster.kill("agent-n1")
        (cluster.work / "go").touch()
        eventually("the task ended", lambda: not cluster.task_processes())
        cluster.start_agent("n1")
        self.finish_waiting(cluster, job)

    def test_launcher(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        cluster.kill("launcher-n1")
        time.sleep(0.2)
        cluster.start_launcher("n1")
        self.finish_waiting(cluster, job)
        again = cluster.submit("--", "true")
        cluster.wait_state(again, "COMPLETED")

    def test_launcher_away_while_the_job_ends(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        cluster.kill("launcher-n1")
        (cluster.work / "go").touch()
        eventually("the task ended", lambda: not cluster.task_processes())
        cluster.start_launcher("n1")
        self.finish_waiting(cluster, job)

    def test_all_three_at_once(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        for name in ("sinewd", "agent-n1", "launcher-n1"):
            cluster.kill(name)
        cluster.start_launcher("n1")
        cluster.start_agent("n1")
        cluster.start_daemon()
        cluster.wait_up()
        self.finish_waiting(cluster, job)

    def test_shim(self):
        # Nobody can see the exit status any more: the process is ended, and the job says so.
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        shims = cluster.shims()
        self.assertEqual(len(shims), 1)
        os.kill(shims[0], signal.SIGKILL)
        ended = cluster.wait_state(job, "FAILED")
        self.assertEqual(ended["reasons"][0]["code"], "TASK_STATUS_LOST")
        eventually("nothing of the task is left", lambda: not cluster.task_processes())
        after = cluster.submit("--", "true")
        cluster.wait_state(after, "COMPLETED")

    def test_worker(self):
        cluster = self.cluster().start()
        job = self.start_waiting(cluster)
        for pid in cluster.task_processes():
            os.kill(pid, signal.SIGKILL)
        ended = cluster.wait_state(job, "FAILED")
        self.assertEqual(ended["reasons"][0]["code"], "TASK_SIGNALLED")
        self.assertEqual(ended["reasons"][0]["signal"], 9)
        self.assertEqual(ended["exitCode"], 137)

    def test_nothing_acknowledged_is_lost_under_random_kills(self):
        seed = int(os.environ.get("SINEW_TEST_SEED", time.time_ns() % 1_000_000))
        print(f"SINEW_TEST_SEED={seed}")
        rng = random.Random(seed)
        cluster = self.cluster(nodes=2).start()
        starters = {"sinewd": cluster.start_daemon}
        for node in cluster.node_names:
            starters[f"agent-{node}"] = lambda n=node: cluster.start_agent(n)
            starters[f"launcher-{node}"] = lambda n=node: cluster.start_launcher(n)
        acknowledged = []
        for i in range(30):
            done = cluster.cli("submit", "--parsable", "--", "/bin/bash", "-c", f"echo x >> ran-{i}; exit {i % 3}",
                               check=False)
            if done.returncode == 0:
                acknowledged.append((i, int(done.stdout.strip().split("/")[-1])))
            if i % 3 == 0:
                name = rng.choice(sorted(starters))
                cluster.kill(name)
                time.sleep(rng.uniform(0, 0.3))
                starters[name]()
        cluster.wait_up()
        self.assertGreater(len(acknowledged), 5)
        for i, job in acknowledged:
            ended = cluster.wait_state(job, "COMPLETED" if i % 3 == 0 else "FAILED", "FAILED")
            if ended["reasons"][0]["code"] in ("SUCCEEDED", "TASK_EXITED"):
                self.assertEqual(ended.get("exitCode", 0), i % 3)
                self.assertEqual((cluster.work / f"ran-{i}").read_text(), "x\n", "ran exactly once")
            else:
                self.assertIn(ended["reasons"][0]["code"], ("TASK_STATUS_LOST", "NODE_LOST"))


if __name__ == "__main__":
    harness.main()
