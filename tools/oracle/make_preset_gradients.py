"""Writes tests/fixtures/preset-gradients.json: the loss of one question and its gradient with respect to every LoRA weight, for
four sets of rules, by PEFT and autograd on public/models/pico.

    python tools/oracle/make_preset_gradients.py

m = 3 variants, n = 2 responses each, every response under every prompt: m²n = 18 rows, each in a forward of its own without
padding or shared prefixes. The responses are sampled by the old adapter, the gradient is taken at the old adapter plus noise, so
that ratios are not 1. The formulas are written here from the papers and the published code, not from src/algorithm; log-probs
are float32, the objective float64. Run it again whenever pico changes.
"""

import hashlib
import os

import torch
from PIL import Image

from common import MODEL, add_lora, fill_lora, inputs_of, load_model, load_questions, noise, pack, row_log_probs, write_fixture

RANK, ALPHA, TEMPERATURE = 2, 4, 0.9
OLD = {"seed": 300, "scale": 0.1}
MOVE = {"seed": 700, "scale": 0.05}  # what is added to the old adapter
SAMPLING = {"seed": 500, "temperature": 1.6}  # hot, so that a response can be unlikely under its own prompt
QUESTION = 0
TEXTS = [None, "A mirror image. give the number of circles in the picture.", "look closely: how many circles are there in all?"]
MIRRORED = [False, True, False]
LENGTHS = [[1, 9], [17, 5], [12, 3]]  # [j][i]
REWARDS = [[1.0, 0.1], [0.1, 0.1], [0.0, 0.9]]
M, N = 3, 2
ROWS = [(k, j, i) for k in range(M) for j in range(M) for i in range(N)]
CLIP, DUAL, MARGIN = (0.2, 0.3), 3, 1e-2


def sample(model, inputs, length, seed):
    """`length` tokens; the end token is left out, so that a response has the length that it is meant to have."""
    end = model.generation_config.eos_token_id
    generator = torch.Generator().manual_seed(SAMPLING["seed"] + seed)
    ids = inputs["input_ids"]
    with torch.no_grad():
        for _ in range(length):
            full = dict(inputs, input_ids=ids, attention_mask=torch.ones_like(ids))
            logits = model(**full).logits[0, -1] / SAMPLING["temperature"]
            logits[end] = -torch.inf
            ids = torch.cat([ids, torch.multinomial(torch.softmax(logits, -1), 1, generator=generator)[None]], 1)
    return ids[0, -length:].tolist()


def scores(model, prompts, responses):
    """{(k, j, i): log-probs of every token}."""
    flat = [r for group in responses for r in group]
    rows = [row for inputs in prompts for row in row_log_probs(model, inputs, flat, TEMPERATURE)]
    return dict(zip(ROWS, rows))


def advantages(replicated):
    """G + [j = k]·L. The published code takes the global deviation over all m²n rows, in which a response stands m times."""
    rewards = torch.tensor(REWARDS, dtype=torch.float64)
    pooled = rewards.repeat(M, 1, 1) if replicated else rewards
    G = (rewards - pooled.mean()) / (pooled.flatten().std() + 1e-6)
    L = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-6)
    return {(k, j, i): (G[j, i] + (L[j, i] if j == k else 0)).item() for k, j, i in ROWS}


def surrogate(ratio, A, dual):
    loss = -torch.minimum(ratio * A, ratio.clamp(1 - CLIP[0], 1 + CLIP[1]) * A)
    return loss.clamp(max=dual * abs(A)) if dual and A < 0 else loss


def k3(base, now):
    return torch.exp(base - now) - (base - now) - 1


def tokens_mean(terms):
    return torch.cat(list(terms.values())).mean()


def rows_mean(terms):
    return torch.stack([row.mean() for row in terms.values()]).mean()


def published(now, old, _base):
    A = advantages(replicated=True)
    return tokens_mean({row: surrogate(torch.exp(now[row] - old[row]), A[row], DUAL) for row in ROWS}), A


def corrected(now, old, base, beta=0.0):
    A = advantages(replicated=True)
    terms = {}
    for k, j, i in ROWS:
        row = (k, j, i)
        weight = 1 if k == j else torch.exp((old[row] - old[j, j, i]).sum()).clamp(max=3)
        terms[row] = weight * surrogate(torch.exp(now[row] - old[row]), A[row], DUAL) + beta * k3(base[row], now[row])
    return tokens_mean(terms), A


def sequence(now, old, _base):
    A = advantages(replicated=False)
    terms = {}
    for k, j, i in ROWS:
        row = (k, j, i)
        weight = 1 if k == j else torch.exp(old[row] - old[j, j, i]).clamp(max=2)
        terms[row] = weight * surrogate(torch.exp((now[row] - old[row]).mean()), A[row], None)
    return rows_mean(terms), A


def corrected_near_base(now, old, base):
    return corrected(now, old, base, beta=0.04)


# preset of src/training/presets.ts, what is changed in it, the objective
CASES = [
    ("share-grpo", {}, published),
    ("share-grpo-corrected", {}, corrected),
    ("share-grpo-corrected", {"klBeta": 0.04}, corrected_near_base),
    ("gspo", {"clipLow": CLIP[0], "clipHigh": CLIP[1], "crossVariant": "token_truncate", "truncateAt": 2}, sequence),
]


def check_case(now, old):
    """Both bounds of the clip, the dual clip and the caps of the weights must hold for some; and no ratio may be so near to a bound
    that another order of sums carries it across."""
    tokens = torch.cat([torch.exp(now[row] - old[row]) for row in ROWS])
    whole = torch.stack([torch.exp((now[row] - old[row]).mean()) for row in ROWS])
    for ratios, name in ((tokens, "tokens"), (whole, "rows")):
        low, high = (ratios < 1 - CLIP[0]).sum(), (ratios > 1 + CLIP[1]).sum()
        nearest = min((ratios - bound).abs().min() for bound in (1 - CLIP[0], 1 + CLIP[1], DUAL))
        print(f"{name}: {len(ratios)}, below {low}, above {high}, nearest to a bound {nearest:.4f}")
        assert low > 0 and high > 0 and nearest > MARGIN
    A = advantages(replicated=True)
    dual = sum(int((torch.exp(now[row] - old[row]) > DUAL).sum()) for row in ROWS if A[row] < 0)
    gaps = [old[k, j, i] - old[j, j, i] for k, j, i in ROWS]
    capped, cut = sum(bool(g.sum().exp() > 3) for g in gaps), sum(int((g.exp() > 2).sum()) for g in gaps)
    print(f"dual clip {dual} tokens, weights over the cap: {capped} rows, {cut} tokens")
    assert dual > 0 and capped > 0 and cut > 0


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, processor = load_model()
    question = load_questions()[QUESTION]
    texts = [text or question["text"] for text in TEXTS]
    pictures = [question["picture"].transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else question["picture"] for flip in MIRRORED]
    prompts = [inputs_of(processor, text, picture) for text, picture in zip(texts, pictures)]

    peft_model = add_lora(model, RANK, ALPHA)
    named = fill_lora(peft_model, **OLD)
    responses = [[sample(peft_model, prompts[j], LENGTHS[j][i], 10 * j + i) for i in range(N)] for j in range(M)]
    with torch.no_grad():
        old = {row: x.double() for row, x in scores(peft_model, prompts, responses).items()}
        with peft_model.disable_adapter():
            base = {row: x.double() for row, x in scores(peft_model, prompts, responses).items()}
        for i, (_, parameter) in enumerate(named):
            parameter.add_(torch.from_numpy(noise(parameter.numel(), MOVE["seed"] + i, MOVE["scale"])).reshape(parameter.shape))
    parameters = [p for _, p in named]
    now = {row: x.double() for row, x in scores(peft_model, prompts, responses).items()}
    check_case({row: x.detach() for row, x in now.items()}, old)

    cases = []
    for preset, changes, objective in CASES:
        loss, A = objective(now, old, base)
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters, retain_graph=True)])
        cases.append({"preset": preset, "changes": changes, "loss": loss.item(), "gradNorm": gradient.double().norm().item(),
                      "advantages": [A[row] for row in ROWS], "gradient": pack(gradient)})
        print(f"{preset}: loss {loss.item():.6f}, norm of the gradient {cases[-1]['gradNorm']:.6f}")
    flat = lambda rows: pack(torch.cat([rows[row] for row in ROWS]).float())  # noqa: E731
    weights = hashlib.sha256(open(os.path.join(MODEL, "model.safetensors"), "rb").read()).hexdigest()
    write_fixture("preset-gradients.json", {
        "model.safetensors": weights, "rank": RANK, "alpha": ALPHA, "temperature": TEMPERATURE, "old": OLD, "move": MOVE,
        "question": QUESTION, "texts": texts, "mirrored": MIRRORED, "ids": [p["input_ids"][0].tolist() for p in prompts],
        "responses": responses, "rewards": REWARDS, "logProbs": flat({row: x.detach() for row, x in now.items()}),
        "oldLogProbs": flat(old), "baseLogProbs": flat(base),
        "names": [{"name": n, "shape": list(p.shape)} for n, p in named], "cases": cases,
    })


if __name__ == "__main__":
    main()
