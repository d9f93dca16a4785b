"""Makes a bill of materials (CycloneDX 1.5, JSON) of a program from dpkg's database on this machine. It lists the
packages of the shared libraries that the program loads and of the headers that were compiled into it.

    python3 -B packaging/sbom.py BUILD_DIRECTORY PROGRAM VERSION SOURCE_DATE_EPOCH > sbom.cdx.json
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def loaded_libraries(program):
    return {os.path.realpath(path) for path in re.findall(r" => (/\S+)", run("ldd", program))}


def compiled_headers(build):
    """The headers outside of the project that the program's sources include, from Ninja's dependency log."""
    headers, wanted = set(), False
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line[:1].strip():
            wanted = bool(re.match(r"CMakeFiles/millrace(_\w+)?\.dir/", line))
        elif wanted and line.startswith("    /usr/include/"):
            headers.add(line.strip())
    return headers


def packages_of(paths):
    """{package: {its uses}} by dpkg's list of files, which lists files of /usr/lib also under /lib."""
    names = {name for path in paths for name in (path, path.removeprefix("/usr"))}
    found = set()
    names = sorted(names)
    for at in range(0, len(names), 500):
        for line in run("dpkg-query", "--search", *names[at : at + 500]).splitlines():
            if not line.startswith("diversion "):
                found.add(line.split(": ")[0].split(",")[0].split(":")[0])
    return found


def facts(package):
    shown = run(
        "dpkg-query",
        "--show",
        "--showformat",
        "${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Homepage}\n",
        package,
    )
    return shown.splitlines()[0].split("\t")


def release():
    text = pathlib.Path("/etc/os-release").read_text()
    return re.search(r'^VERSION_ID="?(\d+)', text, re.MULTILINE)[1]


def component(package, scope):
    version, architecture, source, source_version, homepage = facts(package)
    purl = f"pkg:deb/debian/{package}@{version}?arch={architecture}&distro=debian-{release()}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package,
        "version": version,
        "purl": purl.replace("+", "%2B"),
        **({"externalReferences": [{"type": "website", "url": homepage}]} if homepage else {}),
        "properties": [
            {"name": "debian:source", "value": f"{source} {source_version}"},
            {"name": "millrace:use", "value": scope},
        ],
    }


def bill(build, program, version, epoch):
    used = {package: "compiled in" for package in packages_of(compiled_headers(build))}
    used |= {package: "loaded" for package in packages_of(loaded_libraries(program))}
    components = [component(package, scope) for package, scope in sorted(used.items())]
    made = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    purl = f"pkg:generic/millrace@{version}".replace("+", "%2B")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": "millrace",
                "name": "millrace",
                "version": version,
                "purl": purl,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": "millrace", "dependsOn": [one["bom-ref"] for one in components]}],
    }


if __name__ == "__main__":
    json.dump(bill(*sys.argv[1:]), sys.stdout, indent=1)
    print()
