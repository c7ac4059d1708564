#!/usr/bin/env bash
# Bring MapLibre GL JS, its right-to-left plugin, CodeMirror and hyparquet-writer into the map page's vendor folder.
# Usage: scripts/bundle_web.sh [MAPLIBRE_VERSION [PLUGIN_VERSION]]; needs npm (see docs/decisions/075, 078).
set -euo pipefail
cd "$(dirname "$0")/.."
maplibre=${1:-6.17.0}
plugin=${2:-0.4.0}
parquet=0.17.0
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
# The editor of queries: of CodeMirror only what scripts/codemirror.js names, in one file.
"${npm[@]}" install --silent --no-audit --no-fund --prefix "$work" esbuild@0.28.2 \
  @codemirror/state@6 @codemirror/view@6 @codemirror/language@6 @codemirror/commands@6 \
  @codemirror/autocomplete@6 @codemirror/lint@6 @codemirror/search@6 @lezer/highlight@1
cp scripts/codemirror.js "$work/codemirror.js"
"$work/node_modules/.bin/esbuild" "$work/codemirror.js" --bundle --format=esm --minify \
  --log-level=error --outfile="$vendor/codemirror.mjs"
cp "$work/node_modules/@codemirror/view/LICENSE" "$vendor/codemirror.LICENSE.txt"
# What writes GeoParquet.
"${npm[@]}" install --silent --no-audit --no-fund --prefix "$work" "hyparquet-writer@$parquet"
echo 'export { geojsonToWkb, parquetWriteBuffer } from "hyparquet-writer";' > "$work/parquet.js"
"$work/node_modules/.bin/esbuild" "$work/parquet.js" --bundle --format=esm --minify --conditions=browser \
  --log-level=error --outfile="$vendor/parquet.mjs"
cp "$work/node_modules/hyparquet-writer/LICENSE" "$vendor/parquet.LICENSE.txt"
echo "bundle_web: MapLibre GL JS $maplibre, right-to-left plugin $plugin"
