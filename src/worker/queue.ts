/** @file One thing at a time: tasks run in the order in which they were handed in; a failure fails only its own task. */
export class Queue {
  private last: Promise<unknown> = Promise.resolve();

  add<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task);
    this.last = result.catch(() => undefined);
    return result;
  }
}
