/** A value that has to be waited for: the last one that came, while the next is on its way. */

import { useEffect, useState } from "preact/hooks";

export function useComing<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  by: unknown[],
  failed: (why: string) => void,
): T | null {
  const [found, set] = useState<T | null>(null);
  useEffect(() => {
    const ending = new AbortController();
    ask(ending.signal)
      .then((one) => {
        if (!ending.signal.aborted) set(one);
      })
      .catch((error) => {
        if (!ending.signal.aborted) failed(error instanceof Error ? error.message : String(error));
      });
    return () => ending.abort();
  }, by);
  return found;
}
