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
