#!/usr/bin/env bash
# Bring MapLibre GL JS and its right-to-left plugin into the map page's vendor folder.
# Usage: scripts/bundle_web.sh [MAPLIBRE_VERSION [PLUGIN_VERSION]]; needs npm (see docs/decisions/075).
set -euo pipefail
cd "$(dirname "$0")/.."
maplibre=${1:-6.17.0}
plugin=${2:-0.4.0}
vendor=$PWD/src/mapyard/web/playground/vendor

if command -v npm >/dev/null 2>&1; then
  npm=(npm)
elif [ -x .venv/bin/npm ]; then
  npm=(.venv/bin/npm)  # of the dependency group `node`: uv sync --group node
else
  echo "bundle_web: npm is needed: install Node.js, or run uv sync --group node" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${npm[@]}" install --silent --no-audit --no-fund --ignore-scripts --prefix "$work" \
  "maplibre-gl@$maplibre" "@mapbox/mapbox-gl-rtl-text@$plugin"
for file in maplibre-gl.mjs maplibre-gl-worker.mjs; do
  sed '/^\/\/# sourceMappingURL/d' "$work/node_modules/maplibre-gl/dist/$file" > "$vendor/$file"
done
cp "$work/node_modules/maplibre-gl/dist/maplibre-gl.css" "$vendor/"
cp "$work/node_modules/maplibre-gl/LICENSE.txt" "$vendor/maplibre-gl.LICENSE.txt"
# Named .mjs: workers import it then; a .js they would evaluate, which the page's policy forbids.
cp "$work/node_modules/@mapbox/mapbox-gl-rtl-text/dist/mapbox-gl-rtl-text.js" \
  "$vendor/mapbox-gl-rtl-text.mjs"
cp "$work/node_modules/@mapbox/mapbox-gl-rtl-text/LICENSE.md" "$vendor/mapbox-gl-rtl-text.LICENSE.md"
echo "bundle_web: MapLibre GL JS $maplibre, right-to-left plugin $plugin"
