#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build and test Pando with the backend for NVIDIA GPUs, from the archive that scripts/bundle.sh makes; needs no network and
# installs nothing:
#
#   scripts/gpu_test.sh              builds, runs all tests on the GPU, looks for wrong accesses to memory of the ops, and
#                                    measures steps
#   scripts/gpu_test.sh --sanitize   builds, and runs the quick tests under memcheck and racecheck of compute-sanitizer;
#                                    needs Python and takes longer. What follows, such as --seconds 20, goes to
#                                    tools/gpu_sanitizer.py
#
# Needs a GPU with its driver, the CUDA toolkit 12.4, g++ 12 and CMake 3.25, or newer ones. Exit status 0 only if everything
# was built and passed; where compute-sanitizer does not support the machine, the first form says so and goes on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "gpu_test: $*"; }
sanitizes=
if [ "${1:-}" = --sanitize ]; then
    sanitizes=1
    shift
elif [ $# -gt 0 ]; then
    echo "usage: scripts/gpu_test.sh [--sanitize [OPTION...]]" >&2
    exit 2
fi
[ -d bundle ] || { say "there is no folder 'bundle' here; scripts/bundle.sh makes an archive that has it" >&2; exit 1; }
nvidia-smi -L || { say "there is no GPU here" >&2; exit 1; }

bundle=$PWD/bundle
jobs=$(nproc)
cmake -Wno-deprecated -S "$bundle/googletest" -B build/googletest -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF \
    -DCMAKE_INSTALL_PREFIX="$PWD/build/googletest/installed" >/dev/null
cmake --build build/googletest -j "$jobs" --target install >/dev/null
cmake -S . -B build/gpu -DCMAKE_BUILD_TYPE=Release -DPANDO_UNITY_BUILD=ON -DPANDO_BUILD_EXAMPLES=OFF \
    -DPANDO_WITH_CUDA=ON -DPANDO_TEST_GPU=ON -DCMAKE_CUDA_ARCHITECTURES=native \
    -Dfmt_DIR="$bundle/fmt" -DCMAKE_PREFIX_PATH="$PWD/build/googletest/installed"
say "builds with $jobs jobs"
cmake --build build/gpu -j "$jobs" >build/gpu/build.log 2>&1 || { tail -40 build/gpu/build.log; exit 1; }
build/gpu/cli/pando devices

export PANDO_DATA=$bundle/data
# A GPU has no instruction sets to choose from: one of the host is enough.
export PANDO_INSTRUCTION_SET=portable
if [ -n "$sanitizes" ]; then
    compute-sanitizer build/gpu/cli/pando devices >/dev/null || { say "compute-sanitizer does not support this machine" >&2; exit 1; }
    exec python3 tools/gpu_sanitizer.py build/gpu --jobs "$jobs" "$@"
fi
status=0
# The ops under compute-sanitizer take one core for a minute or more, and run beside the tests.
sanitized() {
    PANDO_BACKEND=cuda compute-sanitizer --tool memcheck --error-exitcode 9 \
        build/gpu/tests/ops/op_tests --gtest_brief=1 --gtest_filter='*Computes*'
}
sanitizer=
if compute-sanitizer --version >/dev/null 2>&1 && compute-sanitizer build/gpu/cli/pando devices >/dev/null 2>&1; then
    sanitized >build/gpu/sanitizer.log 2>&1 &
    sanitizer=$!
else
    say "compute-sanitizer does not support this machine"
fi

# A few processes at once share the GPU.
ctest --test-dir build/gpu -L cuda --output-on-failure --timeout 300 -j 6 || status=1

if [ -n "$sanitizer" ]; then
    say "compute-sanitizer on the ops"
    wait "$sanitizer" || status=1
    tail -5 build/gpu/sanitizer.log
fi

say "steps, beside those of PyTorch and JAX where Python has them"
env -u PANDO_INSTRUCTION_SET build/gpu/benchmarks/train_step --backend cuda,cpu --kernels --json build/gpu/steps.json || status=1
exit $status
