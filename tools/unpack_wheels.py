# SPDX-License-Identifier: Apache-2.0
"""unpack_wheels.py WHEELS TREE: unpacks the data folders of all wheels in WHEELS into one prefix TREE.

A wheel keeps what belongs under a prefix (include, lib) in <name>.data/data/; there is no need for an environment
to install into, and so none for root."""
import pathlib
import sys
import zipfile


def main() -> int:
    wheels, tree = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                parts = pathlib.PurePosixPath(info.filename).parts
                if info.is_dir() or len(parts) < 3 or not parts[0].endswith(".data") or parts[1] != "data":
                    continue
                if ".." in parts:
                    raise SystemExit(f"{wheel}: refuses {info.filename}")
                target = tree.joinpath(*parts[2:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(info))
    return 0


if __name__ == "__main__":
    sys.exit(main())
