//! What every Containerfile must hold to, whoever builds it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// A `dpkg-query --show --showformat=FORMAT` that knows two packages.
const DPKG_QUERY: &str = r#"#!/bin/sh
for package in 'bash 5.2 amd64' 'libstdc++6 1:12.2+b1 arm64'; do
  set -- "$1" "$2" $package
  line=$(printf '%s' "${2#--showformat=}" | sed "s/\${Package}/$3/g; s/\${Version}/$4/g; s/\${Architecture}/$5/g")
  printf "$(printf '%s' "$line" | sed 's/%/%%/g')"
done
"#;

#[test]
fn images_are_built_from_a_named_base() -> Result<()> {
    for file in containerfiles()? {
        let text = fs::read_to_string(&file)?;
        let problems = foreign_images(&text);
        ensure!(
            problems.is_empty(),
            "{}: {problems:?}; take ${{BASE}}, a stage of the file or scratch, and give BASE no default",
            file.display()
        );
    }
    Ok(())
}

#[test]
fn foreign_images_are_found_wherever_they_are_named() {
    let text = "ARG BASE=debian:12\nARG OTHER\nFROM --platform=linux/amd64 ${BASE} AS first\nFROM first\nfrom scratch\nFROM debian:13\n\
                FROM ${OTHER}\nCOPY --from=first /a /a\nCOPY --chmod=755 --from=busybox /b /b\nCOPY --from=scratch /c /c\n\
                RUN --mount=type=bind,from=busybox,target=/b /b/sh\nRUN --mount=from=first,target=/a /a/sh\n";
    let expected = [
        "ARG BASE=debian:12",
        "FROM debian:13",
        "FROM ${OTHER}",
        "COPY --chmod=755 --from=busybox /b /b",
        "COPY --from=scratch /c /c",
        "RUN --mount=type=bind,from=busybox,target=/b /b/sh",
    ];
    assert_eq!(foreign_images(text), expected);
}

#[test]
fn published_images_have_a_bill_of_debians_packages() -> Result<()> {
    let files = published()?;
    assert_eq!(files.len(), 3, "{files:?}");
    let mut steps = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let step = instructions(&text)
            .into_iter()
            .rfind(|instruction| instruction.starts_with("RUN "))
            .with_context(|| format!("{} runs nothing", file.display()))?;
        steps.insert(step);
    }
    assert_eq!(
        steps.len(),
        1,
        "the last step of each is the same: {steps:#?}"
    );
    let step = steps.pop_first().context("there is no step")?;
    let component = |name, version, url| json!({ "type": "library", "name": name, "version": version, "purl": url });
    assert_eq!(
        bill(&step)?,
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": { "component": { "type": "operating-system", "name": "debian", "version": "12.11" } },
            "components": [
                component("bash", "5.2", "pkg:deb/debian/bash@5.2?arch=amd64"),
                component("libstdc++6", "1:12.2+b1", "pkg:deb/debian/libstdc%2B%2B6@1:12.2%2Bb1?arch=arm64"),
            ],
        })
    );
    Ok(())
}

/// What the step writes where Debian 12.11 has two packages.
fn bill(step: &str) -> Result<Value> {
    let root = tempfile::tempdir()?;
    let program = root.path().join("dpkg-query");
    fs::write(&program, DPKG_QUERY)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    fs::write(root.path().join("debian_version"), "12.11\n")?;
    let folder = root.path().to_str().context("the folder is not UTF-8")?;
    let command = step
        .trim_start_matches("RUN ")
        .replace("/usr/share/sbom", folder)
        .replace("/etc/debian_version", &format!("{folder}/debian_version"));
    let path = std::env::var("PATH")?;
    let run = Command::new("sh")
        .args(["-c", &command])
        .env("PATH", format!("{folder}:{path}"))
        .output()?;
    ensure!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let written = fs::read(root.path().join("debian.cdx.json"))?;
    serde_json::from_slice(&written).with_context(|| String::from_utf8_lossy(&written).into_owned())
}

/// The instructions that name an image other than the one that the builder chooses.
fn foreign_images(text: &str) -> Vec<String> {
    let mut stages = BTreeSet::new();
    let mut foreign = Vec::new();
    for instruction in instructions(text) {
        let words: Vec<&str> = instruction.split_whitespace().collect();
        let fine = match words[0].to_uppercase().as_str() {
            "ARG" => !words.iter().any(|word| word.starts_with("BASE=")),
            "FROM" => {
                let mut names = words[1..].iter().filter(|word| !word.starts_with("--"));
                let image = names.next().copied().unwrap_or_default();
                let fine = ["${BASE}", "scratch"].contains(&image) || stages.contains(image);
                stages.extend(names.nth(1).map(|name| (*name).to_owned()));
                fine
            }
            // Of COPY --from=STAGE and RUN --mount=type=bind,from=STAGE.
            _ => words
                .iter()
                .filter_map(|word| word.strip_prefix("--"))
                .flat_map(|flag| flag.trim_start_matches("mount=").split(','))
                .filter_map(|option| option.strip_prefix("from="))
                .all(|stage| stages.contains(stage)),
        };
        if !fine {
            foreign.push(instruction);
        }
    }
    foreign
}

/// The instructions of a Containerfile, each with its continuation lines, without comments.
fn instructions(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect();
    lines
        .join("\n")
        .replace("\\\n", "")
        .lines()
        .map(str::to_owned)
        .filter(|line| !line.trim().is_empty())
        .collect()
}

/// Those of the images that the project publishes, and those of the lab's.
fn containerfiles() -> Result<Vec<PathBuf>> {
    let mut files = published()?;
    files.extend(below("tests/images")?);
    Ok(files)
}

fn published() -> Result<Vec<PathBuf>> {
    let mut files = below("package/images")?;
    files.push(root().join("package/images/Containerfile"));
    Ok(files)
}

/// The Containerfile of each folder in a folder.
fn below(folder: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder))? {
        let file = entry?.path().join("Containerfile");
        if file.exists() {
            files.push(file);
        }
    }
    ensure!(!files.is_empty(), "{folder} has no Containerfile");
    Ok(files)
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
