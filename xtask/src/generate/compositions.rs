//! The Compositions: one for each file of presets, for both generations of Crossplane.

use std::path::Path;

use anyhow::{Context, Result, bail};
use c5c3_api::{
    Claim, ControlPlaneClusterSpec, Generation, HypervisorClusterSpec, OpenStackClusterSpec,
    StorageClusterSpec,
};
use serde_json::{Value, json};

use super::{Files, yaml};
use crate::files::{entries, read};

/// Where the presets are.
const INPUTS: &str = "compositions/input";

/// Name of the function, where it is installed by itself. Packages write the name that their dependency gets.
const FUNCTION: &str = "function-c5c3";

/// A Composition for each file of presets.
pub fn compositions(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for path in entries(&root.join(INPUTS))? {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let input: Value = serde_saphyr::from_str(&read(&path)?)
            .with_context(|| format!("{INPUTS}/{name}.yaml"))?;
        for generation in Generation::ALL {
            let composition = composition(generation, &name, &input)?;
            let path = format!("compositions/{}/{name}.yaml", generation.version());
            files.insert(
                path.into(),
                yaml(&composition, &format!("{INPUTS}/{name}.yaml"))?,
            );
        }
    }
    Ok(files)
}

fn composition(generation: Generation, name: &str, input: &Value) -> Result<Value> {
    let (cluster, environment) = name.split_once('-').unwrap_or((name, ""));
    let (api_version, kind) = match cluster {
        "openstack" => names::<OpenStackClusterSpec>(generation),
        "controlplane" => names::<ControlPlaneClusterSpec>(generation),
        "hypervisor" => names::<HypervisorClusterSpec>(generation),
        "storage" => names::<StorageClusterSpec>(generation),
        _ => bail!(
            "{INPUTS}/{name}.yaml: begin its name with openstack, controlplane, hypervisor or storage"
        ),
    };
    Ok(json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": name, "labels": {"c5c3.io/environment": environment}},
        "spec": {
            "compositeTypeRef": {"apiVersion": api_version, "kind": kind},
            "mode": "Pipeline",
            "pipeline": [{"step": "compose", "functionRef": {"name": FUNCTION}, "input": input}],
        },
    }))
}

fn names<K: Claim>(generation: Generation) -> (String, String) {
    let kind = match generation {
        Generation::V1 => K::composite_kind(),
        Generation::V2 => K::KIND.to_owned(),
    };
    (K::api_version(), kind)
}
