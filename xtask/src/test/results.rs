//! What passed on which tree, kept in the cache folder: other checkouts of the same tree know it, too.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use anyhow::{Context, Result};
use jiff::{Timestamp, tz::TimeZone};

use crate::files::read;

/// How many runs of a scenario are looked at, and how often it may be flaky in them.
const LAST: usize = 10;
const FLAKY_OF_LAST: usize = 1;

/// How many scenarios of one run may be flaky.
const FLAKY_OF_RUN: usize = 2;

/// Git's identifier of the contents of a checkout, uncommitted changes included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree(String);

/// How a suite or a scenario ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// At once.
    Passed,
    /// A scenario, when it was run again.
    Flaky,
    /// For good.
    Failed,
}

/// What was run, when, on which tree, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    at: Timestamp,
    tree: Tree,
    name: String,
    outcome: Outcome,
    seconds: u64,
}

/// All records, the oldest first, in a file.
pub struct Results {
    file: PathBuf,
    records: Vec<Record>,
}

impl Tree {
    /// Of the files in a checkout.
    ///
    /// # Errors
    /// When git is missing, or the folder is not in a checkout.
    pub fn of(root: &Path) -> Result<Self> {
        // An index of its own: what the user has staged stays as it is.
        let folder = git(root, None, &["rev-parse", "--absolute-git-dir"])?;
        let index = Path::new(&folder).join(format!("index-of-tests-{}", process::id()));
        let tree = git(root, Some(&index), &["add", "--all"])
            .and_then(|_| git(root, Some(&index), &["write-tree"]));
        let _ = fs::remove_file(&index);
        tree.map(Self)
    }
}

fn git(root: &Path, index: Option<&Path>, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.args(arguments)
        .envs(index.map(|index| ("GIT_INDEX_FILE", index)));
    Ok(c5c3_program::output_of(git, root)?.trim_end().to_owned())
}

impl fmt::Display for Tree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Outcome {
    const ALL: [(Self, &str); 3] = [
        (Self::Passed, "ok"),
        (Self::Flaky, "flaky"),
        (Self::Failed, "FAILED"),
    ];

    fn word(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(outcome, _)| *outcome == self)
            .map_or("", |(_, word)| word)
    }

    /// Which outcome a word stands for.
    pub fn of(word: &str) -> Option<Self> {
        let (outcome, _) = Self::ALL.into_iter().find(|(_, known)| *known == word)?;
        Some(outcome)
    }
}

impl Record {
    fn line(&self) -> String {
        let Self { at, tree, name, .. } = self;
        let (outcome, seconds) = (self.outcome.word(), self.seconds);
        format!("{at}\t{tree}\t{name}\t{outcome}\t{seconds}\n")
    }

    /// What a line says. What another version of this program wrote otherwise is as good as never run.
    fn of(line: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [at, tree, name, outcome, seconds] = columns[..] else {
            return None;
        };
        Some(Self {
            at: at.parse().ok()?,
            tree: Tree(tree.to_owned()),
            name: name.to_owned(),
            outcome: Outcome::of(outcome)?,
            seconds: seconds.parse().ok()?,
        })
    }
}

impl Results {
    /// Those in the cache folder.
    ///
    /// # Errors
    /// When the cache folder isn't known, or the file can't be read.
    pub fn open() -> Result<Self> {
        Self::of(c5c3_program::cache()?.join("results.tsv"))
    }

    fn of(file: PathBuf) -> Result<Self> {
        let text = match file.exists() {
            true => read(&file)?,
            false => String::new(),
        };
        let records = text.lines().filter_map(Record::of).collect();
        Ok(Self { file, records })
    }

    /// Adds how something ended just now.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn add(&mut self, tree: &Tree, name: &str, outcome: Outcome, seconds: u64) -> Result<()> {
        let record = Record {
            at: Timestamp::now(),
            tree: tree.clone(),
            name: name.to_owned(),
            outcome,
            seconds,
        };
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&self.file)
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        // In one write, so that two runs don't mix their lines.
        file.write_all(record.line().as_bytes())?;
        self.records.push(record);
        Ok(())
    }

    /// The names of what failed when it was run last, whatever the tree, but for those in `suites`.
    pub fn failed(&self, suites: &[&str]) -> Vec<String> {
        let last: BTreeMap<&str, Outcome> = self
            .records
            .iter()
            .map(|record| (record.name.as_str(), record.outcome))
            .collect();
        last.into_iter()
            .filter(|(name, outcome)| *outcome == Outcome::Failed && !suites.contains(name))
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// Why the flaky scenarios of a run, whose records are the last ones, are too many; nothing if they aren't.
    pub fn too_flaky(&self, flaky: &[String]) -> Option<String> {
        if flaky.len() > FLAKY_OF_RUN {
            return Some(format!(
                "{} scenarios passed only when they were run again: {}",
                flaky.len(),
                flaky.join(", ")
            ));
        }
        let often = flaky.iter().find(|name| {
            let runs = self.records.iter().rev();
            let last = runs.filter(|record| record.name == **name).take(LAST);
            let flaky = last.filter(|record| record.outcome == Outcome::Flaky);
            flaky.count() > FLAKY_OF_LAST
        })?;
        Some(format!(
            "{often} passed only when it was run again, twice in its last {LAST} runs: fix it, or the product"
        ))
    }

    /// What was run on a tree, the last run of each, and whether its first suite, the gate, has passed.
    pub fn status(&self, tree: &Tree, suites: &[&str]) -> String {
        let last: BTreeMap<&str, &Record> = self
            .records
            .iter()
            .filter(|record| record.tree == *tree)
            .map(|record| (record.name.as_str(), record))
            .collect();
        let mut text = format!("tree {tree}\n");
        let scenarios = last.keys().filter(|name| !suites.contains(name));
        for name in suites.iter().chain(scenarios) {
            let _ = match last.get(name) {
                Some(record) => writeln!(
                    text,
                    "{:>6}  {}  {:>5} s  {name}",
                    record.outcome.word(),
                    minute(record.at),
                    record.seconds
                ),
                None => writeln!(text, "{:>6}  {:>16}  {:>5}    {name}", "-", "never run", ""),
            };
        }
        let gate = suites.first().copied().unwrap_or_default();
        text.push_str(&match last.get(gate) {
            None => format!("the {gate} was not run on this tree"),
            Some(record) if record.outcome == Outcome::Failed => {
                format!("the {gate} FAILED on this tree, {}", minute(record.at))
            }
            Some(record) => format!(
                "the {gate} passed on this tree, {}, in {} s",
                minute(record.at),
                record.seconds
            ),
        });
        text
    }
}

fn minute(at: Timestamp) -> String {
    let at = at.to_zoned(TimeZone::UTC);
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const SUITES: [&str; 2] = ["gate", "cloud"];

    fn tree(name: &str) -> Tree {
        Tree(name.to_owned())
    }

    fn results(folder: &TempDir, runs: &[(&str, &str, Outcome)]) -> Result<Results> {
        let mut results = Results::of(folder.path().join("results.tsv"))?;
        for (of, name, outcome) in runs {
            results.add(&tree(of), name, *outcome, 12)?;
        }
        Results::of(results.file)
    }

    #[test]
    fn status_shows_the_last_run_of_each_on_this_tree() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let results = results(
            &folder,
            &[
                ("a", "gate", Outcome::Failed),
                ("a", "claims::b", Outcome::Flaky),
                ("b", "gate", Outcome::Passed),
                ("a", "gate", Outcome::Passed),
            ],
        )?;
        let at = minute(results.records[0].at);
        assert_eq!(
            results.status(&tree("a"), &SUITES),
            format!(
                "tree a\n    ok  {at}     12 s  gate\n     -         never run           cloud\n flaky  {at}     12 s  claims::b\n\
                 the gate passed on this tree, {at}, in 12 s"
            )
        );
        assert!(
            results
                .status(&tree("c"), &SUITES)
                .ends_with("\nthe gate was not run on this tree")
        );
        Ok(())
    }

    #[test]
    fn scenarios_that_failed_last_are_found() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let results = results(
            &folder,
            &[
                ("a", "gate", Outcome::Failed),
                ("a", "claims::b", Outcome::Failed),
                ("a", "claims::c", Outcome::Failed),
                ("b", "claims::c", Outcome::Passed),
            ],
        )?;
        assert_eq!(results.failed(&SUITES), ["claims::b"]);
        Ok(())
    }

    #[test]
    fn a_second_flaky_run_of_ten_is_too_many() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let flaky = ["x".to_owned()];
        let once = [("a", "x", Outcome::Flaky)];
        let nine = [("a", "x", Outcome::Passed); 9];
        let history = |before: &[_]| results(&tempfile::tempdir()?, &[before, &once].concat());
        assert_eq!(history(&nine)?.too_flaky(&flaky), None);
        assert_eq!(
            history(&[&once[..], &nine].concat())?.too_flaky(&flaky),
            None
        );
        let message = history(&[&once[..], &nine[1..]].concat())?.too_flaky(&flaky);
        assert!(message.is_some_and(|message| message.starts_with("x passed only")));

        let three = ["x", "y", "z"].map(str::to_owned);
        let results = results(&folder, &[])?;
        assert_eq!(results.too_flaky(&three[1..]), None);
        assert_eq!(
            results.too_flaky(&three).as_deref(),
            Some("3 scenarios passed only when they were run again: x, y, z")
        );
        Ok(())
    }

    #[test]
    fn tree_changes_with_what_is_not_committed_and_leaves_the_index_alone() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        git(root, None, &["init", "--quiet"])?;
        fs::write(root.join("file"), "a")?;
        let first = Tree::of(root)?;
        assert_eq!(Tree::of(root)?, first);
        fs::write(root.join("file"), "b")?;
        assert_ne!(Tree::of(root)?, first);
        assert_eq!(git(root, None, &["ls-files"])?, "");
        assert!(Tree::of(Path::new("/")).is_err());
        Ok(())
    }
}
