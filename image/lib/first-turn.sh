#!/bin/sh
# Runs in the initial RAM disk before the root is mounted, in a trial that config.txt itself names:
# one letter of it is written back, so that whatever ends this start, the next one is of the slot
# before. Only klibc's programs are here. Does nothing where the command line does not say where.
# FIRST_TURN_ROOT is for its test.
case $1 in
    prereqs) exit 0 ;;
esac

root=${FIRST_TURN_ROOT:-}
here= at=
for word in $(cat "$root/proc/cmdline"); do
    case $word in
        barnacle.slot=*) here=${word#*=} ;;
        barnacle.switch=*) at=${word#*=} ;;
    esac
done
[ -n "$at" ] || exit 0
case $here in
    A) other=B ;;
    B) other=A ;;
    *) exit 0 ;;
esac

firmware=$root/dev/disk/by-partuuid/@FIRMWARE@
waited=0
while [ ! -e "$firmware" ] && [ "$waited" -lt 20 ]; do
    sleep 1
    waited=$((waited + 1))
done

# klibc's dd goes to its place block by block: sectors, and bytes only within the two that matter
sector=$(((at - 10) / 512))
within=$((at - sector * 512))
sectors=$root/run/first-turn
dd if="$firmware" of="$sectors" bs=512 skip="$sector" count=2 2>/dev/null
# Only where it says so now: somebody may have changed the file meanwhile
line=$(dd if="$sectors" bs=1 skip=$((within - 10)) count=12 2>/dev/null)
[ "$line" = "os_prefix=$here/" ] || exit 0
printf %s "$other" | dd of="$sectors" bs=1 seek="$within" conv=notrunc 2>/dev/null
dd if="$sectors" of="$firmware" bs=512 seek="$sector" conv=notrunc 2>/dev/null
sync
echo "barnacle: slot $here is on trial; every other start is of slot $other"
