#!/usr/bin/env bash
# Installs from Debian's packages what the tests of the cluster and of the pages need:
# SLURM with its accounting, MUNGE and MariaDB; Chromium. Nothing is configured and nothing
# started: the tests start daemons of their own, in a folder of their own.
set -euo pipefail
packages=()
package() { # package NAME PROGRAM...: needed where none of the programs is there
    command -v "${@:2}" > /dev/null || packages+=("$1")
}
package chromium chromium google-chrome
package slurmctld slurmctld
package slurmd slurmd
package slurmdbd slurmdbd
package slurm-client sbatch
package munge munged
package mariadb-server mariadbd
[ "${#packages[@]}" -eq 0 ] && exit 0
if ! command -v apt-get > /dev/null; then
    echo "Not installed: ${packages[*]}; apt-get is not here"
    exit 0
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2> /dev/null; then
        echo "Not installed: ${packages[*]}; that needs root or sudo without a password"
        exit 0
    fi
    sudo=(sudo)
fi
# Debian starts a service when its package is installed, unless this program says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" > /dev/null
    "${sudo[@]}" chmod +x "$policy"
    trap '"${sudo[@]}" rm -f "$policy"' EXIT
fi
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq --yes --no-install-recommends "${packages[@]}" > /dev/null
