/**
 * @file The prompt of a question: the checkpoint's chat template (Jinja), the place-holder of each picture spread out as
 * processing_idefics3.py does for one tile, and the limits on what people may write. The pictures come before the text.
 *
 *   <fake_token_around_image><global-img>{<image> × tokens}<fake_token_around_image>
 */
import { Template } from '@huggingface/jinja';
import { ModelError } from './errors.ts';
import type { Tokenizer } from './tokenizer.ts';

export const MAX_CHARACTERS = 2000;
/** Tokens that must be left for a response when the prompt is made. */
const ROOM = 16;

export interface PromptTokens {
  readonly ids: Int32Array;
  /** Index of the first token of each picture. */
  readonly imageStarts: readonly number[];
}

const refuse = (message: string): never => {
  throw new ModelError('prompt', message);
};

export class PromptBuilder {
  private readonly tokenizer: Tokenizer;
  private readonly template: Template;
  private readonly imageTokens: number;
  private readonly imageTokenId: number;
  private readonly contextLength: number;
  private readonly expansion: string;

  constructor(o: { tokenizer: Tokenizer; chatTemplate: string; imageTokens: number; imageTokenId: number; contextLength: number }) {
    this.tokenizer = o.tokenizer;
    this.imageTokens = o.imageTokens;
    this.imageTokenId = o.imageTokenId;
    this.contextLength = o.contextLength;
    try {
      this.template = new Template(o.chatTemplate);
    } catch (error) {
      throw new ModelError('file', `The chat template is not valid Jinja: ${(error as Error).message}.`);
    }
    for (const token of ['<image>', '<fake_token_around_image>', '<global-img>']) {
      if (o.tokenizer.id(token) === null)
        throw new ModelError('unsupported', `The tokenizer has no ${token}: this is not an Idefics3 or SmolVLM checkpoint.`);
    }
    if (o.tokenizer.id('<image>') !== o.imageTokenId) {
      throw new ModelError(
        'file',
        `tokenizer.json gives <image> the id ${o.tokenizer.id('<image>')}, config.json says ${o.imageTokenId}. Fetch both from one place.`,
      );
    }
    const frame = '<fake_token_around_image>';
    this.expansion = `${frame}<global-img>${'<image>'.repeat(o.imageTokens)}${frame}`;
  }

  /** The prompt's text with its pictures spread out. `hint` goes in front of the question, as it is. */
  render(text: string, hint: string, images: number): string {
    if (text.trim() === '') refuse('The question is empty. Write one.');
    const length = hint.length + text.length;
    if (length > MAX_CHARACTERS) refuse(`The question is ${length} characters long; at most ${MAX_CHARACTERS} fit. Shorten it.`);
    const special = this.tokenizer.findSpecial(hint + text);
    if (special !== null)
      refuse(`The question contains “${special}”, which the model reads as a control token. Leave it out or spell it differently.`);
    const content = [...Array.from({ length: images }, () => ({ type: 'image' })), { type: 'text', text: hint + text }];
    const rendered = this.template.render({ messages: [{ role: 'user', content }], add_generation_prompt: true });
    return rendered.replaceAll('<image>', () => this.expansion);
  }

  /** The prompt's tokens with that many pictures. Throws ModelError `prompt` when it does not fit into the context. */
  build(text: string, hint: string, images: number): PromptTokens {
    const ids = this.tokenizer.encode(this.render(text, hint, images));
    const most = this.contextLength - ROOM;
    if (ids.length > most) refuse(`The question takes ${ids.length} tokens with its pictures; at most ${most} fit. Shorten it.`);
    const found = [...ids.keys()].filter((p) => ids[p] === this.imageTokenId);
    const wanted = images * this.imageTokens;
    if (found.length !== wanted) {
      throw new ModelError('unsupported', `The chat template made ${found.length} picture tokens where ${wanted} are needed.`);
    }
    return { ids, imageStarts: found.filter((_, i) => i % this.imageTokens === 0) };
  }
}
