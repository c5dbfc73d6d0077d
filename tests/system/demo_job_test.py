# SPDX-License-Identifier: Apache-2.0
"""The main job, whole: LeNet on real images by four workers on two nodes, with a worker killed half-way."""

import os
import re
import signal
import subprocess
import threading

import harness
from harness import eventually


class DemoJob(harness.SystemTest):
    def test_completes_although_a_worker_is_killed_half_way(self):
        cluster = self.cluster(nodes=2, hardware=(harness.ROOT / "configs/hardware/demo-2-devices.yaml").read_text())
        cluster.start()
        spec = harness.ROOT / "configs/jobs/lenet-fashion.yaml"
        followed = {}

        def follow():
            followed["done"] = cluster.cli("run", spec, timeout=840)
        follower = threading.Thread(target=follow)
        follower.start()

        def half_way():
            listed = cluster.cli("job", "show", 1, "-o", "json", check=False)
            if listed.returncode != 0:
                return False
            progress = harness.json.loads(listed.stdout).get("progress", {})
            step, total = int(progress.get("step", 0)), int(progress.get("totalSteps", 0))
            return total > 0 and step * 2 > total
        eventually("the job is half-way", half_way, 400)
        shown = cluster.job(1)
        self.assertEqual({t["node"] for t in shown["tasks"]}, {"n1", "n2"})
        victims = [pid for pid, env in cluster.task_processes().items() if env.get("RANK") == "2"]
        self.assertTrue(victims)
        os.kill(victims[0], signal.SIGKILL)

        follower.join(840)
        self.assertFalse(follower.is_alive())
        self.assertIn("done", followed, "sinew run failed")
        ended = cluster.wait_state(1, "COMPLETED")
        self.assertEqual(ended["run"], 2)
        self.assertGreaterEqual(ended["progress"]["accuracy"], 0.88)
        self.assertGreater(int(ended["energyMillijoules"]), 0)
        checkpoint = ended["progress"]["checkpoint"]
        self.assertTrue(os.path.isdir(checkpoint), checkpoint)
        text = followed["done"].stdout + followed["done"].stderr
        self.assertTrue(re.search(r"accuracy\D*0\.(8[89]|9)|accuracy\D*(8[89]|9\d)", text), text)
        self.assertIn(checkpoint, text)
        events = cluster.cli("job", "show", 1).stdout
        self.assertIn("signal 9", events)


if __name__ == "__main__":
    harness.main()
