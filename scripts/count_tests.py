#!/usr/bin/env python3
"""Prints `passed failed skipped` from the logs that `meson test` wrote, a JSON object a line.

count_tests.py FOLDER NAME     FOLDER/NAME*.json, NAME being meson test's --logbase (a wrapper adds its name)
"""

import json
import sys
from pathlib import Path

logs = Path(sys.argv[1]).glob(f"{sys.argv[2]}*.json")
lines = [line for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
results = [json.loads(line)["result"] for line in lines]
passed = sum(result in ("OK", "EXPECTEDFAIL") for result in results)
skipped = results.count("SKIP")
print(passed, len(results) - passed - skipped, skipped)
