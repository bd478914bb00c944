//! `cargo xtask generate`: the files that are generated from Rust types.

mod charts;
mod compositions;
mod reasons;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use c5c3_api::Generation;
use clap::Args;
use serde::Serialize;
use serde_json::Value;

/// Options of `generate`.
#[derive(Args)]
pub struct Options {
    /// Writes nothing, and fails where a file isn't as it would be written
    #[arg(long)]
    check: bool,
}

/// Text by path from the root of the repository.
type Files = BTreeMap<PathBuf, String>;

/// Generates files that belong together.
type Make = fn(&Path) -> Result<Files>;

/// Where the definitions of the function's inputs are, which its package has.
pub const INPUTS: &str = "package/function-c5c3/input";

/// All that is generated: files, and folders that hold these files and nothing else.
const PRODUCTS: [(&[&str], Make); 5] = [
    (&["xrds/v1", "xrds/v2"], xrds),
    (
        &["compositions/v1", "compositions/v2"],
        compositions::compositions,
    ),
    (&[INPUTS], inputs),
    (&[charts::FOLDER], charts::charts),
    (&[reasons::PAGE], reasons::page),
];

/// Writes or checks every generated file.
///
/// # Errors
/// When a file can't be read or written, and with `check` when one isn't as it would be written.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let wanted = wanted(root)?;
    let present = present(root)?;
    if options.check {
        return check(&wanted, &present);
    }
    for path in present.keys().filter(|path| !wanted.contains_key(*path)) {
        fs::remove_file(root.join(path)).with_context(|| format!("removing {}", path.display()))?;
    }
    for (path, text) in wanted
        .iter()
        .filter(|(path, text)| present.get(*path) != Some(*text))
    {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// What is to be generated.
fn wanted(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for (_, make) in PRODUCTS {
        files.extend(make(root)?);
    }
    Ok(files)
}

/// The definitions of our kinds, for both generations of Crossplane.
fn xrds(_: &Path) -> Result<Files> {
    let mut files = Files::new();
    for generation in Generation::ALL {
        for definition in c5c3_api::definitions(generation) {
            let plural = &definition.spec.names.plural;
            let path = format!("xrds/{}/{plural}.yaml", generation.version());
            files.insert(path.into(), yaml(&definition, "providers/api")?);
        }
    }
    Ok(files)
}

/// The definitions of the function's inputs.
fn inputs(_: &Path) -> Result<Files> {
    custom_resources(
        INPUTS,
        &function_c5c3::input::definitions(),
        "functions/c5c3/src/input",
    )
}

/// A file in a folder for each CustomResourceDefinition.
fn custom_resources(folder: &str, definitions: &[Value], source: &str) -> Result<Files> {
    let mut files = Files::new();
    for definition in definitions {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        files.insert(
            format!("{folder}/{name}.yaml").into(),
            yaml(definition, source)?,
        );
    }
    Ok(files)
}

/// Reads what is in the generated files and folders now.
fn present(root: &Path) -> Result<Files> {
    read(root, &PRODUCTS.map(|(paths, _)| paths).concat())
}

/// Reads files, and all in folders but what Helm fetches into them.
fn read(root: &Path, paths: &[&str]) -> Result<Files> {
    let mut files = Files::new();
    let mut paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    while let Some(path) = paths.pop() {
        let whole = root.join(&path);
        if whole.is_dir() {
            for entry in fs::read_dir(&whole)? {
                let path = path.join(entry?.file_name());
                if !is_fetched(&path) {
                    paths.push(path);
                }
            }
        } else if whole.exists() {
            let text = fs::read_to_string(&whole)
                .with_context(|| format!("reading {}", path.display()))?;
            files.insert(path, text);
        }
    }
    Ok(files)
}

/// Whether a path is of what Helm writes into a chart's folder.
fn is_fetched(path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(charts::FOLDER) else {
        return false;
    };
    // The chart's own name comes first.
    let name = inside.iter().nth(1);
    name.is_some_and(|name| charts::FETCHED.iter().any(|fetched| name == *fetched))
}

fn check(wanted: &Files, present: &Files) -> Result<()> {
    let stale: Vec<_> = wanted
        .keys()
        .chain(present.keys().filter(|path| !wanted.contains_key(*path)))
        .filter(|path| wanted.get(*path) != present.get(*path))
        .map(|path| path.display().to_string())
        .collect();
    if !stale.is_empty() {
        bail!(
            "not as their sources have it: {}; run `cargo xtask generate`",
            stale.join(", ")
        );
    }
    Ok(())
}

fn yaml<T: Serialize>(document: &T, source: &str) -> Result<String> {
    let text = serde_saphyr::to_string(document)?;
    Ok(format!(
        "# Made by `cargo xtask generate` from {source}.\n{text}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_as_the_types_have_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        run(&root, &Options { check: true }).unwrap();
    }

    #[test]
    fn generated_folders_leave_out_what_helm_fetches() {
        for (path, fetched) in [
            ("package/charts/keystone-operator/charts", true),
            ("package/charts/keystone-operator/Chart.lock", true),
            ("package/charts/keystone-operator/Chart.yaml", false),
            ("package/charts/charts", false),
            ("xrds/v2/charts", false),
        ] {
            assert_eq!(is_fetched(Path::new(path)), fetched, "{path}");
        }
    }

    #[test]
    fn chart_of_definitions_keeps_them_when_its_release_ends() {
        let template = include_str!("../../package/charts/c5c3-crds/templates/definitions.yaml");
        for part in [
            "\"helm.sh/resource-policy\" \"keep\"",
            "\"argocd.argoproj.io/sync-options\" \"Prune=false,Delete=false\"",
            "omit (include \"c5c3.labels\" . | fromYaml) \"app.kubernetes.io/instance\"",
            "(dict \"annotations\" $annotations \"labels\" $labels | toYaml | indent 2)",
        ] {
            assert!(template.contains(part), "{part}");
        }
    }

    #[test]
    fn charts_refuse_definitions_of_others_by_the_text_that_operators_look_for() {
        let template = include_str!("../../package/charts/c5c3-library/templates/_definitions.tpl");
        let own = c5c3_api::custom_resource::OBSERVED_GENERATION_DESCRIPTION;
        assert!(template.contains(&format!("ne $observed \"{own}\" ")));
        assert!(template.contains("{{- if $root.Values.checkDefinitions }}\n"));
        let charts = [
            include_str!("../../package/charts/keystone-operator/values.yaml"),
            include_str!("../../package/charts/c5c3-crds/values.yaml"),
        ];
        assert!(charts.map(|values| values.contains("\ncheckDefinitions: true\n")) == [true; 2]);
    }

    #[test]
    fn labels_injector_reads_nodes_and_labels_pods_and_may_do_nothing_else() {
        let access = include_str!("../../package/charts/labels-injector/templates/access.yaml");
        let roles: Vec<&str> = access
            .split("---\n")
            .filter(|part| part.contains("rules:"))
            .collect();
        let rules = roles.iter().filter_map(|role| role.split_once("rules:\n"));
        assert_eq!(
            rules.map(|(_, rules)| rules).collect::<Vec<_>>(),
            [
                "  - apiGroups: [\"\"]\n    resources: [nodes]\n    verbs: [get, list, watch]\n  - apiGroups: [\"\"]\n    resources: \
              [pods]\n    verbs: [get, list, watch, patch]\n"
            ]
        );
    }
}
