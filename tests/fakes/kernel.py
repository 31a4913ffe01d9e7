"""A machine as its kernel tells of it: files in a folder, as a real one has printed them."""

import os
from pathlib import Path

# A Pi Zero 2 W, with the eMMC and the file system errors that it does not have
_PI = {
    "proc/meminfo": (
        "MemTotal:         437100 kB\nMemFree:           35216 kB\n"
        "MemAvailable:     213456 kB\nBuffers:           15880 kB\nHugePages_Total:       0\n"
    ),
    "proc/loadavg": "0.31 0.22 0.14 1/148 2391\n",
    "proc/uptime": "84219.55 330111.02\n",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "51540\n",
    "sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
    "proc/net/wireless": (
        "Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE\n"
        " face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22\n"
        " wlan0: 0000   54.  -56.  -256        0      0      0      0      0        0\n"
    ),
    "sys/block/mmcblk0/device/life_time": "0x01 0x02\n",
    "sys/block/mmcblk0/device/pre_eol_info": "0x01\n",
    "sys/fs/ext4/mmcblk0p2/errors_count": "0\n",
    "sys/fs/ext4/mmcblk0p4/errors_count": "3\n",
    "sys/class/net/lo/carrier": "1\n",
    "sys/class/net/wlan0/carrier": "1\n",
    "sys/class/net/eth0/carrier": "0\n",
    "proc/net/route": (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
        "wlan0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0\n"
    ),
    "proc/net/fib_trie": (
        "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n"
        "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n"
        "     |-- 192.168.1.37\n        /32 host LOCAL\n"
        "     |-- 192.168.1.255\n        /32 link BROADCAST\n"
    ),
    "proc/net/if_inet6": (
        "00000000000000000000000000000001 01 80 10 80       lo\n"
        "fe80000000000000dea632fffe000001 03 40 20 80    wlan0\n"
        "fd00000000000000dea632fffe000001 03 40 00 00    wlan0\n"
    ),
    "proc/net/ipv6_route": (
        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
        "fe800000000000000000000000000001 00000258 00000001 00000000 00000003    wlan0\n"
    ),
    "etc/resolv.conf": "# made by NetworkManager\nnameserver 192.168.1.1\noptions edns0\n",
}


def a_pi(root: Path) -> Path:
    """The root of a machine with everything that is read."""
    for name, text in _PI.items():
        write(root, name, text)
    return root


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def disk(
    free_mb: int, *, inodes: int = 1000, free_inodes: int = 900, read_only: bool = False
) -> os.statvfs_result:
    """What a file system of 1 GB answers."""
    flags = os.ST_RDONLY if read_only else 0
    block = 1024 * 1024
    return os.statvfs_result(
        (block, block, 1024, free_mb, free_mb, inodes, free_inodes, free_inodes, flags, 255)
    )
