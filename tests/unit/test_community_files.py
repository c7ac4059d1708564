"""The files for contributors parse, and name only commands, targets and lines that there are."""

from __future__ import annotations

import re
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
    built = [step.get("run") for step in steps("packages")]
    assert any(command and command.startswith("uv build") for command in built)
    kept = next(
        step["with"]["path"] for step in steps("packages") if "path" in step.get("with", "")
    )
    assert {"dist/*.whl", "dist/*.tar.gz"} <= set(kept.split())


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
