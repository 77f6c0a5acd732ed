#!/bin/sh
# The learning experiment: every preset with every seed, one run after the other, then the table (mean and range over seeds).
# Each run can be interrupted; started again, the script goes on where it was. The figures before training are those of the
# first run for all (a fresh adapter changes nothing).
#
#   STEPS=60 SEEDS="1 2 3" PRESETS="share-grpo grpo-mn grpo" TEST=200 OUT=runs npm run experiment
set -eu
cd "$(dirname "$0")/../.."
STEPS=${STEPS:-60} SEEDS=${SEEDS:-"1 2 3"} PRESETS=${PRESETS:-"share-grpo grpo-mn grpo"} TEST=${TEST:-200} OUT=${OUT:-runs}
mkdir -p "$OUT"
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$OUT}" # Vulkan’s loader complains without one
npx vite build --config vite.cli.config.ts --logLevel error --outDir "$OUT/cli"
first=
summaries=
for seed in $SEEDS; do
  for preset in $PRESETS; do
    run="$OUT/$preset-$seed"
    first=${first:-$run}
    summaries="$summaries $run.summary.json"
    before=
    [ "$run" = "$first" ] || before="--before $first.summary.json"
    # shellcheck disable=SC2086
    npx deno run -A --no-lock "$OUT/cli/train.js" --preset "$preset" --seed "$seed" --steps "$STEPS" --out "$run.jsonl" \
      --light --resume --evaluate-every 1000 --test-questions "$TEST" $before 2>&1 | tee -a "$run.log"
  done
done
# shellcheck disable=SC2086
npx deno run -A --no-lock "$OUT/cli/compare.js" $summaries | tee "$OUT/table.md"
