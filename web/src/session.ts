/** What one page holds while it is open: the numbers' source, the state, and where both may change. */

import { batch, type Signal, signal } from "@preact/signals";
import type { Call, Output, Site, Switch, Where } from "./scene";
import type { Source } from "./source/source";
import { beginning, restored, type State } from "./state";

export class Session {
  /** Where the shown numbers come from: the run as it was, or with lines replaced. */
  readonly source: Signal<Source>;
  /** The run as it was. */
  readonly original: Signal<Source>;
  readonly state: Signal<State>;
  /** The run that the page began with. */
  readonly first: Source;
  /** What goes on, in words; "" for nothing. */
  readonly busy = signal("");
  /** What went wrong last, in words. */
  readonly failed = signal("");
  /** Another run to stand beside this one, such as another checkpoint's; null for none. */
  readonly other: Source | null;

  private readonly ended: AbortSignal;

  constructor(source: Source, link: string, ended: AbortSignal, other: Source | null = null) {
    this.source = signal(source);
    this.original = signal(source);
    this.first = source;
    this.other = other;
    this.state = signal(link ? restored(link, source.scene) : beginning(source.scene));
    this.ended = ended;
    void this.resumed(link);
  }

  /** What a link asks of the model: its text, then its switches. */
  private async resumed(link: string): Promise<void> {
    const { text, generate, switches } = this.state.value;
    if (text && this.original.value.reading !== undefined) {
      await this.read(text, generate);
      this.state.value = restored(link, this.original.value.scene);
    }
    if (switches.length) await this.flip(this.state.value.switches);
  }

  /** What stands beside the matrix, and its name; null for nothing. */
  get beside(): { source: Source; where: Where; name: string } | null {
    const { beside } = this.state.value;
    const here = this.where;
    if (beside === "before") {
      return { source: this.original.value, where: here, name: "as it was" };
    }
    const other = beside === "other" ? this.other : beside === "first" ? this.first : null;
    if (other !== null) {
      const site = other.scene.sites.find((one) => one.name === here.site) ?? other.scene.sites[0];
      const call = site?.calls.find((one) => one.index === here.call) ?? site?.calls.at(-1);
      if (site === undefined || call === undefined) return null;
      const where = { site: site.name, call: call.index, head: Math.min(here.head, site.heads - 1), batch: 0 };
      return { source: other, where, name: beside === "first" ? "the first text" : other.scene.target };
    }
    const found = /^head:(\d+)@(.*)$/.exec(beside);
    const site = this.source.value.scene.sites.find((one) => one.name === found?.[2]);
    const call = site?.calls.find((one) => one.index === here.call) ?? site?.calls.at(-1);
    const head = Number(found?.[1]);
    if (site === undefined || call === undefined || !(head < site.heads)) return null;
    const where = { site: site.name, call: call.index, head, batch: Math.min(here.batch, call.batch - 1) };
    return { source: this.source.value, where, name: `${site.name}, head ${head}` };
  }

  /** Change part of the state. */
  go(part: Partial<State>): void {
    this.state.value = { ...this.state.value, ...part };
  }

  get site(): Site {
    const scene = this.source.value.scene;
    const found = scene.sites.find((one) => one.name === this.state.value.site) ?? scene.sites[0];
    if (found === undefined) throw new Error("this record has no calls");
    return found;
  }

  get call(): Call {
    const calls = this.site.calls;
    return (calls.find((one) => one.index === this.state.value.call) ?? calls.at(-1)) as Call;
  }

  get where(): Where {
    const { head, batch: sequence } = this.state.value;
    return { site: this.site.name, call: this.call.index, head, batch: sequence };
  }

  /** What the model said, before and with lines replaced. */
  get outputs(): { before: Output | null; after: Output | null } {
    return { before: this.original.value.scene.output, after: this.source.value.scene.output };
  }

  /** Go to a head, with a cell that it has. */
  open(site: string, head: number): void {
    const found = this.source.value.scene.sites.find((one) => one.name === site);
    const call = found?.calls.at(-1);
    if (call === undefined) return;
    const { query, key } = this.state.value;
    this.go({
      ...{ view: "head", site, head, call: call.index, rows: null, keys: null },
      ...{ query: Math.min(query, call.rows - 1), key: Math.min(key, call.keys - 1) },
      batch: Math.min(this.state.value.batch, call.batch - 1),
    });
  }

  /** Replace lines of attention, or none. */
  async flip(switches: Switch[]): Promise<void> {
    this.go({ switches });
    const original = this.original.value;
    if (!switches.length) {
      this.source.value = original;
      return;
    }
    if (original.swapped === undefined) return;
    await this.during("running the model with the lines replaced", async (ended) => {
      const made = await (original.swapped as NonNullable<Source["swapped"]>)(switches, ended);
      if (this.state.value.switches === switches) this.source.value = made.source;
    });
  }

  /** Read another text. */
  async read(text: string, generate: number): Promise<void> {
    const original = this.original.value;
    if (original.reading === undefined) return;
    await this.during("running the model on your text", async (ended) => {
      const made = await (original.reading as NonNullable<Source["reading"]>)(text, generate, ended);
      batch(() => {
        const { view, head, stage, side } = this.state.value;
        this.original.value = made;
        this.source.value = made;
        this.state.value = { ...beginning(made.scene), view, stage, side, text, generate };
        this.open(made.scene.sites.find((one) => one.name === this.state.value.site)?.name ?? "", head);
        this.go({ view });
      });
    });
  }

  /** Do something that takes time; what goes wrong is told, and never thrown. */
  async during(what: string, work: (ended: AbortSignal) => Promise<void>): Promise<void> {
    this.busy.value = what;
    this.failed.value = "";
    try {
      await work(this.ended);
    } catch (error) {
      if (!this.ended.aborted) this.failed.value = error instanceof Error ? error.message : String(error);
    } finally {
      this.busy.value = "";
    }
  }
}
