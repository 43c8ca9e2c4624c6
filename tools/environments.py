"""The Python environments of this repository, one a pin file in `tools/env/`.

    environments.py prepare NAME...   make or refresh them; prints what it does, and nothing where nothing is to do
    environments.py python NAME       print an environment's interpreter
    environments.py fresh DIR NAME WHEEL...   make a new one at DIR, with nothing but its pins and these wheels
    environments.py list              print every name, with the Python it would get here

NAME is a pin file's stem (`jax-0.5.3`, `lint`), `newest` or `oldest` (the newest and oldest jax that a Python found
here can have) or `all`. `newest` lives at `.venv`, every other environment under `.envs/`. The variable PYTHON
chooses the interpreter; without it the newest Python from 3.11 up serves `newest`, the oldest that fits the others.
"""

import fcntl
import functools
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import system

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "tools" / "env"
PACKAGE = ROOT / "python"
OLDEST = "jax-0.5.3"


# ---- interpreters


@functools.cache
def version_of(python):
    """(3, 12) for a path or command that runs, None for one that does not."""
    command = [python, "-c", "import sys; print(*sys.version_info[:2], sys.executable)"]
    try:
        words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(maxsplit=2)
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(words[0]), int(words[1])


@functools.cache
def interpreters():
    """Every usable Python, newest first: PYTHON alone where it is set, else those on PATH and pyenv's."""
    if chosen := os.environ.get("PYTHON"):
        version = version_of(chosen)
        if version is None or version < (3, 11):
            sys.exit(f"error: PYTHON={chosen} is not a Python 3.11 or newer that runs")
        return [(version, chosen)]
    commands = ["python3", *(f"python3.{minor}" for minor in range(11, 16))]
    found = [shutil.which(command) for command in commands]
    found += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    versions = {}
    for python in found:
        version = python and version_of(python)
        if version and version >= (3, 11):
            versions.setdefault(version, python)
    if not versions:
        sys.exit("error: no Python 3.11 or newer found on PATH; set PYTHON=/path/to/python3")
    return sorted(versions.items(), reverse=True)


# ---- pin files


def range_of(name):
    """The Pythons a pin file is for, from its first line `# python: 3.11 - 3.13`."""
    line = (PINS / f"{name}.txt").read_text().splitlines()[0]
    low, high = re.fullmatch(r"# python: 3\.(\d+) - 3\.(\d+)", line).groups()
    return (3, int(low)), (3, int(high))


def jax_names():
    """Every environment with a jax, oldest first."""

    def key(name):
        return [int(part) for part in name.removeprefix("jax-").split(".")]

    return sorted((path.stem for path in PINS.glob("jax-*.txt")), key=key)


def fitting(name):
    low, high = range_of(name)
    return [(version, python) for version, python in interpreters() if low <= version <= high]


@functools.cache
def newest():
    for name in reversed(jax_names()):
        if fitting(name):
            return name
    sys.exit("error: no pin file in tools/env is for a Python that was found here")


def resolve(name):
    """The pin files a name of the command line stands for."""
    if name == "all":
        return [each for each in jax_names() if fitting(each)]
    if name == "oldest":
        return [next(each for each in jax_names() if fitting(each))]
    return [newest() if name == "newest" else name]


def place(name):
    return ROOT / ".venv" if name == newest() else ROOT / ".envs" / name


def python_for(name):
    """The newest fitting Python for `newest`, the oldest for the rest: the two ends are what tests should see."""
    candidates = fitting(name)
    if not candidates:
        sys.exit(f"error: {name} needs Python 3.{range_of(name)[0][1]} to 3.{range_of(name)[1][1]}, not found here")
    return candidates[0 if name == newest() else -1][1]


def digest(*parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def pins_text(path):
    """A pin file with the files that it includes: what the environment's stamp is keyed on."""
    lines = []
    for line in path.read_text().splitlines():
        lines += pins_text(PINS / line.split()[1]) if line.startswith("-r ") else [line]
    return lines


# ---- making them


def run(*command):
    completed = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, check=False)
    if completed.returncode:
        sys.exit(f"error: this step failed: {' '.join(str(word) for word in command)}")


def pip(python, *arguments):
    run(python, "-m", "pip", *arguments[:1], "-q", "--disable-pip-version-check", *arguments[1:])


def install_pins(python, name):
    pip(python, "install", "--no-deps", "--only-binary", ":all:", "-r", PINS / f"{name}.txt")


def stamped(path, key):
    return path.exists() and path.read_text() == key


def require_venv(python, version):
    probe = subprocess.run([python, "-c", "import venv, ensurepip"], stderr=subprocess.DEVNULL, check=False)
    if probe.returncode:
        system.install([f"python{version[0]}.{version[1]}-venv"], f"{python} cannot make environments")


def prepare(name):
    """Brings one environment to what its pin file and the package's metadata say."""
    python, home = python_for(name), place(name)
    version, inside = version_of(python), home / "bin" / "python"
    pins, package = home / "pins.stamp", home / "package.stamp"
    shown = f"{home.relative_to(ROOT)} ({name}, Python {version[0]}.{version[1]})"

    key = digest(*pins_text(PINS / f"{name}.txt"), str(version))
    if not stamped(pins, key) or version_of(str(inside)) != version:
        require_venv(python, version)
        system.say(f"{shown}: making the environment with {python}")
        run(python, "-m", "venv", "--clear", home)
        system.say(f"{shown}: installing the pinned packages")
        install_pins(inside, name)
        pip(inside, "check")
        pins.write_text(key)

    metadata = PACKAGE / "pyproject.toml"
    if not name.startswith("jax-") or not metadata.exists():
        return
    key = digest(metadata.read_text())
    if not stamped(package, key):
        system.say(f"{shown}: installing the package oxidax in editable mode")
        pip(inside, "install", "--no-deps", "--no-build-isolation", "--editable", PACKAGE)
        package.write_text(key)


def fresh(home, name, wheels):
    """Makes an environment as a user's, whatever was there before."""
    python, inside = python_for(name), home / "bin" / "python"
    require_venv(python, version_of(python))
    system.say(f"{home}: a new environment for {', '.join(wheel.name for wheel in wheels)}")
    run(python, "-m", "venv", "--clear", home)
    install_pins(inside, name)
    pip(inside, "install", "--no-index", *wheels)
    pip(inside, "check")


def main(arguments):
    match arguments:
        case ["prepare", *names] if names:
            (ROOT / ".envs").mkdir(exist_ok=True)
            with open(ROOT / ".envs" / "lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for each in dict.fromkeys(each for name in names for each in resolve(name)):
                    prepare(each)
        case ["fresh", home, name, *wheels] if wheels:
            fresh(Path(home), resolve(name)[0], [Path(wheel) for wheel in wheels])
        case ["python", name]:
            print(place(resolve(name)[0]) / "bin" / "python")
        case ["list"]:
            for name in [*jax_names(), "lint", "wheel"]:
                found = (
                    f"{place(name).relative_to(ROOT)} from {python_for(name)}" if fitting(name) else "no Python for it"
                )
                print(f"{name:14} {found}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
