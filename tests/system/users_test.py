# SPDX-License-Identifier: Apache-2.0
"""Several users on one machine: a job runs as its submitter, never as root, and others cannot see it."""

import json
import os
import pwd
import socket
import time
import unittest

import harness

NOBODY = pwd.getpwnam("nobody").pw_uid
DAEMON = pwd.getpwnam("daemon").pw_uid
GAMES = pwd.getpwnam("games").pw_uid


@unittest.skipIf(os.getuid() != 0, "only root can run tasks as others")
class Users(harness.SystemTest):
    def setUp(self):
        super().setUp()
        # The agent has a user of its own; only the launcher is root.
        self.one = self.cluster(single_user=False, agent_uid=DAEMON)
        os.chmod(self.one.work, 0o777)
        self.one.start()

    def test_a_job_runs_as_its_submitter(self):
        job = self.one.submit("--", "/bin/bash", "-c", "id -u; id -G; touch made-by-me", user=NOBODY)
        self.one.wait_state(job, "COMPLETED")
        out = self.one.cli("logs", job, user=NOBODY).stdout.split()
        self.assertEqual(out[0], str(NOBODY))
        self.assertNotIn("0", out)
        self.assertEqual((self.one.work / "made-by-me").stat().st_uid, NOBODY)

    def test_root_jobs_are_refused(self):
        done = self.one.cli("submit", "--parsable", "--", "id", "-u", check=False)
        if done.returncode == 0:
            ended = self.one.wait_state(int(done.stdout.strip().split("/")[-1]), "FAILED")
            self.assertEqual(ended["reasons"][0]["code"], "START_REFUSED")
            self.assertIn("root", ended["reasons"][0]["detail"])
        else:
            self.assertIn("root", done.stderr)

    def test_others_jobs_do_not_exist(self):
        job = self.one.submit("--", "sleep", "1000", user=NOBODY)
        self.one.cli("job", "show", job, user=NOBODY)
        for verb in (("job", "show", job), ("explain", job), ("logs", job), ("cancel", job), ("wait", job)):
            self.assertEqual(self.one.cli(*verb, user=GAMES, check=False).returncode, 3, verb)
        listed = self.one.cli("jobs", "-a", "-o", "json", user=GAMES)
        self.assertEqual(json.loads(listed.stdout).get("jobs", []), [])
        for verb in ("hold", "release", "requeue"):
            self.assertEqual(self.one.cli(verb, job, user=GAMES, check=False).returncode, 3, verb)
        for verb in (("cordon",), ("drain", "--reason", "mine"), ("resume",)):
            self.assertEqual(self.one.cli("node", verb[0], "n1", *verb[1:], user=GAMES, check=False).returncode, 4, verb)
        self.assertEqual(self.one.cli("admin", "backup", "/tmp/never.db", user=GAMES, check=False).returncode, 4)
        self.assertFalse(os.path.exists("/tmp/never.db"))
        self.assertIn("(5), user", self.one.cli("whoami", user=GAMES).stdout)
        self.one.cli("cancel", job)  # root is an operator
        self.assertEqual(json.loads(self.one.cli("job", "show", job, "-o", "json", user=NOBODY).stdout)["user"],
                         "nobody")

    def test_a_user_cannot_speak_to_the_launcher(self):
        def list_tasks(uid):
            """What the launcher answers that uid: bytes, b"" when it hung up, None when it could not be reached."""
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                answer = b"none"
                try:
                    os.setgroups([])
                    os.setgid(uid)
                    os.setuid(uid)
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    s.settimeout(5)
                    s.connect(str(self.one.dir / "run" / "n1.launcher"))
                    s.send(b"\x08\x07\x2a\x00")  # id 7, list
                    answer = b"=" + s.recv(65536)
                except OSError:
                    pass
                os.write(write, answer)
                os._exit(0)
            os.waitpid(pid, 0)
            os.close(write)
            answer = os.read(read, 65536)
            os.close(read)
            return answer[1:] if answer.startswith(b"=") else None
        self.assertTrue(list_tasks(DAEMON), "the agent's own user is answered, so the question is a right one")
        self.assertFalse(list_tasks(GAMES))

    def test_a_user_cannot_act_as_an_agent(self):
        state = self.one.dir / "fake-agent"
        state.mkdir()
        os.chown(state, GAMES, GAMES)
        self.one.spawn("agent-fake", "sinew-agent", "--node", "fake", "--controller", self.one.socket, "--launcher",
                       self.one.dir / "run" / "n1.launcher", "--state-dir", state, "--hardware",
                       self.one.dir / "hardware.yaml", user=GAMES)
        time.sleep(3)
        self.assertNotIn("fake", self.one.cli("nodes", "-o", "name").stdout)


if __name__ == "__main__":
    harness.main()
