"""What all checks share: the files of the repository, and how findings are printed."""

import pathlib
import subprocess


def root_of(arguments):
    """Returns the folder that the command line names, or else the repository of this file."""
    return pathlib.Path(arguments[1] if len(arguments) > 1 else pathlib.Path(__file__).parents[2]).resolve()


def listed(root, *patterns):
    """Returns the paths of the files that git knows or would add, relative to `root`, sorted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted(path for path in set(output.splitlines()) if (root / path).is_file())


def finish(name, files, found):
    """Prints the findings and a closing line. Returns the exit status: 1 with findings or without files."""
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{name}: {len(files)} files, {len(found)} findings")
    return 1 if found or not files else 0
