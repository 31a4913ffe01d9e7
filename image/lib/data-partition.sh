#!/bin/sh
# Runs in the initial RAM disk: checks and mounts the data partition, gives the machine its identity.
# Only klibc's programs are here. Whatever goes wrong, the system starts: without memory if need be.
case $1 in
    prereqs) exit 0 ;;
esac

data=/dev/disk/by-partuuid/@DATA@
waited=0
while [ ! -e "$data" ] && [ "$waited" -lt 20 ]; do
    sleep 1
    waited=$((waited + 1))
done

fsck.ext4 -p "$data" >/run/barnacle-fsck 2>&1
# 4: something is left that needs an answer; nobody is there to give it
[ $? -ge 4 ] && fsck.ext4 -y "$data" >>/run/barnacle-fsck 2>&1

modprobe ext4
if ! mount -t ext4 -o noatime,nosuid,nodev,commit=15 "$data" "${rootmnt}/data"; then
    echo "barnacle: the data partition cannot be mounted; this start forgets everything"
    mount -t tmpfs -o nosuid,nodev,mode=0755 tmpfs "${rootmnt}/data"
    : >/run/barnacle-no-data
fi

if [ ! -s "${rootmnt}/data/machine-id" ]; then
    read -r id </proc/sys/kernel/random/uuid
    plain=
    while [ "$id" != "${id#*-}" ]; do
        plain=$plain${id%%-*}
        id=${id#*-}
    done
    echo "$plain$id" >"${rootmnt}/data/machine-id.new"
    mv "${rootmnt}/data/machine-id.new" "${rootmnt}/data/machine-id"
    sync
fi
mount -o bind "${rootmnt}/data/machine-id" "${rootmnt}/etc/machine-id"
