# SPDX-License-Identifier: Apache-2.0
"""A whole-system test: a Python script over real daemons. Exclusive, so that its processes have the machine."""

def system_test(name, timeout = "moderate"):
    native.sh_test(
        name = name,
        timeout = timeout,
        srcs = ["run.sh"],
        args = ["$(location %s.py)" % name],
        data = [
            name + ".py",
            "harness.py",
            ":binaries",
            "//configs:all",
        ],
        tags = ["exclusive"],
    )
