"""Find what isolates a process on this machine, and build the command that starts one in isolation.

The first of these that works is used:

bubblewrap
    The program `bwrap`: own namespaces for users, processes, network, mounts and IPC.
namespaces
    The same with `unshare`, `mount` and `setpriv` of util-linux, where the kernel lets a user make namespaces.
limits
    Limits of the process and a filter of system calls, without namespaces: the code can read and write what the user
    can. It has to be allowed.

In the first two, a process sees the files of Python and of the system's libraries, which it cannot change, an empty
folder of its own for temporary files, and nothing else: no home folder, no environment, no /proc, no network.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from howsure.errors import InputError
from howsure.notes import Note, warn

Isolation = Literal["bubblewrap", "namespaces", "limits"]
"""How a process is isolated, see the module."""

#: Working folder and home of generated code. With bubblewrap and namespaces it is a file system of its own, empty at
#: the start; with "limits" alone, which users must accept, it is the machine's.
SCRATCH_FOLDER = "/tmp"  # noqa: S108  # howsure itself opens no file there; what code may do there is said above
#: Variable of the environment that allows code to run without namespaces; `--allow-unsafe-code` sets it.
ALLOW_UNSAFE = "HOWSURE_ALLOW_UNSAFE_CODE"
#: Seconds that a trial may take.
_TRIAL_SECONDS = 20
_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store")
_SYSTEM_FILES = ("/etc/ld.so.cache",)
_DEVICES = ("null", "zero", "urandom", "random")
#: Numbers of users that no account has, of which each process of root gets one.
_FIRST_USER, _N_USERS = 1_000_000_000, 1_000_000
_GUEST = Path(__file__).with_name("guest_process.py")


@dataclass(frozen=True)
class ProcessLimits:
    """What one process of a sandbox may use.

    Attributes
    ----------
    cpu_seconds
        Processor time, in whole seconds. It does not depend on the load of the machine.
    wall_seconds
        Time on the clock for the whole job, after which the processes are ended.
    memory
        Address space, in bytes.
    scratch
        Size of the folder for temporary files, and of each file in it, in bytes.
    """

    cpu_seconds: int = 6
    wall_seconds: float = 30.0
    memory: int = 2 << 30
    scratch: int = 64 << 20

    def list_resources(self, isolation: Isolation) -> dict[str, int]:
        """Return the limits by their names in the module `resource`."""
        limits = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.memory,
            "RLIMIT_FSIZE": self.scratch,
            "RLIMIT_NOFILE": 64,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
        }
        # Without a namespace for users, the processes of the user's other programs would count.
        return limits if isolation == "limits" else limits | {"RLIMIT_NPROC": 64}


def choose_isolation() -> Isolation:
    """Return how code is isolated on this machine; warn, or refuse, where it would not be.

    Raises
    ------
    InputError
        When there are no namespaces, and `ALLOW_UNSAFE` is not set; or when the system has no limits at all.
    """
    isolation = find_isolation()
    if isolation == "limits":
        where = "scorer unit-tests"
        if sys.platform == "win32":
            raise InputError("code cannot be limited on Windows", where=where, remedy="run it on Linux, or in WSL")
        missing = "files of yours that it may read and change, the network, and your other programs"
        if not is_unsafe_code_allowed():
            remedy = "install bubblewrap (Linux), or accept that with --allow-unsafe-code"
            raise InputError(f"generated code would not be isolated from {missing}", where=where, remedy=remedy)
        warn(Note("code-not-isolated", facts={"missing": missing}))
    if not _can_filter_calls(isolation):
        warn(Note("calls-not-filtered"))
    return isolation


def is_unsafe_code_allowed() -> bool:
    """Return whether the user accepts that code runs without isolation."""
    return os.environ.get(ALLOW_UNSAFE, "") in ("1", "true", "yes")


@lru_cache(maxsize=1)
def find_isolation() -> Isolation:
    """Return the best isolation that works on this machine, after a trial of each."""
    candidates: tuple[Isolation, ...] = ("bubblewrap", "namespaces")
    return next((isolation for isolation in candidates if _works(isolation)), "limits")


def _works(isolation: Isolation) -> bool:
    """Return whether a process can be started in an isolation."""
    if not shutil.which("bwrap" if isolation == "bubblewrap" else "unshare"):
        return False
    return _run_trial(isolation, "print('started')") == b"started\n"


@lru_cache(maxsize=3)
def _can_filter_calls(isolation: Isolation) -> bool:
    """Return whether a process in an isolation can set the filter of system calls."""
    code = f"import runpy\nprint(runpy.run_path({str(_GUEST)!r})['filter_calls']())"
    return _run_trial(isolation, code) == b"True\n"


def _run_trial(isolation: Isolation, code: str) -> bytes:
    """Return what a program of Python prints in an isolation; nothing where it cannot be started."""
    command = [*_build_prefix(isolation, ProcessLimits()), *_find_python(), "-c", code]
    try:
        done = subprocess.run(  # noqa: S603  # our own command
            command, capture_output=True, timeout=_TRIAL_SECONDS, env={}, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


def build_command(isolation: Isolation, limits: ProcessLimits, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs `guest_process.py` in isolation.

    Parameters
    ----------
    isolation
        How it is isolated.
    limits
        What it may use.
    arguments
        Arguments of the program.
    """
    return [*_build_prefix(isolation, limits), *_find_python(), str(_GUEST), *arguments]


def _find_python() -> list[str]:
    """Return the interpreter without its environment; it starts no code of installed packages."""
    return [str(Path(sys.executable).resolve()), "-I", "-S", "-B"]


def find_library_folders() -> list[str]:
    """Return the folders of the installed packages, for code that imports them."""
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))


def _list_visible() -> list[str]:
    """Return the folders and files that a process in isolation can read."""
    executable = Path(sys.executable).resolve()
    prefixes = (sys.base_prefix, sys.base_exec_prefix, str(executable.parents[1]))
    python = [prefix for prefix in prefixes if _is_python_prefix(Path(prefix))]
    folders = [*_SYSTEM_FOLDERS, *python, sysconfig.get_path("stdlib"), *find_library_folders()]
    shared = [sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")]
    files = [*_SYSTEM_FILES, str(executable), "/".join(map(str, shared)) if all(shared) else "", str(_GUEST)]
    inside = ("/usr/", "/lib/", "/bin/")
    visible = [path for path in dict.fromkeys(folders) if Path(path).is_dir() and not path.startswith(inside)]
    visible_parents = tuple(f"{path}/" for path in visible)
    return [
        *visible,
        *(path for path in dict.fromkeys(files) if Path(path).is_file() and not path.startswith(visible_parents)),
    ]


def _is_python_prefix(folder: Path) -> bool:
    """Return whether a folder is an installation of Python, and neither the root, a home folder, nor a parent of one.

    Where it is not, a process sees the standard library, the interpreter and its shared library, and no other file.
    """
    folder = folder.resolve()
    homes = [Path("/home/any"), Path("/root"), Path("~").expanduser().resolve()]
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        homes.append(Path(pwd.getpwuid(os.getuid()).pw_dir).resolve())
    if folder == Path("/") or folder.parent == Path("/home") or any(home.is_relative_to(folder) for home in homes):
        return False
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return any(
        (folder / name / version / "os.py").is_file() for name in dict.fromkeys(("lib", "lib64", sys.platlibdir))
    )


def _build_prefix(isolation: Isolation, limits: ProcessLimits) -> list[str]:
    """Return the command that isolates the one that follows."""
    if isolation == "bubblewrap":
        return _build_bubblewrap(limits)
    return _build_namespaces(limits) if isolation == "namespaces" else []


def _build_bubblewrap(limits: ProcessLimits) -> list[str]:
    """Return the command of bubblewrap.

    All that it mounts is read-only but /tmp: /dev and the root would be writable otherwise. The process is the first
    one of its namespace, since bubblewrap's own would show its environment and memory there.
    """
    command = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534"]
    command += ["--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--hostname", "sandbox"]
    # Before the other mounts, some of which may lie in /tmp.
    command += ["--dev", "/dev", "--size", str(limits.scratch), "--tmpfs", SCRATCH_FOLDER]
    for path in _list_visible():
        command += ["--ro-bind", path, path]
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SCRATCH_FOLDER]


#: Builds a root of bind mounts on a folder that every system has, and runs a command there without any capability.
_NAMESPACE_SCRIPT = """
set -e
root=$1; scratch=$2; shift 2
mount -t tmpfs -o mode=755,size=1m tmpfs "$root"
mkdir -p "$root/dev" "$root/tmp"
mount -t tmpfs -o mode=1777,nr_inodes=4096,nosuid,nodev,size="$scratch" tmpfs "$root/tmp"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")"; : > "$root$1"; fi
  mount --bind "$1" "$root$1"
  mount -o remount,bind,ro,nosuid,nodev "$root$1"
  shift
done
shift
for name in DEVICES; do : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mount -o remount,bind,ro "$root"
cd "$root/tmp"
# chroot needs a capability that setpriv takes away, so it comes first.
exec chroot "$root" /usr/bin/env -i -C /tmp setpriv IDENTITY --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
"""


def _build_namespaces(limits: ProcessLimits) -> list[str]:
    """Return the command of util-linux: namespaces, a root of bind mounts, and no capabilities.

    No limit on the number of threads binds root, so that root's processes become another user with a number of its own.
    """
    user, identity = "--user --map-root-user", ""
    if os.geteuid() == 0:
        number = _FIRST_USER + secrets.randbelow(_N_USERS)
        user, identity = "", f"--reuid={number} --regid={number} --clear-groups"
    script = _NAMESPACE_SCRIPT.replace("DEVICES", " ".join(_DEVICES)).replace("IDENTITY", identity)
    unshare = f"unshare {user} --mount --net --pid --ipc --uts --fork --kill-child=KILL"
    return [
        *("setpriv", "--pdeathsig", "KILL", *unshare.split(), "--propagation", "private"),
        *("sh", "-c", script, "sandbox", "/mnt", str(limits.scratch), *_list_visible(), "--"),
    ]
