# SPDX-License-Identifier: Apache-2.0
"""What a user writes reaches execve as it is: no daemon starts a shell, whatever names, arguments and folders hold."""

import ast
import re
import subprocess
import unittest

import harness

EVIL = ["$(touch pwned)", "`touch pwned`", "; touch pwned", "a\nb", "\"quoted' \\", "--help", "&& touch pwned", "*", "~",
        "${HOME}", "| touch pwned", "> pwned", "\t", ""]


def can_trace():
    try:
        return subprocess.run(["strace", "-o", "/dev/null", "-e", "trace=execve", "true"], capture_output=True,
                              timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@unittest.skipUnless(can_trace(), "strace cannot trace here")
class NoShell(harness.SystemTest):
    def test_every_execution_is_the_one_that_was_asked_for(self):
        cluster = self.cluster()
        for binary in ("sinewd", "sinew-agent", "sinew-launcher"):  # strace in front, so that no right to attach is needed
            target = (cluster.bin / binary).resolve()
            (cluster.bin / binary).unlink()
            (cluster.bin / binary).write_text(
                f"#!/bin/sh\nexec strace -f -qq -s 4096 -e trace=execve,execveat -e signal=none "
                f"-o {cluster.dir}/{binary}.trace {target} \"$@\"\n")
            (cluster.bin / binary).chmod(0o755)
        cluster.start()
        folder = cluster.work / "$(touch pwned); touch pwned"
        folder.mkdir()
        job = cluster.submit("--name", "evil", "--export", "EVIL=$(touch pwned)", "--", "/bin/echo", *EVIL, cwd=folder)
        cluster.wait_state(job, "COMPLETED")
        self.assertEqual(cluster.cli("logs", job).stdout, " ".join(EVIL) + "\n")
        ended = cluster.submit("--", "$(touch pwned)", cwd=folder)
        self.assertIn("$(touch pwned)", str(cluster.wait_state(ended, "FAILED")["reasons"]))

        executed = []
        for trace in cluster.dir.glob("*.trace"):
            first = True
            for line in trace.read_text().splitlines():
                call = re.search(r'execve(?:at)?\(("(?:[^"\\]|\\.)*"), (\[.*\]), 0x', line)
                if call and not first:
                    executed.append((ast.literal_eval(call[1]), ast.literal_eval(call[2])))
                first = first and not call  # the daemon itself
        programs = [(program, argv) for program, argv in executed if not program.endswith("/sinew-shim")]
        self.assertEqual(len([e for e in executed if e[0].endswith("/sinew-shim")]), 1, executed)  # it forks for each task
        self.assertEqual([e for e in programs if e[0] == "/bin/echo"], [("/bin/echo", ["/bin/echo", *EVIL])])
        others = {program for program, _ in programs if program != "/bin/echo"}
        self.assertTrue(all(p.endswith("/$(touch pwned)") for p in others), others)  # looked for along PATH
        self.assertEqual([str(p) for p in cluster.dir.rglob("pwned")], [])


if __name__ == "__main__":
    harness.main()
