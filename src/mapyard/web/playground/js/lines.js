// Small sums on lines of [lng, lat].

/** The index of the vertex of a line that is nearest to a point (of the nearest segment's start). */
export function nearestIndex(line, [lng, lat]) {
  const shrink = Math.cos((lat * Math.PI) / 180);
  let best = 0, least = Infinity;
  for (let i = 0; i + 1 < line.length; i += 1) {
    const [ax, ay] = [(line[i][0] - lng) * shrink, line[i][1] - lat];
    const [dx, dy] = [(line[i + 1][0] - line[i][0]) * shrink, line[i + 1][1] - line[i][1]];
    const along = Math.min(1, Math.max(0, -(ax * dx + ay * dy) / (dx * dx + dy * dy || 1)));
    const away = (ax + along * dx) ** 2 + (ay + along * dy) ** 2;
    if (away < least) { least = away; best = i + along; }
  }
  return best;
}
