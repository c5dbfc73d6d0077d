# SPDX-License-Identifier: Apache-2.0
"""A cluster of real daemons in a temporary folder, for whole-system tests. Standard library only."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(os.environ["TEST_SRCDIR"]) / os.environ.get("TEST_WORKSPACE", "sinew") \
    if "TEST_SRCDIR" in os.environ else pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT if "TEST_SRCDIR" in os.environ else ROOT / "bazel-bin"
BINARIES = {
    "sinewd": "scheduler/sinewd",
    "sinew-agent": "agent/sinew-agent",
    "sinew-launcher": "agent/launcher/sinew-launcher",
    "sinew-shim": "agent/launcher/sinew-shim",
    "sinew": "cli/sinew",
    "sinew-trainer": "trainer/sinew-trainer",
}
PATIENCE = 60.0  # seconds; a limit on waiting, never a measurement
ENDS = ("COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT", "REJECTED")

HARDWARE = """\
cpus: 8
memory: 16Gi
devices:
  - {type: cpu-slot, count: 2, memory: 1Gi, idle_power: 5W, max_power: 30W}
"""


def eventually(what, probe, patience=PATIENCE):
    """The first true value of probe(); fails with `what` after `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"gave up after {patience:.0f} s: {what}")
        time.sleep(0.05)


def processes():
    """(pid, command line as a list) of every live process that can be read."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            words = pathlib.Path(entry.path, "cmdline").read_bytes().split(b"\0")[:-1]
            state = pathlib.Path(entry.path, "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            yield int(entry.name), [w.decode("utf-8", "replace") for w in words]


def environment_of(pid):
    try:
        raw = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    return dict(e.split("=", 1) for e in raw.decode("utf-8", "replace").split("\0") if "=" in e)


class Cluster:
    """sinewd, and an agent with its launcher for each node."""

    def __init__(self, nodes=1, hardware=HARDWARE, config="", single_user=True, agent_uid=None, init=True):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sinew-", dir="/tmp"))
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for name, path in BINARIES.items():
            # Copied when other users must reach them: a build folder may lie under a closed home.
            target = (BIN / path).resolve()
            if single_user:
                (self.bin / name).symlink_to(target)
            else:
                shutil.copy(target, self.bin / name)
        os.chmod(self.dir, 0o755)
        self.single_user = single_user
        self.agent_uid = os.getuid() if agent_uid is None else agent_uid
        self.socket = self.dir / "run" / "sinewd.sock"
        (self.dir / "run").mkdir(mode=0o755)
        (self.dir / "work").mkdir(mode=0o755)
        self.work = self.dir / "work"
        (self.dir / "hardware.yaml").write_text(hardware)
        self.config = self.dir / "sinewd.yaml"
        self.config.write_text(
            f"state_dir: {self.dir}/state\nsocket: {self.socket}\n"
            f"agents: {{uids: [{os.getuid()}, {self.agent_uid}]}}\n{config}")
        self.node_names = [f"n{i + 1}" for i in range(nodes)]
        self.running = {}  # name -> Popen
        self.starts = 0
        if init:
            self.run_once("sinewd", "--config", self.config, "--init")

    # --- processes -------------------------------------------------------------------------------------------------
    def run_once(self, binary, *args, check=True):
        done = subprocess.run([self.bin / binary, *map(str, args)], capture_output=True, text=True, timeout=PATIENCE)
        if check and done.returncode != 0:
            raise AssertionError(f"{binary} {args} exited with {done.returncode}: {done.stderr}")
        return done

    def spawn(self, name, binary, *args, user=None):
        self.starts += 1
        log = open(self.dir / f"{name}.{self.starts}.log", "wb")
        self.running[name] = subprocess.Popen(
            [self.bin / binary, *map(str, args)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=user,
            group=user, extra_groups=[] if user is not None else None, start_new_session=True)
        log.close()

    def start_daemon(self):
        self.spawn("sinewd", "sinewd", "--config", self.config)

    def start_launcher(self, node):
        more = ["--single-user"] if self.single_user else []
        self.spawn(f"launcher-{node}", "sinew-launcher", "--socket", self.dir / "run" / f"{node}.launcher",
                   "--spool", self.dir / f"spool-{node}", "--agent-uid", self.agent_uid, *more)

    def start_agent(self, node):
        state = self.dir / f"agent-{node}"
        if not state.exists():
            state.mkdir(mode=0o755)
            os.chown(state, self.agent_uid, self.agent_uid)
        self.spawn(f"agent-{node}", "sinew-agent", "--node", node, "--controller", self.socket,
                   "--launcher", self.dir / "run" / f"{node}.launcher", "--state-dir", state,
                   "--hardware", self.dir / "hardware.yaml",
                   user=None if self.agent_uid == os.getuid() else self.agent_uid)

    def start(self):
        self.start_daemon()
        for node in self.node_names:
            self.start_launcher(node)
            self.start_agent(node)
        self.wait_up()
        return self

    def wait_up(self):
        def all_up():
            listed = self.cli("nodes", "-o", "json", check=False)
            if listed.returncode != 0:
                return False
            nodes = json.loads(listed.stdout).get("nodes", [])
            return sum(n.get("state") == "UP" for n in nodes) >= len(self.node_names)
        eventually("every node is UP", all_up)

    def kill(self, name, sig=signal.SIGKILL):
        process = self.running.pop(name)
        process.send_signal(sig)
        process.wait(timeout=PATIENCE)
        return process.returncode

    def task_processes(self):
        """pid -> environment of every process that runs as a task of this cluster."""
        mine = {}
        for pid, _ in processes():
            env = environment_of(pid)
            if env.get("SINEW_RUNTIME_SOCKET", "").startswith(str(self.dir)):
                mine[pid] = env
        return mine

    def shims(self):
        spools = str(self.dir / "spool-")
        return [pid for pid, words in processes()
                if words and words[0].endswith("sinew-shim") and any(w.startswith(spools) for w in words)]

    def logs(self):
        return "".join(f"--- {p.name}\n{p.read_text(errors='replace')[-4000:]}" for p in sorted(self.dir.glob("*.log")))

    def close(self, failed=False):
        if failed:
            print(self.logs(), file=sys.stderr)
        for name in sorted(self.running):  # agents, launchers, then the daemon
            if self.running[name].poll() is None:
                self.running[name].kill()
            self.running[name].wait(timeout=PATIENCE)
        for pid in [*self.shims(), *self.task_processes()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)

    # --- the command line ------------------------------------------------------------------------------------------
    def cli(self, *args, check=True, user=None, stdin=None, cwd=None, timeout=PATIENCE, env=None):
        done = subprocess.run(
            [self.bin / "sinew", "--socket", str(self.socket), *map(str, args)], capture_output=True, text=True,
            input=stdin, stdin=subprocess.DEVNULL if stdin is None else None, timeout=timeout, cwd=cwd or self.work,
            user=user, group=user, extra_groups=[] if user is not None else None,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.work), "LANG": "C.UTF-8", **(env or {})})
        if check and done.returncode != 0:
            raise AssertionError(f"sinew {' '.join(map(str, args))} exited with {done.returncode}:\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def submit(self, *args, **more):
        """The id of a job submitted with these arguments."""
        return int(self.cli("submit", "--parsable", *args, **more).stdout.strip().split("/")[-1])

    def submit_yaml(self, text, *args, **more):
        return self.submit(*args, "-", stdin=text, **more)

    def job(self, job_id):
        return json.loads(self.cli("job", "show", job_id, "-o", "json").stdout)

    def state(self, job_id):
        return self.job(job_id).get("state")

    def wait_state(self, job_id, *states, patience=PATIENCE):
        def reached():
            shown = self.cli("job", "show", job_id, "-o", "json", check=False)
            if shown.returncode != 0:
                return None
            job = json.loads(shown.stdout)
            if job["state"] in states:
                return job
            if job["state"] in ENDS:
                raise AssertionError(f"job {job_id} ended {job['state']}, not one of {states}: {shown.stdout}")
            return None
        return eventually(f"job {job_id} is {' or '.join(states)}", reached, patience)


class SystemTest(unittest.TestCase):
    """Closes the clusters a test made, and shows the daemons' logs when it failed."""

    def setUp(self):
        self.clusters = []

    def cluster(self, *args, **more):
        made = Cluster(*args, **more)
        self.clusters.append(made)
        return made

    def tearDown(self):
        outcome = self._outcome.result
        failed = any(test is self for test, _ in [*outcome.failures, *outcome.errors])
        for made in self.clusters:
            made.close(failed)


class XmlResult(unittest.TextTestResult):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.suite = ElementTree.Element("testsuite", name=pathlib.Path(sys.argv[0]).stem)

    def record(self, test, kind=None, text=""):
        case = ElementTree.SubElement(self.suite, "testcase", classname=type(test).__name__,
                                      name=getattr(test, "_testMethodName", str(test)))
        if kind:
            ElementTree.SubElement(case, kind).text = text

    def addSuccess(self, test):
        super().addSuccess(test)
        self.record(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.record(test, "failure", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.record(test, "error", self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.record(test, "skipped", reason)


def main():
    program = unittest.main(exit=False, verbosity=2, testRunner=unittest.TextTestRunner(
        resultclass=XmlResult, verbosity=2, stream=sys.stderr))
    if "XML_OUTPUT_FILE" in os.environ:
        ElementTree.ElementTree(program.result.suite).write(os.environ["XML_OUTPUT_FILE"], encoding="utf-8")
    sys.exit(0 if program.result.wasSuccessful() else 1)
