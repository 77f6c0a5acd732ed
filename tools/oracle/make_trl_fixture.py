"""Writes tests/fixtures/trl-loss.json: losses, their derivatives, and advantages, from TRL's own GRPOTrainer in float64.

    python tools/oracle/make_trl_fixture.py

No model is loaded. The trainer is made without its constructor; three of its methods are replaced, those that sample responses,
run a model and call reward functions. What is left runs as it is: `_generate_and_score_completions` makes the mask of cut-off
responses, the number of tokens, the importance weights and the advantages, `_compute_loss` the loss, autograd the derivative.

Names: TRL's sampler is Share-GRPO's policy on the prompt that a response was sampled under, its `delta` is the dual clip.
`use_bias_correction_kl` is off: with it TRL multiplies the KL term by the ratio.
"""

from collections import defaultdict
from types import SimpleNamespace as Namespace

import numpy as np
import torch
import transformers
import trl
from trl import GRPOTrainer

from common import noise, write_fixture

END, PAD = 2, 0
LENGTHS = [7, 1, 4, 2, 5, 3]
TRUNCATED = [True, False, False, True, False, False]
GROUP = 3
REWARDS = [1.0, 0.5, 0.0, 0.1, 0.9, 0.0]  # the advantage of the second is 0
SCALED = [[1, 0.1, 0, 0.9], [0.9, 0.9, 0.9, 0.9], [0, 0, 0, 1], [0, 0, 0, 0]]
C, MAX_TOKENS, CLIP = 2.0, 8, (0.2, 0.3)
CORRECTIONS = ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]
LOSSES = ["grpo", "bnpo", "dr_grpo", "dapo"]


def case(loss_type, level="token", beta=0.0, correction=None, mask=False, clip=CLIP, dual=None):
    return {"aggregation": loss_type, "level": level, "beta": beta, "correction": correction, "maskTruncated": mask,
            "clip": {"low": clip[0], "high": clip[1], "dual": dual}}


def cases():
    plain = [case(a, level, beta) for a in LOSSES for level in ("token", "sequence") for beta in (0.0, 0.04)]
    corrected = [case(a, correction=c) for a in ("grpo", "dapo") for c in CORRECTIONS]
    corrected += [case("bnpo", correction="token_mask"), case("bnpo", correction="sequence_truncate")]
    corrected += [case("dr_grpo", correction="token_truncate"), case("dr_grpo", correction="sequence_mask")]
    corrected += [case("grpo", "sequence", 0.04, c) for c in CORRECTIONS]
    masked = [case(a, beta=0.04, correction="token_truncate", mask=True) for a in LOSSES]
    masked += [case("grpo", "sequence", mask=True), case("dapo", "sequence", 0.04, "token_mask", True)]
    dual = [case(a, dual=3.0) for a in LOSSES] + [case("bnpo", "sequence", 0.04, "sequence_truncate", dual=1.5)]
    return plain + corrected + masked + dual + [case("grpo", clip=(0.2, 0.2)), case("bnpo", "sequence", clip=(0.2, 0.2))]


def rows():
    """Log-probs of each row under the policy (`logProbs`), the old one, the base, and the sampler."""
    out, seed = [], 11
    shifts = [0.5, -0.1, -0.6, 0.25, 0.45, -0.3]  # of a whole row, so that ratios of sequences are clipped too
    gaps = [0.6, 0.9, 0.1, 0.5, -0.1, -0.4]  # tokens and whole rows on both sides of C
    for length, shift, gap, truncated in zip(LENGTHS, shifts, gaps, TRUNCATED):
        seed += 5
        old = -1.5 + noise(length, seed, 1.3).astype(np.float64)
        row = {
            "logProbs": old + shift + noise(length, seed + 1, 0.5), "oldLogProbs": old,
            "baseLogProbs": old + noise(length, seed + 2, 0.8), "samplingLogProbs": old - gap - noise(length, seed + 3, 0.9),
        }
        out.append({name: [round(float(x), 5) for x in values] for name, values in row.items()} | {"truncated": truncated})
    out[4]["logProbs"][2] = round(out[4]["oldLogProbs"][2] + 1.6, 5)  # a ratio over the dual clip
    out[3]["logProbs"][0] = round(out[3]["oldLogProbs"][0] + 1.3, 5)
    return out


def padded(rows, name):
    return torch.tensor([row[name] + [0.0] * (max(LENGTHS) - len(row[name])) for row in rows], dtype=torch.float64)


class Trainer(GRPOTrainer):
    """What the two methods read of a trainer, for one process and one micro-batch."""

    def __init__(self, rows, rewards, group, options, scale_rewards="group"):
        self.rows, self.rewards = rows, torch.tensor(rewards, dtype=torch.float64)[:, None]
        self.leaf = padded(rows, "logProbs").requires_grad_()
        self.model = Namespace(training=True, is_gradient_checkpointing=False)
        self.ref_model = Namespace()
        same = lambda x, **_: x  # noqa: E731
        self.accelerator = Namespace(device=torch.device("cpu"), gather=same, gather_for_metrics=same, reduce=same, num_processes=1,
                                     process_index=0, sync_gradients=True)
        self.args = Namespace(per_device_train_batch_size=len(rows), steps_per_generation=1, gradient_accumulation_steps=1, report_to=[],
                              gradient_checkpointing_kwargs=None, use_bias_correction_kl=False, delta=options["clip"]["dual"])
        self.num_iterations = 2  # of more than one the old log-probs are kept
        self.current_gradient_accumulation_steps = 1
        self.num_generations = group
        self.loss_type, self.importance_sampling_level = options["aggregation"], options["level"]
        self.beta, self.max_completion_length = options["beta"], MAX_TOKENS
        self.epsilon_low, self.epsilon_high = options["clip"]["low"], options["clip"]["high"]
        self.mask_truncated_completions, self.scale_rewards = options["maskTruncated"], scale_rewards
        self.use_vllm = self.vllm_importance_sampling_correction = options["correction"] is not None
        self.vllm_importance_sampling_mode = options["correction"]
        self.vllm_importance_sampling_clip_min, self.vllm_importance_sampling_clip_max = None, C
        self.multi_objective_aggregation, self.reward_weights = "sum_then_normalize", torch.ones(1, dtype=torch.float64)
        self.reward_funcs, self.reward_func_names = [None], ["reward"]
        self.top_entropy_quantile, self._entropy_bonus_enabled, self.off_policy_mask_threshold = 1.0, False, None
        self.aux_loss_enabled = self.log_multimodal = False
        self.tools = self.environments = self.environment_factories = self.pad_to_multiple_of = None
        self.eos_token_ids, self._tokenizer = [END], Namespace(pad_token_id=PAD)
        self._metrics = {"train": defaultdict(list)}
        self._logs = {"prompt": [], "completion": [], "rewards": defaultdict(list), "advantages": [], "extra": defaultdict(list)}
        self._pending_extra_logs, self._pending_metrics = {}, {}

    def _generate(self, prompts):
        ids = [[5] * (len(row["logProbs"]) - 1) + [5 if row["truncated"] else END] for row in self.rows]
        sampling = [row["samplingLogProbs"] for row in self.rows] if self.use_vllm else None
        return [[1]] * len(ids), ids, None, ["" for _ in ids], sampling, {}, None, None

    def _calculate_rewards(self, *_):
        return self.rewards

    def _get_per_token_logps_and_entropies(self, model, *_, compute_entropy=False, **__):
        if compute_entropy:  # asked for by the loss
            return self.leaf, torch.zeros_like(self.leaf), None
        return padded(self.rows, "baseLogProbs" if model is self.ref_model else "oldLogProbs"), None, None

    def score(self):
        return self._generate_and_score_completions([{"prompt": ""}] * len(self.rows))


def number(x):
    return float(f"{float(x):.12g}")


def loss_case(inputs, options):
    trainer = Trainer(inputs, REWARDS, GROUP, options)
    batch = trainer.score()
    loss = trainer._compute_loss(trainer.model, batch)
    loss.backward()
    slopes = [[number(x) for x in g[:n]] for g, n in zip(trainer.leaf.grad, LENGTHS)]
    assert all(g[n:].abs().max() == 0 for g, n in zip(trainer.leaf.grad, LENGTHS) if n < len(g))
    metrics = {k: number(v[-1]) for k, v in trainer._metrics["train"].items()
               if k in ("kl", "clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean")}
    return {**options, "loss": number(loss.detach()), "slopes": slopes, "metrics": metrics}, [number(a) for a in batch["advantages"]]


def scaled_case(scale):
    rewards = [r for group in SCALED for r in group]
    rows = [{"logProbs": [0.0], "oldLogProbs": [0.0], "truncated": False} for _ in rewards]
    trainer = Trainer(rows, rewards, len(SCALED[0]), case("grpo"), scale)
    advantages = [number(a) for a in trainer.score()["advantages"]]
    n = len(SCALED[0])
    metrics = {k: number(trainer._metrics["train"][k][-1]) for k in ("reward", "reward_std", "frac_reward_zero_std")}
    return {"scale": scale, "advantages": [advantages[i : i + n] for i in range(0, len(rewards), n)], "metrics": metrics}


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    inputs = rows()
    results = [loss_case(inputs, options) for options in cases()]
    for row, advantage in zip(inputs, results[0][1]):
        row["advantage"] = advantage
    write_fixture("trl-loss.json", {
        "versions": {"trl": trl.__version__, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__},
        "cap": C, "maxTokens": MAX_TOKENS, "rows": inputs, "cases": [result for result, _ in results],
        "rewards": SCALED, "epsilon": 1e-4, "scaleRewards": [scaled_case(scale) for scale in ("group", "batch", "none")],
    })


if __name__ == "__main__":
    main()
