"""Trains pico's tokenizer: byte-level BPE of at most 512 entries, with SmolVLM's special tokens and four plain added ones.

Every byte has an entry, so any text of a visitor can be written down; the merges come from the pre-training texts, so that a
word of the tasks is one token (" circle", " 10").
"""

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 512
FIRST = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LAST = ["<fake_token_around_image>", "<global-img>", "<image>", "<end_of_utterance>"]
TAGS = ["<think>", "</think>", "<answer>", "</answer>"]
IMAGE_TOKENS = 16
PICTURE = "<fake_token_around_image><global-img>" + "<image>" * IMAGE_TOKENS + "<fake_token_around_image>"
SUFFIX = "<end_of_utterance>\nAssistant:"
END = "<end_of_utterance>"


def prefix_text(pictures: int) -> str:
    return "<|im_start|>User:" + PICTURE * pictures


def prompt_text(question: str, pictures: int) -> str:
    """The whole prompt, as the chat template and the processor write it."""
    return prefix_text(pictures) + question + SUFFIX


def train_tokenizer(texts) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(LAST) - len(TAGS),
        special_tokens=FIRST,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in LAST])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in TAGS])
    return tokenizer
