/**
 * @file The variant audit: does a variant still have its question's answer? Sharing assumes it does, and nobody tests it; here it
 * is computed. The wording is read back (which question does it ask?), the transform is applied to the scene, and the answer is
 * worked out anew. Of somebody's own question or wording nothing can be worked out: `unknown`, unless they confirm it.
 */
import { readBack, TASKS } from './families.ts';
import { transformScene, type ImageTransform } from './transforms.ts';
import type { Question, Scene, TextVariant } from './types.ts';

export type Audit = 'kept' | 'changed' | 'unknown';

export interface AuditedVariant {
  readonly text: TextVariant;
  readonly transform: ImageTransform;
  /** What the picture shows before the transform, if that is not the question's own scene. */
  readonly scene?: Scene | null;
}

export function auditVariant(q: Question, v: AuditedVariant): Audit {
  if (q.family === 'own') return q.confirmed ? 'kept' : 'unknown';
  const scene = v.scene ?? q.scene;
  if (q.family === 'mico' || scene === null || q.answer === null) return 'unknown';
  const params = readBack(q.family, v.text.text);
  if (params === null) return 'unknown'; // somebody else's rewording: nobody checked what it asks
  const shown = transformScene(scene, v.transform.name);
  if (shown === null) return 'unknown';
  return TASKS[q.family].answerOf(shown, params) === q.answer ? 'kept' : 'changed';
}
