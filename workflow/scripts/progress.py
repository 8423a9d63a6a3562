"""Runs a snakemake command and shows one line for each finished job.

    python workflow/scripts/progress.py snakemake --cores 4 ...

Errors pass through as they are; Snakemake's own account is in .snakemake/log. The exit
code is Snakemake's.
"""

import re
import subprocess
import sys

NOISE = re.compile(
    r"^(\[\w{3} \w{3} .*\]|Job \d+: .*|Reason: .*|Finished jobid: .*|Select jobs .*"
    r"|Execute \d+ jobs.*|Complete log.*|Elapsed time.*|Using workflow specific .*"
    r"|  (Date|Workflow ID|Platform|Host|User|\w+ version|Command|Snakefile): .*"
    r"|  (\w+ directory|Config \S+): .*|SNAKEMAKE|=+|host: .*|Building DAG.*"
    r"|Using shell.*|Provided .*|Rules claiming .*|Job stats:|job +count|-+ +-+"
    r"|\w+ +\d+|Removing .*|Touching .*|Assuming .*|Skipping .*|)$"
)


def main(command):
    """Filter the command's output; return its exit code."""
    messages, finished = {}, None
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    ) as process:
        try:
            for line in map(str.rstrip, process.stdout):
                if match := re.match(r"Job (\d+): (.*)", line):
                    messages[match[1]] = match[2]
                elif match := re.match(r"Finished jobid: (\d+)", line):
                    finished = messages.get(match[1])
                elif match := re.match(r"(\d+) of (\d+) steps \((\d+)%\)", line):
                    done, total, percent = match.groups()
                    label = finished or "all"
                    print(f"{percent:>3} %  {done:>4}/{total}  {label}", flush=True)
                elif not NOISE.match(line):
                    print(line, flush=True)
        except KeyboardInterrupt:  # Snakemake got it too, and ends its jobs in order
            for line in process.stdout:
                print(line, end="", flush=True)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
