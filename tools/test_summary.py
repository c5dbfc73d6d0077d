# SPDX-License-Identifier: Apache-2.0
"""Sums the test cases of a Bazel run from its event file: names what failed, ends with "N passed, N failed"."""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def cases(xml_path):
    """(passed, names of failed, skipped) of one test target's XML."""
    passed, failed, skipped = 0, [], 0
    for case in ElementTree.parse(xml_path).iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    events, status = sys.argv[1], int(sys.argv[2])
    targets = {}  # label -> (status, path of XML); the last attempt of a target counts
    with open(events, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if "testResult" not in event:
                continue
            xml = [o for o in event["testResult"].get("testActionOutput", []) if o["name"] == "test.xml"]
            path = urllib.parse.unquote(urllib.parse.urlparse(xml[0]["uri"]).path) if xml else None
            targets[event["id"]["testResult"]["label"]] = (event["testResult"]["status"], path)

    passed, failed, skipped = 0, [], 0
    for label, (result, path) in sorted(targets.items()):
        bad = []
        try:
            good, bad, left_out = cases(path) if path else (0, [], 0)
        except (OSError, ElementTree.ParseError):
            good, left_out = 0, 0
        passed += good
        skipped += left_out
        if result != "PASSED" and not bad:
            bad = [result.lower()]  # crashed or ran out of time before it could say which case
        failed += [f"{label} {name}" for name in bad]
    if status != 0 and not failed:
        failed = ["bazel itself failed; its message is above"]
    for name in failed:
        print(f"FAILED {name}")
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed or passed == 0 else 0)


main()
