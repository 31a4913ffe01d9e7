#!/bin/sh
# Runs in the initial RAM disk: checks and mounts the data partition, gives the machine its identity.
# Only klibc's programs are here, and those of the system, which is mounted already. Whatever goes
# wrong, the system starts: without memory if need be. DATA_PARTITION_ROOT is for its test.
case $1 in
    prereqs) exit 0 ;;
esac

root=${DATA_PARTITION_ROOT:-}
data=$root/dev/disk/by-partuuid/@DATA@
# The last sector of a slot, which no system reaches: the count of starts that ended before the agent
# was ready. It is on no file system, so that none can be in its way, and alone in its erase block
counter=$root/dev/disk/by-partuuid/@COUNTER@
sector=@COUNTER_SECTOR@
sign=barnacle-starts
# So many of them are no accident any more
many=3
# What is needed to be reached, and to know its owner: folders of the partition, and files of the agent
folders="config credstore sealed systemd device connections NetworkManager"
files="people.json estop"

# klibc's own dd would read all that is before that sector
count_starts() {
    read -r said begun rest <<END
$(chroot "$rootmnt" dd bs=512 skip="$sector" count=1 <"$counter" 2>/dev/null)
END
    case $said-$begun in
        "$sign"-[0-9]) ;;
        *) begun=0 ;;
    esac
}

note_start() {
    next=$((begun + 1))
    [ "$next" -gt 9 ] && next=9
    # 16 spaces; a whole sector, and nothing but text
    pad="                "
    pad="$pad$pad$pad$pad$pad$pad$pad$pad"
    printf '%.512s' "$sign $next
$pad$pad$pad$pad" | chroot "$rootmnt" dd bs=512 seek="$sector" count=1 conv=notrunc,fsync \
        1<>"$counter" 2>/dev/null
}

# The hardware ends a check or a mount that stands still. The system takes the watchdog over: it goes
# on counting when this lets go of it, 15 s on a Pi
watch() {
    modprobe -q bcm2835_wdt
    [ -c "$root/dev/watchdog0" ] || return 0
    (
        exec 9>"$root/dev/watchdog0"
        left=120
        while [ "$left" -gt 0 ]; do
            echo >&9
            sleep 5 9>&-
            left=$((left - 1))
        done
        # Ten minutes for what takes one
        sleep 600
    ) &
    watcher=$!
}

# Leave the partition as it is: memory in its place, with a copy of what is needed to be reached
set_aside() {
    echo "barnacle: the data partition is left alone: $1"
    mount -t tmpfs -o nosuid,nodev,mode=0755,size=64M tmpfs "${rootmnt}/data"
    echo "$1" >"$root/run/barnacle-aside"
    # Without its journal, which would have to be written back
    if ! mount -t ext4 -o ro,noload,nosuid,nodev "$data" "${rootmnt}/mnt"; then
        echo "barnacle: it cannot be read either; this start knows nobody"
        : >"$root/run/barnacle-no-data"
        return 0
    fi
    for name in $folders; do
        # A folder that has become something else would stop the system that mounts it
        [ -d "${rootmnt}/mnt/$name" ] && chroot "${rootmnt}" cp -a "/mnt/$name" /data/
    done
    [ -s "${rootmnt}/mnt/machine-id" ] && chroot "${rootmnt}" cp -a /mnt/machine-id /data/
    # Whose it is, the system itself puts right
    mkdir "${rootmnt}/data/barnacle"
    for name in $files; do
        [ -f "${rootmnt}/mnt/barnacle/$name" ] &&
            chroot "${rootmnt}" cp -a "/mnt/barnacle/$name" /data/barnacle/
    done
    umount "${rootmnt}/mnt"
}

waited=0
while [ ! -e "$data" ] && [ "$waited" -lt 20 ]; do
    sleep 1
    waited=$((waited + 1))
done

modprobe ext4
count_starts
note_start
watcher=
watch

if [ "$begun" -ge "$many" ]; then
    set_aside "$begun starts ended early"
else
    fsck.ext4 -p "$data" >"$root/run/barnacle-fsck" 2>&1
    # 4: something is left that needs an answer; nobody is there to give it
    [ $? -ge 4 ] && fsck.ext4 -y "$data" >>"$root/run/barnacle-fsck" 2>&1
    mount -t ext4 -o noatime,nosuid,nodev,commit=15 "$data" "${rootmnt}/data" ||
        set_aside "it cannot be mounted"
fi

if [ ! -s "${rootmnt}/data/machine-id" ]; then
    read -r id <"$root/proc/sys/kernel/random/uuid"
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
[ -n "$watcher" ] && kill "$watcher"
true
