# SPDX-License-Identifier: Apache-2.0
"""peak_memory.py COMMAND...: runs it and prints one JSON object, last: the largest resident memory of it and of its
children."""
import json
import os
import sys

pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(json.dumps({"mib": usage.ru_maxrss / 1024}), flush=True)
sys.exit(os.waitstatus_to_exitcode(status) & 0xff)
