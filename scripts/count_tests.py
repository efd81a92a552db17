#!/usr/bin/env python3
"""Prints `passed failed skipped` from the log that `meson test` writes: a JSON object a line."""

import json
import sys
from pathlib import Path

results = [json.loads(line)["result"] for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
passed = sum(result in ("OK", "EXPECTEDFAIL") for result in results)
skipped = results.count("SKIP")
print(passed, len(results) - passed - skipped, skipped)
