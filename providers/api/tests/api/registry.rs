//! The name space that images, charts and packages are published in.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that are not the project's, or that have the source documents' manifests as they are.
const EXCLUDED: [&str; 3] = ["target", ".git", "seeds"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_symlink() || EXCLUDED.iter().any(|excluded| name == *excluded) {
            continue;
        }
        match path.is_dir() {
            true => files(&path, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn repository_names_no_image_of_another_project() {
    let another = concat!("ghcr.io/", "c5c3/");
    let mut all = Vec::new();
    files(&repository(), &mut all).unwrap();
    all.retain(|file| fs::read_to_string(file).is_ok_and(|text| text.contains(another)));
    assert_eq!(all, Vec::<PathBuf>::new());
}

#[test]
fn charts_and_packages_default_to_the_projects_registry() {
    let image = format!("{}/function-c5c3\n", c5c3_api::REGISTRY);
    for (file, field) in [
        ("package/charts/c5c3-operator/values.yaml", "repository: "),
        ("package/charts/glance-operator/values.yaml", "repository: "),
        (
            "package/charts/keystone-operator/values.yaml",
            "repository: ",
        ),
        (
            "package/charts/placement-operator/values.yaml",
            "repository: ",
        ),
        ("package/configuration-c5c3-v1/crossplane.yaml", "package: "),
        ("package/configuration-c5c3-v2/crossplane.yaml", "package: "),
    ] {
        let text = fs::read_to_string(repository().join(file)).unwrap();
        assert!(text.contains(&format!("{field}{image}")), "{file}");
    }
}
