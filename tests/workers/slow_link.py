#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces that a bad link connects: packets are late, some are lost, and the link can be cut. The kernel's
netem does this where it is built in; this does the same with two TUN devices and a process that carries packets from one
to the other. Needs root.

Usage: slow_link.py NAME DELAY LOSS     the namespaces are NAME0 (10.77.0.1) and NAME1 (10.77.0.2); DELAY in milliseconds one
                                    way, LOSS the part of the packets that is lost. SIGUSR1 cuts the link, SIGUSR2
                                    connects it again, SIGTERM removes everything.
"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
CLONE_NEWNET = 0x40000000


def ip(*words, check=True):
    subprocess.run(["ip", *words], check=check, stderr=None if check else subprocess.DEVNULL)


def open_end(namespace, address):
    """A TUN device in the namespace; what is read and written here are its packets."""
    ip("netns", "add", namespace)
    libc = ctypes.CDLL(None, use_errno=True)
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(there, CLONE_NEWNET) != 0:
        sys.exit(f"slow_link: cannot enter the namespace {namespace}: {os.strerror(ctypes.get_errno())}")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", b"link0", IFF_TUN | IFF_NO_PI))
    libc.setns(own, CLONE_NEWNET)
    os.close(own)
    os.close(there)
    ip("-n", namespace, "link", "set", "lo", "up")
    ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "link0")
    ip("-n", namespace, "link", "set", "link0", "mtu", "9000", "up")
    return end


class Link:
    def __init__(self, ends, delay, loss):
        self.ends, self.delay, self.loss = ends, delay, loss
        self.is_cut = False
        self.waiting, self.number = [], 0
        self.random = random.Random(5)
        self.carried = self.lost = 0

    def take(self, side):
        while True:
            try:
                packet = os.read(self.ends[side], 65536)
            except BlockingIOError:
                return
            if self.is_cut or self.random.random() < self.loss:
                self.lost += 1
                continue
            # The number keeps packets in order that are due at the same time.
            self.number += 1
            heapq.heappush(self.waiting, (time.monotonic() + self.delay, self.number, 1 - side, packet))

    def deliver(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, side, packet = heapq.heappop(self.waiting)
            if self.is_cut:
                continue
            try:
                os.write(self.ends[side], packet)
                self.carried += 1
            except BlockingIOError:
                self.lost += 1

    def serve(self):
        while True:
            left = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            ready, _, _ = select.select(self.ends, [], [], left)
            for end in ready:
                self.take(self.ends.index(end))
            self.deliver()


def main():
    name, delay, loss = sys.argv[1], float(sys.argv[2]) / 1000, float(sys.argv[3])
    for side in range(2):
        ip("netns", "del", f"{name}{side}", check=False)
    link = Link([open_end(f"{name}{side}", f"10.77.0.{side + 1}") for side in range(2)], delay, loss)

    def cut(is_cut):
        link.is_cut = is_cut

    def finish(*_):
        for side in range(2):
            ip("netns", "del", f"{name}{side}", check=False)
        print(f"slow_link: {link.carried} packets carried, {link.lost} lost", flush=True)
        os._exit(0)

    signal.signal(signal.SIGUSR1, lambda *_: cut(True))
    signal.signal(signal.SIGUSR2, lambda *_: cut(False))
    signal.signal(signal.SIGTERM, finish)
    print("ready", flush=True)
    link.serve()


if __name__ == "__main__":
    main()
