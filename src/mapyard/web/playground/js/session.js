// The map's session: style, glyphs and tiles are asked for with its token, so that drawing a map
// takes one request of the plan. It is renewed before its time is over, and when its tiles are.

const EARLY_MS = 60_000;

export class MapSession {
  /** `ask` sends the request that begins a session and returns {token, expires_at, tiles}. */
  constructor(ask) {
    this.ask = ask;
    this.token = "";
    this.endsMs = Infinity; // a server without keys has no sessions
    this.tiles = Infinity;
    this.beginning = null;
  }

  /** Begin a session, or wait for the one that is being begun. */
  begin() {
    this.beginning ??= this.#begin().finally(() => { this.beginning = null; });
    return this.beginning;
  }

  async #begin() {
    const session = await this.ask();
    this.token = session?.token ?? "";
    this.endsMs = session ? Date.parse(session.expires_at) : Infinity;
    this.tiles = session?.tiles ?? Infinity;
  }

  /** What MapLibre calls for each request: put the present token into addresses of tiles. */
  transform = (url) => {
    const address = new URL(url, location.href);
    if (address.origin !== location.origin || !/^\/api\/v1\/(tiles|datasets)\b/.test(address.pathname)) return { url };
    if (/\/tiles\/\d+\//.test(address.pathname)) this.tiles -= 1;
    if (this.tiles < 50 || Date.now() > this.endsMs - EARLY_MS) this.begin().catch(() => {}); // for the next requests
    if (this.token) address.searchParams.set("session", this.token);
    return { url: address.href };
  };
}
