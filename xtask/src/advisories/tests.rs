use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::*;
use crate::pins::Pin;

/// `package/advisories.yaml`: what is known besides the snapshot, and the reasons to accept some.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Advisories {
    looked_up: BTreeMap<String, BTreeSet<String>>,
    accepted: Affected,
    pypi: Affected,
}

#[test]
fn no_pin_has_a_known_vulnerability() -> Result<()> {
    let snapshot = snapshot()?;
    let advisories = by_hand()?;
    let mut found = known(
        &snapshot.crates.affected,
        &pins::crates(root())?,
        "Cargo.lock",
    )?;
    for file in pins::requirements(root())? {
        let name = format!("{}/{}.txt", file.service, file.release);
        found.extend(known(&snapshot.pypi.affected, &file.pins, &name)?);
        found.extend(known(&advisories.pypi, &file.pins, &name)?);
    }
    let accepts = |package: &str, id: &str| advisories.accepted.get(package)?.get(id).map(drop);
    found.retain(|(package, id, _)| accepts(package, id).is_none());
    let found: Vec<_> = found.into_iter().map(|(.., message)| message).collect();
    assert_eq!(
        found,
        Vec::<String>::new(),
        "raise these pins to versions that are not affected"
    );
    Ok(())
}

#[test]
fn every_pin_was_looked_up() -> Result<()> {
    let snapshot = snapshot()?;
    let names = |pins: Vec<Pin>| {
        pins.into_iter()
            .map(|pin| pin.name)
            .collect::<BTreeSet<_>>()
    };
    let looked_up = |database: Database| database.affected.into_keys().collect::<BTreeSet<_>>();
    let packages = pins::requirements(root())?
        .into_iter()
        .flat_map(|file| file.pins)
        .collect();
    let how = "look them up: docs/contributing/testing.md, Dependencies";
    assert_eq!(
        looked_up(snapshot.crates),
        names(pins::crates(root())?),
        "{how}"
    );
    assert_eq!(looked_up(snapshot.pypi), names(packages), "{how}");
    Ok(())
}

#[test]
fn every_look_up_by_hand_has_its_day() -> Result<()> {
    let advisories = by_hand()?;
    let dated: BTreeSet<&String> = advisories.looked_up.values().flatten().collect();
    let listed: usize = advisories.looked_up.values().map(BTreeSet::len).sum();
    assert_eq!(
        listed,
        dated.len(),
        "name each package once, on its last day"
    );
    let undated: Vec<_> = advisories
        .pypi
        .keys()
        .filter(|name| !dated.contains(name))
        .collect();
    assert!(undated.is_empty(), "add these to lookedUp: {undated:?}");
    // A day that is no date and a package that isn't pinned are errors.
    let by_hand: ByHand = super::read(&root().join(BY_HAND))?;
    assert!(look_ups(&snapshot()?.pypi, &by_hand)?.len() > 1);
    Ok(())
}

#[test]
fn what_is_accepted_affects_a_pin() -> Result<()> {
    let snapshot = snapshot()?;
    let advisories = by_hand()?;
    let mut pins = pins::crates(root())?;
    pins.extend(
        pins::requirements(root())?
            .into_iter()
            .flat_map(|file| file.pins),
    );
    let mut found = Vec::new();
    for affected in [
        &snapshot.crates.affected,
        &snapshot.pypi.affected,
        &advisories.pypi,
    ] {
        found.extend(known(affected, &pins, "")?);
    }
    let found: BTreeSet<_> = found
        .iter()
        .map(|(name, id, _)| (name.as_str(), id.as_str()))
        .collect();
    let accepted = advisories
        .accepted
        .iter()
        .flat_map(|(package, ids)| ids.keys().map(|id| (package.as_str(), id.as_str())));
    let obsolete: Vec<_> = accepted.filter(|pin| !found.contains(pin)).collect();
    assert!(
        obsolete.is_empty(),
        "remove these from accepted: {obsolete:?}"
    );
    Ok(())
}

#[test]
fn every_package_of_an_image_is_pinned_by_hash() -> Result<()> {
    for file in pins::requirements(root())? {
        let name = format!("{}/{}", file.service, file.release);
        assert!(file.pins.len() > 5, "{name} pins {}", file.pins.len());
        let without: Vec<&str> = file
            .pins
            .iter()
            .filter(|pin| pin.hashes.is_empty() || pin.hashes.iter().any(|hash| hash.len() != 64))
            .map(|pin| pin.name.as_str())
            .collect();
        assert_eq!(without, Vec::<&str>::new(), "{name}");
    }
    Ok(())
}

#[test]
fn versions_are_compared_with_advisories() -> Result<()> {
    let ranges = "<27.0.2, >=28.0.0 <28.0.2, =29.0.0";
    let affected = ["27.0.1", "28.0.0", "28.0.1", "29.0.0", "29.0"];
    let safe = ["27.0.2", "28.0.2", "28.1", "29.0.1", "30.0.0"];
    for (versions, expected) in [(affected, true), (safe, false)] {
        for version in versions {
            assert_eq!(is_affected(version, ranges)?, expected, "{version}");
        }
    }
    Ok(())
}

#[test]
fn records_of_osv_become_ranges_of_what_is_pinned() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (name, record) in [
        (
            "a/PYSEC-1.yaml",
            "id: PYSEC-1\nmodified: 2026-07-01T00:00:00Z\naliases: [GHSA-x, CVE-2026-1]\naffected:\n- package: {name: lib}\n  \
             ranges:\n  - {type: GIT, events: [{introduced: '0'}]}\n  - {type: ECOSYSTEM, events: [{introduced: '0'}, {fixed: '1.5'}, \
             {introduced: '2.0'}, {last_affected: 2.0.3}, {introduced: '3.0'}]}\n  versions: ['1.0']\n",
        ),
        (
            "b.json",
            r#"{"id": "RUSTSEC-1", "modified": "2026-08-01T00:00:00Z", "aliases": ["CVE-2026-2"], "affected": [
                {"package": {"name": "lib"}, "ranges": [{"type": "SEMVER", "events": [{"introduced": "0.0.0-0"}, {"fixed": "0.3.0"}]}],
                 "database_specific": {"informational": null}},
                {"package": {"name": "old"}, "ranges": [{"type": "SEMVER", "events": [{"introduced": "0.0.0-0"}]}],
                 "database_specific": {"informational": "unmaintained"}}]}"#,
        ),
        (
            "c.yaml",
            "id: PYSEC-2\nmodified: 2026-06-01T00:00:00Z\naffected:\n- package: {name: old}\n  versions: ['1.0', '1.1']\n",
        ),
        (
            "d.yaml",
            "id: PYSEC-3\nmodified: 2026-06-01T00:00:00Z\nwithdrawn: 2026-06-02T00:00:00Z\naffected:\n- package: {name: old}\n",
        ),
        (
            "e.yaml",
            "id: PYSEC-4\nmodified: 2026-06-01T00:00:00Z\naffected:\n- package: {name: other}\n  versions: ['1.0']\n",
        ),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        fs::write(path, record)?;
    }
    let names = ["lib", "new", "old"].map(str::to_owned).into();
    let database = database(folder.path(), names)?;
    assert_eq!(
        serde_saphyr::to_string(&database)?,
        "newest: \"2026-08-01\"\naffected:\n  lib:\n    CVE-2026-1: <1.5, >=2.0 <=2.0.3, >=3.0\n    RUSTSEC-1: <0.3.0\n  new: {}\n  old:\n    \
         PYSEC-2: =1.0, =1.1\n"
    );
    Ok(())
}

/// Package, identifier and message of every pin with a known vulnerability.
fn known(advisories: &Affected, pins: &[Pin], file: &str) -> Result<Vec<(String, String, String)>> {
    let mut found = Vec::new();
    for Pin { name, version, .. } in pins {
        for (id, ranges) in advisories.get(name).into_iter().flatten() {
            if is_affected(version, ranges)? {
                let message = format!("{file}: {name} {version} has {id} ({ranges})");
                found.push((name.clone(), id.clone(), message));
            }
        }
    }
    Ok(found)
}

fn is_affected(version: &str, ranges: &str) -> Result<bool> {
    let version = numbers(version)?;
    for clause in ranges.split(',') {
        let mut all = true;
        for comparison in clause.split_whitespace() {
            let digits = comparison.trim_start_matches(['<', '>', '=']);
            let bound = numbers(digits)?;
            all &= match comparison.trim_end_matches(digits) {
                "<" => version < bound,
                "<=" => version <= bound,
                ">" => version > bound,
                ">=" => version >= bound,
                "=" => version == bound,
                other => bail!("{other:?} in {ranges:?} is not a comparison"),
            };
        }
        if all && !clause.trim().is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Numbers of a release, filled with zeros, without what follows a dash, a plus sign or a letter.
fn numbers(version: &str) -> Result<[u64; 6]> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    let release = version[..end.unwrap_or(version.len())].trim_end_matches('.');
    let mut numbers = [0; 6];
    for (index, number) in release.split('.').enumerate() {
        let number = number
            .parse()
            .with_context(|| format!("{version:?} is not a version"))?;
        *numbers.get_mut(index).context("too many numbers")? = number;
    }
    Ok(numbers)
}

fn snapshot() -> Result<Snapshot> {
    super::read(&root().join(SNAPSHOT))
}

fn by_hand() -> Result<Advisories> {
    super::read(&root().join(BY_HAND))
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
