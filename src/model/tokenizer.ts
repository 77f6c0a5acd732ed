/**
 * @file The checkpoint's own tokenizer (`@huggingface/tokenizers`) with what prompts need of it: exact encoding without
 * anything added, text of single tokens, and the ids and spellings of the special tokens.
 */
import { Tokenizer as HubTokenizer } from '@huggingface/tokenizers';
import { ModelError } from './errors.ts';

type Json = Readonly<Record<string, unknown>>;

export class Tokenizer {
  /** Spellings of the tokens that mean structure, longest first: they must not occur in what people write. */
  readonly specials: readonly string[];
  private readonly inner: HubTokenizer;

  constructor(tokenizer: Json, config: Json) {
    try {
      this.inner = new HubTokenizer(tokenizer, config);
    } catch (error) {
      throw new ModelError('file', `tokenizer.json cannot be used: ${(error as Error).message}. A byte-level BPE tokenizer is needed.`);
    }
    this.specials = [...this.inner.get_added_tokens_decoder().values()]
      .filter((t) => t.special)
      .map((t) => t.content)
      .sort((a, b) => b.length - a.length);
  }

  /** Ids of a text, special tokens in it recognised, nothing added. */
  encode(text: string): Int32Array {
    return text === '' ? new Int32Array() : Int32Array.from(this.inner.encode(text, { add_special_tokens: false }).ids);
  }

  /** The text of ids, special tokens included, blanks as they are. */
  decode(ids: ArrayLike<number>): string {
    return ids.length === 0 ? '' : this.inner.decode(Array.from(ids), { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  }

  /** The text of each id on its own; half a character shows as �. */
  pieces(ids: ArrayLike<number>): string[] {
    return Array.from(ids, (id) => this.decode([id]));
  }

  /** The id of a special token, or null. */
  id(token: string): number | null {
    return this.inner.token_to_id(token) ?? null;
  }

  /** The special token that `text` spells out, or null. */
  findSpecial(text: string): string | null {
    return this.specials.find((token) => text.includes(token)) ?? null;
  }
}
