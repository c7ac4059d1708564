"""The files for contributors parse, and name only commands, targets and lines that there are."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mapyard.cli import COMMANDS
from osm_files import ROOT

PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
TEXTS = [
    ROOT / "CONTRIBUTING.md", ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md",
    ROOT / ".pre-commit-config.yaml", *(ROOT / ".github").rglob("*.*"),
]  # fmt: skip


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps(job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load(WORKFLOW)["jobs"][job]["steps"]
    return found


def test_the_workflow_runs_what_the_project_runs() -> None:
    assert ".ci/run" in [step.get("run") for step in steps("test")]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "make release" in [step.get("run") for step in steps("packages")]
    assert "make site" in [step.get("run") for step in steps("pages")]
    kept = next(
        step["with"]["path"] for step in steps("packages") if "path" in step.get("with", "")
    )
    assert {"dist/*.whl", "dist/*.tar.gz", "dist/sbom.cdx.json", "dist/SHA256SUMS"} == {
        *kept.split()
    }


def test_only_a_tag_publishes_and_only_what_passed() -> None:
    jobs = load(WORKFLOW)["jobs"]
    assert jobs["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert set(jobs["publish"]["needs"]) == {"test", "packages", "image"}
    rights = {name: job.get("permissions", {}) for name, job in jobs.items()}
    writers = {name for name, given in rights.items() if "write" in given.values()}
    assert writers == {"image", "pages", "publish"}
    assert load(WORKFLOW)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("github-workflows", ".github/workflows/ci.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/idea.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_files_fit_their_schemas(schema: str, name: str) -> None:
    program = Path(sys.executable).with_name("check-jsonschema")
    if not program.is_file():
        pytest.skip("needs check-jsonschema")
    done = subprocess.run(
        [program, "--builtin-schema", f"vendor.{schema}", name],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_site_has_the_pages_that_there_are() -> None:
    text = re.sub(r"(?ms)^hooks:.*?$", "", (ROOT / "mkdocs.yml").read_text())
    listed = set(re.findall(r"[\w/]+\.md", text)) - {"index.md"}
    assert [name for name in listed if not (ROOT / "docs" / name).is_file()] == []
    first_level = {path.name for path in (ROOT / "docs").glob("*.md")}
    made = {"overpass-conformance.md", "sparql-conformance.md", "sparql-w3c.md"}
    assert first_level - made <= listed


def test_actions_are_pinned_by_major_version() -> None:
    used = re.findall(r"uses: (\S+)", WORKFLOW.read_text())
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", name)] == []


def test_pre_commit_has_the_checks() -> None:
    repositories = load(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"] for repository in repositories for hook in repository["hooks"]}
    assert hooks == {"ruff-check", "ruff-format", "codespell", "end-of-file-fixer"}
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    ruff = next(package["version"] for package in locked if package["name"] == "ruff")
    assert repositories[0]["rev"] == f"v{ruff}"  # else the two disagree on form


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_issue_forms_are_complete(name: str) -> None:
    form = load(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    for field in form["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        if field["type"] != "markdown":
            assert field["id"]
            assert field["attributes"]["label"]


def test_the_citation_fits_the_package() -> None:
    citation = load(ROOT / "CITATION.cff")
    assert {"cff-version", "title", "message", "authors"} <= set(citation)
    released = re.findall(r"(?m)^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text())
    assert str(citation["version"]) == [*released, "0.1.0"][0]  # make release asks for both
    assert citation["license"] == PACKAGE["project"]["license"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_exist(path: Path) -> None:
    text = path.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|run: |    )make ([a-z-]+)", text)) <= targets
    named = re.findall(r"(?:`|/)mapyard ([a-z-]+)", text)
    assert {name for name in named if not name.startswith("--")} <= set(COMMANDS)
    for module in re.findall(r"python -m (bench|fuzz)", text):
        assert (ROOT / module).exists() or (ROOT / "tests" / module).exists()


def test_the_worked_example_fits_the_sources() -> None:
    patches = re.findall(r"```diff\n--- a/(\S+)\n\+\+\+ b/\S+\n(.*?)```", CONTRIBUTING, re.DOTALL)
    assert len(patches) == 3
    for name, patch in patches:
        before = "".join(f"{line[1:]}\n" for line in patch.splitlines() if line[0] in " -")
        assert before in (ROOT / name).read_text(), f"{name} has other lines now"
