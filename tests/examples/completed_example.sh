# SPDX-License-Identifier: Apache-2.0
# What completed_example's flags do, and what they say where they do nothing; read by run_example.sh.
few=(--samples 100 --epochs 1)
drawn="note: MNIST is not on this machine (scripts/fetch_data.sh gets it): using drawn digits instead"

# notes LINE...: standard error has these lines, then the one about the data, and no others.
notes() {
    local wanted
    wanted=$(printf '%s\n' "$@" "$drawn")
    [ "$(cat err)" = "$wanted" ] || fail "$flags: standard error should be: $wanted"
}

run 0 --help
is_silent
says out "  --gradient-accumulation-count N  batches of each replica for a weight update (default: 1, or 8 with"

run 0 "${few[@]}"
notes
prints '^Device +the host: '
prints '^2/2 .*accuracy: [0-9.]+ - loss: [0-9.]+'

run 0 "${few[@]}" --pipelining --num-ipus 2
notes "note: --num-ipus has no effect without --use-ipu: the host is one device" \
    "note: --pipelining has no effect without --use-ipu: the host is one device"

run 0 "${few[@]}" --gradient-accumulation-count 3
notes
prints '^Update +192 samples = 64 x 3 accumulated x 1 replica'

run 0 "${few[@]}" --use-ipu
notes
prints '^Devices +1 IPU = 1 replica x 1 stage, '

run 0 "${few[@]}" --use-ipu --num-ipus 3
notes
prints '^Devices +3 IPUs = 3 replicas x 1 stage, '

run 0 "${few[@]}" --use-ipu --pipelining
notes
prints '^Devices +2 IPUs = 1 replica x 2 stages, '
prints '^Update +512 samples = 64 x 8 accumulated x 1 replica'

run 0 "${few[@]}" --use-ipu --pipelining --num-ipus 1
notes "note: --pipelining has no effect with --num-ipus 1: its 2 stages need an IPU each"
prints '^Devices +1 IPU = 1 replica x 1 stage, '

run 0 "${few[@]}" --use-ipu --pipelining --num-ipus 5 --batch-size 7 --gradient-accumulation-steps-per-replica=3
notes "note: 1 of 5 IPUs stays idle: a replica of the pipeline takes 2"
prints '^Devices +4 IPUs = 2 replicas x 2 stages, '
prints '^Update +42 samples = 7 x 3 accumulated x 2 replicas'

refuses "unknown argument '--use-ipus'" --use-ipus
refuses "unknown argument '--use-ipu=yes'" --use-ipu=yes
refuses "--num-ipus needs a whole number of at least 1, not '0'" --use-ipu --num-ipus 0
refuses "--batch-size needs a whole number of at least 1, not '64.5'" --batch-size=64.5
refuses "--gradient-accumulation-count needs a whole number of at least 1, not '--use-ipu'" \
    --gradient-accumulation-count --use-ipu
refuses "--epochs needs a whole number of at least 1, not ''" --epochs
