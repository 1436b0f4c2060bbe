import type { Record } from "../record";
import { PackedSource } from "./packed";
import { ServedSource } from "./served";
import type { Source } from "./source";

/** The way to a record's numbers. */
export function opened(record: Record): Source {
  return "server" in record
    ? new ServedSource(record.scene, record.server)
    : new PackedSource(record.scene, record.packed, record.bytes);
}

/** The run that stands beside it, where there is one. */
export function openedBeside(record: Record): Source | null {
  if (!("server" in record) || !record.other) return null;
  return new ServedSource(record.other.scene, { ...record.server, run: record.other.run });
}
