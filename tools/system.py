"""Commands this repository needs from the system: found, or installed with apt-get where that may be done."""

import os
import platform
import shutil
import subprocess
import sys

# command, or name in FILES -> the Debian packages that bring it
DEBIAN = {
    "cc": ["gcc", "libc6-dev"],
    "g++": ["g++"],
    "valgrind": ["valgrind"],
    "openblas": ["libopenblas-serial-dev"],
}

# What is no command: found by a file (the static OpenBLAS that .cargo/config.toml names).
FILES = {
    "openblas": f"/usr/lib/{platform.machine()}-linux-gnu/openblas-serial/libopenblas.a",
}


def say(message):
    print(f"==> {message}", flush=True)


def is_there(name):
    return os.path.exists(FILES[name]) if name in FILES else shutil.which(name) is not None


def require(*commands):
    """Installs what is missing of `commands`, or ends the program with the line to type."""
    missing = [command for command in commands if not is_there(command)]
    install(
        [package for command in missing for package in DEBIAN[command]],
        f"no {', '.join(missing)} found",
    )
    for command in missing:
        if not is_there(command):
            sys.exit(f"error: {command} is still missing after the installation")


def install(packages, reason):
    """Installs Debian packages, as root or through a sudo that asks no password."""
    if not packages:
        return
    say(f"{reason}: installing {' '.join(packages)}")
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (prefix and not may_sudo()):
        sys.exit(f"error: {reason}, and this user may not install it; run: sudo apt-get install {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-q"], ["install", "-qy", "--no-install-recommends", *packages]):
        subprocess.run([*prefix, "apt-get", *arguments], env=environment, stdin=subprocess.DEVNULL, check=True)


def may_sudo():
    if not shutil.which("sudo"):
        return False
    return subprocess.run(["sudo", "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


if __name__ == "__main__":
    require(*sys.argv[1:])
