#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a statically linked x86-64 Linux program on a machine that lacks the instructions it needs:
#
#   tools/run_x86.sh avx2|avx512 BINARY [ARGUMENT...]
#
# avx2 uses QEMU's user-mode emulation. QEMU has no AVX-512, so avx512 boots a Debian kernel under Bochs with
# the program in its initramfs; there, the program sees no files of the host, an empty standard input, and of
# the environment only PANDO_* and GTEST_*. A machine that has the instructions runs the program directly.
# Output and exit status are the program's; status 125 means that it could not be run.
# PANDO_X86_MEMORY sets the memory under Bochs in MiB (default 1024).
set -euo pipefail

fail() { echo "run_x86.sh: $*" >&2; exit 125; }

packages() { "$(dirname "${BASH_SOURCE[0]}")/../scripts/install.sh" "$@" || fail "needs the Debian packages $*"; }

(($# >= 2)) || fail "usage: run_x86.sh avx2|avx512 BINARY [ARGUMENT...]"
isa=$1 binary=$2
shift 2
case $isa in
  avx2) flags=(avx2 fma) ;;
  avx512) flags=(avx2 fma avx512f avx512bw avx512dq avx512vl) ;;
  *) fail "unknown instruction set '$isa': use avx2 or avx512" ;;
esac
[[ -f $binary && -x $binary ]] || fail "no executable file '$binary'"
[[ $binary == */* ]] || binary=./$binary
[[ $(od -An -tx1 -N20 "$binary" | tr -d ' \n') == 7f454c4602*3e00 ]] || fail "'$binary' is not an x86-64 program"

if [[ $(uname -m) == x86_64 ]]; then
  native=1
  for flag in "${flags[@]}"; do grep -qw "$flag" /proc/cpuinfo || native=0; done
  ((native == 0)) || exec "$binary" "$@"
fi
if [[ $isa == avx2 ]]; then
  command -v qemu-x86_64 >/dev/null || packages qemu-user
  exec qemu-x86_64 -cpu max "$binary" "$@"
fi

compiler=(gcc-x86-64-linux-gnu libc6-dev-amd64-cross)
[[ $(uname -m) != x86_64 ]] || compiler=(gcc libc6-dev)
packages bochs bochs-term bochsbios isolinux syslinux-common xorriso cpio "${compiler[@]}"
! LC_ALL=C x86_64-linux-gnu-readelf -lW "$binary" | grep ' INTERP ' >/dev/null || fail "'$binary' is not static"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pando/x86
mkdir -p "$cache"
work=$(mktemp -d "$cache/run.XXXXXX")
emulator=
trap '[[ -z $emulator ]] || { kill "$emulator" && wait "$emulator" || true; } 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM

# A separate package index finds the amd64 kernel without adding an architecture to the system.
if [[ ! -e $cache/vmlinuz ]]; then
  echo "run_x86.sh: downloading linux-image-cloud-amd64" >&2
  mkdir -p "$work"/apt/{lists,cache/archives}/partial
  touch "$work/apt/status"
  apt=(-q -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Sandbox::User=root
    -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache")
  apt-get "${apt[@]}" update >&2 || fail "cannot fetch the amd64 package index"
  image=$(apt-cache "${apt[@]}" depends linux-image-cloud-amd64 | awk '$1 == "Depends:" {print $2; exit}')
  (cd "$work" && apt-get "${apt[@]}" download "$image") >&2 || fail "cannot download linux-image-cloud-amd64"
  dpkg-deb --fsys-tarfile "$work"/linux-image-*.deb | tar -xO --wildcards './boot/vmlinuz-*' >"$work/vmlinuz"
  mv "$work/vmlinuz" "$cache/vmlinuz"
fi

# The guest's init copies the program's output to the parallel ports, which Bochs writes to files at once and
# unchanged, reports the exit status on the serial port, and ends Bochs through its shutdown port.
cat >"$work/init.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static char *argv[1 << 16], *envp[1 << 16], text[2][1 << 18], buffer[1 << 16];
static void split(const char *file, char *text, char **words) {
  char *end = text + read(open(file, O_RDONLY | O_CLOEXEC), text, 1 << 18);
  for (char *c = text; c < end; c++) if (c == text || !c[-1]) *words++ = c;
}
int main(void) {
  int out[2], err[2], ports[] = {0x378, 0x278}, status;
  mkdir("/dev", 0755), mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/tmp", 0777);
  mount("dev", "/dev", "devtmpfs", 0, 0), mount("proc", "/proc", "proc", 0, 0), mount("sys", "/sys", "sysfs", 0, 0);
  split("/argv", text[0], argv), split("/envp", text[1], envp);
  for (int i = 0; i < 3; i++) close(i), open("/dev/null", O_RDWR);
  pipe2(out, O_CLOEXEC), pipe2(err, O_CLOEXEC), iopl(3);
  pid_t child = fork();
  if (!child) dup2(out[1], 1), dup2(err[1], 2), execve("/program", argv, envp), _exit(127);
  close(out[1]), close(err[1]);
  struct pollfd streams[] = {{out[0], POLLIN}, {err[0], POLLIN}};
  while ((streams[0].fd >= 0 || streams[1].fd >= 0) && poll(streams, 2, -1) > 0)
    for (int i = 0; i < 2; i++) if (streams[i].revents) {
      long size = read(streams[i].fd, buffer, sizeof buffer);
      if (size <= 0) streams[i].fd = -1;
      for (long j = 0; j < size; j++) outb(buffer[j], ports[i]), outb(13, ports[i] + 2), outb(12, ports[i] + 2);
    }
  waitpid(child, &status, 0);
  sprintf(buffer, "\nEXIT %d\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  for (char *c = buffer; *c; c++) for (outb(*c, 0x3f8); ~inb(0x3fd) & 0x40;) {}
  for (const char *c = "Shutdown"; *c; c++) outb(*c, 0x8900);
  for (;;) pause();
}
END
mkdir "$work/root" "$work/disk"
x86_64-linux-gnu-gcc -w -O1 -static -o "$work/root/init" "$work/init.c" || fail "cannot compile the guest's init"
x86_64-linux-gnu-strip -o "$work/root/program" "$binary" # less to load
printf '%s\0' "$binary" "$@" >"$work/root/argv"
{ printf '%s\0' PATH=/ HOME=/tmp; env -0 | grep -zE '^(PANDO|GTEST)_' || true; } >"$work/root/envp"
(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/disk/initrd"
cp "$cache/vmlinuz" /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/disk"
# The newest processor that Bochs has: from 3.0 on it knows AVX512_BF16. It lacks XFD, without which Linux fails to turn
# AMX on, and its fast string instructions make the kernel hang.
model=corei7_skylake_x without=xsavec,xsaves,pku
if bochs-bin --help cpu </dev/null 2>&1 | grep -x sapphire_rapids >/dev/null; then
  model=sapphire_rapids without+=,amx_tile,fsrm,erms
fi
# Bochs misreports the size of the compacted XSAVE area, for which the kernel would turn AVX off; without xsavec
# and xsaves it uses the standard one. tsc_early_khz is the clock of Bochs below. The devices and functions that
# are turned off only cost time.
options=("console=ttyS0,115200" quiet panic=-1 reboot=t "clearcpuid=$without" tsc=reliable tsc_early_khz=20000
  nokaslr nosmp noreplace-smp nolapic noapic acpi=off pci=off mitigations=off cryptomgr.notests)
skip=(trace_eval_init init_kprobe_trace tracer_init_tracefs btf_vmlinux_init cubictcp_register bpf_rstat_kfunc_init
  bpf_key_sig_kfuncs_init bpf_prog_test_run_init bpf_tcp_ca_kfunc_init kfunc_init load_system_certificate_list)
printf 'default vmlinuz initrd=initrd %s initcall_blacklist=%s\n' "${options[*]}" "$(IFS=,; echo "${skip[*]}")" \
  >"$work/disk/isolinux.cfg"
xorriso -as mkisofs -quiet -o "$work/disk.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
  -boot-info-table "$work/disk" >"$work/xorriso" 2>&1 || { cat "$work/xorriso" >&2; fail "cannot make the boot disk"; }
memory=${PANDO_X86_MEMORY:-1024}
cat >"$work/bochsrc" <<END
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=$model, ips=20000000, reset_on_triple_fault=0
memory: guest=$memory, host=$memory
ata0-master: type=cdrom, path=disk.iso, status=inserted
boot: cdrom
clock: sync=none
com1: enabled=1, mode=file, dev=console
parport1: enabled=1, file=out
parport2: enabled=1, file=err
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
speaker: enabled=0
log: log
panic: action=fatal
error: action=ignore
END

# Debian's Bochs starts in its debugger, and its text display needs a terminal, which script provides. Huge pages
# make allocating the guest's memory faster.
cd "$work"
printf 'c\nq\n' >commands
touch out err console
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 script -qec 'exec bochs-bin -q -f bochsrc -rc commands' /dev/null \
  </dev/null >terminal 2>&1 &
emulator=$!
# Bochs shows the guest's screen on a terminal that it opens for it, and waits for ever once 4 KiB are unread.
while kill -0 $emulator 2>/dev/null && ! grep -qa 'connected to screen' terminal; do sleep 0.1; done
screen=$(sed -n 's/.*connected to screen "\([^"]*\)".*/\1/p' terminal)
[[ ! $screen ]] || { cat "$screen" >/dev/null 2>&1 || true; } &
tail -s 0.2 --pid=$emulator -c +1 -f err >&2 &
tail -s 0.2 --pid=$emulator -c +1 -f out &
wait
emulator=
status=$(tr -d '\r' <console | sed -n 's/^EXIT \([0-9]*\)$/\1/p')
[[ $status ]] || { tail -n 20 console terminal >&2; fail "the guest ended without an exit status"; }
exit "$status"
