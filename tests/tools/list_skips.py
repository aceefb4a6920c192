#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CTest did not run is listed with the reason and what brings it: tools/test_summary.py over the file that CTest
itself writes.

usage: list_skips.py SOURCE
"""
import pathlib
import subprocess
import sys
import tempfile

TESTS = """
add_test(whole sh -c "echo 'skipped: no oracle (./dev setup --oracle)'; exit 77")
add_test(part sh -c "echo first; echo 'skipped: no set (FOLDER=where it is)'; echo 'skipped: no root'")
add_test(silent sh -c "exit 77")
add_test(runs sh -c "echo 'nothing is skipped: all is here (really)'")
add_test(fails sh -c "exit 1")
set_tests_properties(whole silent PROPERTIES SKIP_RETURN_CODE 77)
"""
EXPECTED = """
2 passed, 1 failed, 2 skipped
  not run  because              brought by
  whole    no oracle            ./dev setup --oracle
  part     no set               FOLDER=where it is
  part     no root              -
  silent   it does not say why  -
"""

with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "CTestTestfile.cmake").write_text(TESTS)
    subprocess.run(["ctest", "--test-output-size-passed", "1000000", "--output-junit", f"{folder}/0.xml"], cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = subprocess.run([f"{sys.argv[1]}/tools/test_summary.py", folder], capture_output=True, text=True, check=True)
    if done.stdout != EXPECTED:
        sys.exit(f"FAILED: listed:\n{done.stdout}")
