// The query editor: CodeMirror, loaded when a query tool is first opened. It lives in a shadow root,
// where its styles need no exception of the page's security policy.

import { h } from "../ui.js";

let library = null;

/**
 * Make an editor; resolves to {element, text, insert, focus, mark}.
 * language: of languages.js; complete: (context) → completions; onrun: for Ctrl+Enter.
 */
export async function makeEditor({ language, text, label, complete, onchange, onrun }) {
  try {
    library ??= await import("/playground/vendor/codemirror.mjs");
  } catch {
    return plainEditor({ text, label, onchange, onrun });
  }
  const cm = library;
  const host = h("div.editor-host");
  const root = host.attachShadow({ mode: "open" });
  const run = () => { onrun(); return true; };
  const view = new cm.EditorView({
    root,
    parent: root,
    state: cm.EditorState.create({
      doc: text,
      extensions: [
        cm.history(), cm.drawSelection(), cm.bracketMatching(), cm.closeBrackets(), cm.highlightActiveLine(),
        cm.highlightSelectionMatches(), cm.lintGutter(), cm.indentUnit.of("  "), cm.EditorView.lineWrapping,
        cm.autocompletion({ override: [complete], maxRenderedOptions: 60 }),
        cm.StreamLanguage.define(language), cm.syntaxHighlighting(colors(cm)), theme(cm),
        cm.EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
        cm.EditorView.updateListener.of((update) => { if (update.docChanged) onchange(view.state.doc.toString()); }),
        cm.keymap.of([
          { key: "Mod-Enter", run, preventDefault: true },
          ...cm.closeBracketsKeymap, ...cm.completionKeymap, ...cm.searchKeymap, ...cm.historyKeymap, ...cm.defaultKeymap,
        ]),
      ],
    }),
  });
  return {
    element: host,
    get text() { return view.state.doc.toString(); },
    set text(value) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } }); },
    insert(value) { view.dispatch(view.state.replaceSelection(value)); view.focus(); },
    focus() { view.focus(); },
    /** Mark where the server found an error: {line, column, message}, from 1; null takes the mark away. */
    mark(error) {
      const found = [];
      if (error?.line && error.line <= view.state.doc.lines) {
        const line = view.state.doc.line(error.line);
        const from = Math.min(line.from + Math.max(error.column - 1, 0), line.to);
        const to = Math.min(Math.max(from + 1, from), view.state.doc.length);
        found.push({ from: to > from ? from : Math.max(from - 1, 0), to, severity: "error", message: error.message });
        view.dispatch({ effects: cm.EditorView.scrollIntoView(from) });
      }
      view.dispatch(cm.setDiagnostics(view.state, found));
    },
  };
}

/** What is used where the library does not load. */
function plainEditor({ text, label, onchange, onrun }) {
  const area = h("textarea.editor", { value: text, spellcheck: false, rows: 9, "aria-label": label, autocapitalize: "off",
    oninput: () => onchange(area.value),
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onrun(); } } });
  return {
    element: area,
    get text() { return area.value; },
    set text(value) { area.value = value; onchange(value); },
    insert(value) { area.setRangeText(value, area.selectionStart, area.selectionEnd, "end"); onchange(area.value); area.focus(); },
    focus() { area.focus(); },
    mark() {},
  };
}

const colors = (cm) => cm.HighlightStyle.define([
  { tag: cm.tags.keyword, color: "var(--code-key)", fontWeight: "600" },
  { tag: cm.tags.string, color: "var(--code-text)" },
  { tag: cm.tags.number, color: "var(--code-number)" },
  { tag: cm.tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: cm.tags.variableName, color: "var(--accent-strong)" },
  { tag: cm.tags.propertyName, color: "var(--code-number)" },
  { tag: cm.tags.meta, color: "var(--accent-strong)", fontWeight: "600" },
]);

const theme = (cm) => cm.EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--solid)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "10px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", maxHeight: "42vh", minHeight: "132px", overflow: "auto", borderRadius: "10px" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--solid)", border: "0" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--raised) 60%, transparent)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--solid)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.75", fontStyle: "normal", marginLeft: "10px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-textfield": { backgroundColor: "var(--solid)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
});
